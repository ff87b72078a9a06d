/* test_nodes.c - nodes of a fleet that are missing, damaged, or of others. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "coord/assignment.h"
#include "coord/member_text.h"
#include "coord/zookeeper.h"
#include "fixture.h"
#include "support/wait.h"

enum { SESSION_MS = 4000, STORM = 400 };

static zhandle_t *raw;

static int setup(void **state)
{
    raw = fixture_connect(NULL);
    return fixture_setup(state);
}

static int teardown(void **state)
{
    (void) state;
    zookeeper_close(raw);
    return 0;
}

static void delete_node(const char *node)
{
    assert_int_equal(zoo_delete(raw, fixture_path(node), -1), ZOK);
}

/* Requests that the server has received so far. */
static long received(void)
{
    char text[2048];
    const char *line = NULL;
    size_t len = 0;
    ssize_t got = 0;
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((in_port_t) server_port(servers_zookeeper_server(fixture.servers))),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (struct sockaddr *) &address, sizeof(address)), 0);
    assert_int_equal(write(fd, "srvr", 4), 4);
    while (len < sizeof(text) - 1 && (got = read(fd, text + len, sizeof(text) - 1 - len)) > 0) {
        len += (size_t) got;
    }
    text[len] = '\0';
    (void) close(fd);
    line = strstr(text, "Received: ");
    assert_non_null(line);
    return strtol(line + strlen("Received: "), NULL, 10);
}

static void assert_no_storm(long before)
{
    long requests = received() - before;

    print_message("%ld requests\n", requests);
    assert_true(requests < STORM);
}

/* The epoch of the assigner that wrote the assignment; -1: there is no good one. */
static int32_t assignment_epoch(void)
{
    static char text[ASSIGNMENT_SIZE_MAX];
    int len = (int) sizeof(text);
    struct assignment assignment = {0};
    int32_t epoch = -1;

    if (zoo_get(raw, fixture_path("/topics/t/assignment"), 0, text, &len, NULL) == ZOK && len > 0 &&
        assignment_decode(&assignment, text, (size_t) len)) {
        epoch = assignment.epoch;
    }
    assignment_fini(&assignment);
    return epoch;
}

static bool assignment_is_good(void *arg)
{
    (void) arg;
    return assignment_epoch() >= 0;
}

static void await_assignment(void)
{
    assert_true(wait_until(assignment_is_good, NULL, WAIT_MS));
}

/* Another member joins: half of the slots move to it, and none was lost on the way. */
static void assert_fleet_works(struct queue_side *a)
{
    struct queue_side *b = fixture_consumer("b");

    assert_true(queue_side_owns(b, SLOTS / 2));
    assert_true(queue_side_owns(a, SLOTS / 2));
    assert_int_equal(queue_side_get(a, &a->token_errors), 0);
    assert_int_equal(queue_side_get(b, &b->token_errors), 0);
    queue_side_free(b);
}

static void a_missing_assignment_is_made_again(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    long before = 0;

    (void) state;
    assert_true(queue_side_owns(a, SLOTS));
    before = received();
    delete_node("/topics/t/assignment");
    await_assignment();
    assert_fleet_works(a);
    assert_int_equal(queue_side_get(a, &a->lost), 0);
    assert_no_storm(before);
    queue_side_free(a);
}

static bool has_lost_all(void *arg)
{
    struct queue_side *side = arg;

    return queue_side_get(side, &side->lost) >= SLOTS;
}

static void a_missing_folder_of_members_is_made_again(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    long before = 0;

    (void) state;
    assert_true(queue_side_owns(a, SLOTS));
    before = received();
    while (zoo_delete(raw, fixture_path("/members"), -1) != ZOK) { /* its node is made again, too */
        (void) zoo_delete(raw, fixture_path("/members/a"), -1);
    }
    assert_true(wait_until(has_lost_all, a, WAIT_MS));
    assert_true(queue_side_owns(a, SLOTS));
    assert_fleet_works(a);
    assert_no_storm(before);
    queue_side_free(a);
}

