/* test_names.c - a name that the node of another session has: its process lives, is dead, or is
 * unknown. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coord/node/member_text.h"
#include "fixture.h"
#include "support/group.h"
#include "support/wait.h"

enum { SESSION_MS = 4000 };

/* What a living member of this process says of itself. */
static struct member_info own_info(void)
{
    struct queue_side *side = fixture_consumer("a");
    struct member_info read = {0};
    struct member_info info;
    char text[4096];

    assert_true(wait_until(fixture_node_of_a_is_good, NULL, WAIT_MS));
    assert_true(raw_get(fixture.raw, fixture_path("/members/a"), text, sizeof(text), NULL));
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
    rc = zoo_create(fixture.raw, fixture_path("/members/same"), text.data, (int) text.len,
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
    assert_true(raw_get(fixture.raw, fixture_path("/members/same"), text, sizeof(text), &stat));
    assert_int_equal(stat.ephemeralOwner, zoo_client_id(fixture.raw)->client_id);
    queue_side_free(side);
}

/* In another pid namespace the same number is another process, on one machine and with one host
 * name. */
static void a_pid_of_another_namespace_proves_nothing(void **state)
{
    struct member_info info = own_info();

    info.pid = dead_pid();
    (void) snprintf(info.pid_namespace, sizeof(info.pid_namespace), "pid:[1]");
    assert_name_is_taken(&info);
}

static void a_pid_that_another_process_has_now_is_a_dead_one(void **state)
{
    struct member_info info = own_info();
    struct queue_side *side = NULL;

    info.started--;
    assert_int_equal(take_name(&info), ZOK);
    side = fixture_consumer("same");
    assert_true(queue_side_owns(side, SLOTS));
    queue_side_free(side);
}

static void a_living_process_is_not_replaced(void **state)
{
    struct member_info info = own_info();

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

    if (zoo_exists(fixture.raw, fixture_path("/members/same"), 0, &stat) == ZOK &&
        stat.ephemeralOwner != zoo_client_id(fixture.raw)->client_id &&
        zoo_delete(fixture.raw, fixture_path("/members/same"), -1) == ZOK &&
        take_name(&contest->info) == ZOK) {
        contest->replaced++;
    }
    return queue_side_failed(contest->side) != SMQ_OK;
}

static void replacing_is_limited(void **state)
{
    struct contest contest = {.info = own_info()};

    contest.info.pid = dead_pid();
    assert_int_equal(take_name(&contest.info), ZOK);
    contest.side = fixture_consumer("same");
    assert_true(wait_until(other_gave_up, &contest, WAIT_MS));
    print_message("replaced %d times\n", contest.replaced);
    assert_in_range(contest.replaced, 1, 3);
    assert_int_equal(queue_side_failed(contest.side), SMQ_NAME_TAKEN);
    queue_side_free(contest.side);
}

TEST_GROUP(names)
{
#define ON_NAMES(test)                                                                             \
    cmocka_unit_test_setup_teardown(test, fixture_setup_raw, fixture_teardown_raw)
    const struct CMUnitTest tests[] = {
        ON_NAMES(a_pid_of_another_namespace_proves_nothing),
        ON_NAMES(a_pid_that_another_process_has_now_is_a_dead_one),
        ON_NAMES(a_living_process_is_not_replaced),
        ON_NAMES(replacing_is_limited),
    };
    int failed = 0;

    if (!fixture_start("/names", SESSION_MS)) {
        return 1;
    }
    failed = cmocka_run_group_tests_name("names", tests, NULL, NULL);
    fixture_end();
    return failed;
}