static void a_missing_folder_of_topics_is_made_again(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    long before = 0;

    (void) state;
    assert_true(queue_side_owns(a, SLOTS));
    before = received();
    while (zoo_delete(raw, fixture_path("/topics"), -1) != ZOK) {
        (void) zoo_delete(raw, fixture_path("/topics/t/assignment"), -1);
        (void) zoo_delete(raw, fixture_path("/topics/t"), -1);
    }
    await_assignment();
    assert_true(queue_side_owns(a, SLOTS));
    assert_fleet_works(a);
    assert_no_storm(before);
    queue_side_free(a);
}

static void a_missing_leader_epoch_is_made_again(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    long before = 0;

    (void) state;
    assert_true(queue_side_owns(a, SLOTS));
    before = received();
    delete_node("/leader_epoch");
    assert_fleet_works(a);
    delete_node("/leader_epoch");
    delete_node("/leader");
    assert_fleet_works(a);
    assert_int_equal(queue_side_get(a, &a->lost), 0);
    assert_no_storm(before);
    queue_side_free(a);
}

static void an_assigner_of_a_former_epoch_writes_nothing(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    struct Stat stat = {0};
    char text[256];

    (void) state;
    assert_true(queue_side_owns(a, SLOTS));
    raw_set(raw, fixture_path("/leader_epoch"), "", 0); /* as another one does when it is elected */
    assert_true(raw_get(raw, fixture_path("/leader_epoch"), text, sizeof(text), &stat));
    assert_fleet_works(a);
    assert_true(assignment_epoch() > stat.version);
    queue_side_free(a);
}

static void damage_is_mended_at_once(void **state)
{
    struct queue_side *a = fixture_consumer("a");

    (void) state;
    assert_true(queue_side_owns(a, SLOTS));
    raw_set(raw, fixture_path("/topics/t/assignment"), "x", 1);
    await_assignment();
    assert_fleet_works(a);
    assert_int_equal(queue_side_get(a, &a->lost), 0);
    queue_side_free(a);
}

/* What the assigner remembers of the assignment ends with its office, so its successor asks the
 * members what they own. */
static void damage_is_mended_by_a_new_assigner(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    struct queue_side *b = NULL;
    long before = 0;

    (void) state;
    assert_true(queue_side_owns(a, SLOTS));
    b = fixture_consumer("b");
    assert_true(queue_side_owns(b, SLOTS / 2));
    assert_true(queue_side_owns(a, SLOTS / 2));
    before = received();
    fixture_damage_assignment(raw);
    await_assignment();
    assert_int_equal(queue_side_get(a, &a->lost) + queue_side_get(b, &b->lost), 0);
    assert_int_equal(queue_side_get(a, &a->revoked), SLOTS / 2);
    queue_side_leave(b);
    assert_true(queue_side_has_left(b));
    assert_true(queue_side_owns(a, SLOTS));
    assert_int_equal(queue_side_get(a, &a->token_errors), 0);
    assert_no_storm(before);
    queue_side_free(b);
    queue_side_free(a);
}

static bool node_of_a_is_good(void *arg)
{
    char text[4096];

    (void) arg;
    return raw_get(raw, fixture_path("/members/a"), text, sizeof(text), NULL) &&
           strncmp(text, "slotmq-member 1\n", strlen("slotmq-member 1\n")) == 0;
}

/* Whatever the assigner made of it: the node is written again, so its owner is not idle for good.
 */
static void broken_bytes_in_a_members_node_are_mended(void **state)
{
    struct queue_side *a = fixture_consumer("a");

    (void) state;
    assert_true(queue_side_owns(a, SLOTS));
    raw_set(raw, fixture_path("/members/a"), "\xff\xfe", 2);
    assert_true(wait_until(node_of_a_is_good, NULL, WAIT_MS));
    assert_true(queue_side_owns(a, SLOTS));
    assert_fleet_works(a);
    assert_int_equal(queue_side_failed(a), SMQ_OK);
    queue_side_free(a);
}

/* --- access to the own node --- */

static bool node_of_a_is_written(void *arg)
{
    const int32_t *before = arg;

    return raw_version(raw, fixture_path("/members/a")) > *before;
}

/* It cannot acknowledge, so the slots that it is to release move without it.  It says so once, does
 * not ask without a pause, and takes part again when it may write. */
static void a_member_that_may_not_write_its_node_says_so_and_recovers(void **state)
{
    enum { SHORT_DRAIN_MS = 100, EXTRA_MS = 4000, FEW = 150 };

    struct queue_side *a = NULL;
    struct queue_side *b = NULL;
    struct queue_side *c = NULL;
    int64_t revoke_extra = zookeeper_timings.revoke_extra;
    int32_t version = 0;
    long before = 0;

    (void) state;
    zookeeper_timings.revoke_extra = EXTRA_MS;
    a = fixture_member("a");
    zookeeper_timings.revoke_extra = revoke_extra;
    queue_side_join(a, "t", "n1", SLOTS, SHORT_DRAIN_MS);
    assert_true(queue_side_owns(a, SLOTS));
    raw_set_access(raw, fixture_path("/members/a"), ZOO_PERM_READ | ZOO_PERM_ADMIN);
    before = received();
    b = fixture_consumer("b");
    assert_true(queue_side_owns(b, SLOTS / 2));
    before = received() - before;
    print_message("%ld requests while the node could not be written\n", before);
    assert_true(before < FEW);
    assert_int_equal(queue_side_said(a, fixture_path("/members/a")), 1);

    version = raw_version(raw, fixture_path("/members/a"));
    raw_set_access(raw, fixture_path("/members/a"), ZOO_PERM_ALL);
    assert_true(wait_until(node_of_a_is_written, &version, WAIT_MS));
    c = fixture_consumer("c");
    assert_true(queue_side_owns(c, SLOTS / 3));
    assert_int_equal(queue_side_get(a, &a->lost), 0);
    assert_int_equal(queue_side_said(a, fixture_path("/members/a")), 1);
    queue_side_free(c);
    queue_side_free(b);
    queue_side_free(a);
}

/* --- names --- */

/* What a living member of this process says of itself. */
static struct member_info own_info(void)
{
    struct queue_side *side = fixture_consumer("a");
    struct member_info read = {0};
    struct member_info info;
    char text[4096];

    assert_true(wait_until(node_of_a_is_good, NULL, WAIT_MS));
    assert_true(raw_get(raw, fixture_path("/members/a"), text, sizeof(text), NULL));
    assert_true(member_text_parse(&read, text, strlen(text)));
    queue_side_free(side);
    info = read;
    info.topics = NULL;
    info.topic_count = 0;
    member_info_fini(&read);
    (void) snprintf(info.uuid, sizeof(info.uuid), "another");
    return info;
}

/* A pid that no process of this machine has. */
static int64_t dead_pid(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        _exit(0);
    }
    assert_true(pid > 0 && waitpid(pid, NULL, 0) == pid);
    return pid;
}

/* The node "members/same", of a session that lives. */
static int take_name(const struct member_info *info)
{
    struct buf text = {0};
    int rc = 0;

    member_text_head(&text, info);
    rc = zoo_create(raw, fixture_path("/members/same"), text.data, (int) text.len,
                    &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL, NULL, 0);
    buf_fini(&text);
    return rc;
}

static void assert_name_is_taken(const struct member_info *info)
{
    struct queue_side *side = NULL;
    struct Stat stat;
    char text[4096];

    assert_int_equal(take_name(info), ZOK);
    side = fixture_consumer("same");
    assert_true(queue_side_has_failed(side));
    assert_int_equal(queue_side_failed(side), SMQ_NAME_TAKEN);
    assert_true(raw_get(raw, fixture_path("/members/same"), text, sizeof(text), &stat));
    assert_int_equal(stat.ephemeralOwner, zoo_client_id(raw)->client_id);
    queue_side_free(side);
}

/* In another pid namespace the same number is another process, on one machine and with one host
 * name. */
static void a_pid_of_another_namespace_proves_nothing(void **state)
{
    struct member_info info = own_info();

    (void) state;
    info.pid = dead_pid();
    (void) snprintf(info.pid_namespace, sizeof(info.pid_namespace), "pid:[1]");
    assert_name_is_taken(&info);
}

static void a_pid_that_another_process_has_now_is_a_dead_one(void **state)
{
    struct member_info info = own_info();
    struct queue_side *side = NULL;

    (void) state;
    info.started--;
    assert_int_equal(take_name(&info), ZOK);
    side = fixture_consumer("same");
    assert_true(queue_side_owns(side, SLOTS));
    queue_side_free(side);
}

static void a_living_process_is_not_replaced(void **state)
{
    struct member_info info = own_info();

    (void) state;
    assert_name_is_taken(&info);
}

struct contest {
    struct queue_side *side;
    struct member_info info;
    int replaced;
};

/* The other one takes its name back whenever it was taken from it. */
static bool other_gave_up(void *arg)
{
    struct contest *contest = arg;
    struct Stat stat = {0};

    if (zoo_exists(raw, fixture_path("/members/same"), 0, &stat) == ZOK &&
        stat.ephemeralOwner != zoo_client_id(raw)->client_id &&
        zoo_delete(raw, fixture_path("/members/same"), -1) == ZOK &&
        take_name(&contest->info) == ZOK) {
        contest->replaced++;
    }
    return queue_side_failed(contest->side) != SMQ_OK;
}

static void replacing_is_limited(void **state)
{
    struct contest contest = {.info = own_info()};

    (void) state;
    contest.info.pid = dead_pid();
    assert_int_equal(take_name(&contest.info), ZOK);
    contest.side = fixture_consumer("same");
    assert_true(wait_until(other_gave_up, &contest, WAIT_MS));
    print_message("replaced %d times\n", contest.replaced);
    assert_in_range(contest.replaced, 1, 3);
    assert_int_equal(queue_side_failed(contest.side), SMQ_NAME_TAKEN);
    queue_side_free(contest.side);
}

/* An administrator made the root, as for its access rights, and wrote nothing into it. */
static void an_empty_root_becomes_that_of_the_fleet(void **state)
{
    struct queue_side *first = NULL;
    struct queue_side *second = NULL;
    char text[256];

    (void) state;
    assert_int_equal(
        zoo_create(raw, fixture.root, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, NULL, 0), ZOK);
    first = fixture_consumer("first");
    second = fixture_consumer("second");
    assert_true(queue_side_owns(second, SLOTS / 2));
    assert_true(queue_side_owns(first, SLOTS / 2));
    assert_true(raw_get(raw, fixture.root, text, sizeof(text), NULL));
    assert_non_null(strstr(text, "fence_generation 1\n"));
    queue_side_free(first);
    queue_side_free(second);
}

int main(int argc, char **argv)
{
#define ON_NODES(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        ON_NODES(a_missing_assignment_is_made_again),
        ON_NODES(a_missing_folder_of_members_is_made_again),
        ON_NODES(a_missing_folder_of_topics_is_made_again),
        ON_NODES(a_missing_leader_epoch_is_made_again),
        ON_NODES(an_assigner_of_a_former_epoch_writes_nothing),
        ON_NODES(an_empty_root_becomes_that_of_the_fleet),
        ON_NODES(damage_is_mended_at_once),
        ON_NODES(damage_is_mended_by_a_new_assigner),
        ON_NODES(broken_bytes_in_a_members_node_are_mended),
        ON_NODES(a_member_that_may_not_write_its_node_says_so_and_recovers),
        ON_NODES(a_pid_of_another_namespace_proves_nothing),
        ON_NODES(a_pid_that_another_process_has_now_is_a_dead_one),
        ON_NODES(a_living_process_is_not_replaced),
        ON_NODES(replacing_is_limited),
    };
    int failed = 0;

    if (!fixture_start("/nodes", SESSION_MS, argc, argv)) {
        return 1;
    }
    failed = cmocka_run_group_tests_name("nodes", tests, NULL, NULL);
    fixture_end();
    return failed;
}
