/* test_zookeeper.c - members of a fleet with a real ZooKeeper. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coord/zookeeper.h"
#include "fixture.h"
#include "model/topic.h"
#include "support/group.h"
#include "support/process.h"
#include "support/wait.h"

enum { SESSION_MS = 2000 };

static void assert_no_errors(struct queue_side *side)
{
    assert_int_equal(queue_side_get(side, &side->token_errors), 0);
}

static void first_member_gets_all(void **state)
{
    struct queue_side *a = fixture_consumer("a");

    assert_true(queue_side_owns(a, SLOTS));
    assert_no_errors(a);
    queue_side_free(a);
}

static void join_moves_the_floor(void **state)
{
    struct queue_side *sides[5];

    for (int n = 0; n < 5; n++) {
        int32_t revoked = 0;
        char name[8];

        (void) snprintf(name, sizeof(name), "m%d", n);
        sides[n] = fixture_consumer(name);
        assert_true(queue_side_owns(sides[n], n == 0 ? SLOTS : SLOTS / (n + 1)));
        for (int i = 0; i < n; i++) {
            revoked += queue_side_get(sides[i], &sides[i]->revoked);
        }
        assert_int_equal(revoked, (n >= 1 ? 32 : 0) + (n >= 2 ? 21 : 0) + (n >= 3 ? 16 : 0) +
                                      (n >= 4 ? 12 : 0));
    }
    for (int n = 0; n < 5; n++) {
        assert_int_equal(queue_side_get(sides[n], &sides[n]->lost), 0);
        assert_no_errors(sides[n]);
        queue_side_free(sides[n]);
    }
}

static void leave_moves_only_the_leavers(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    struct queue_side *b = NULL;

    assert_true(queue_side_owns(a, SLOTS));
    b = fixture_consumer("b");
    assert_true(queue_side_owns(b, SLOTS / 2));
    queue_side_leave(b);
    assert_true(queue_side_has_left(b));
    assert_int_equal(queue_side_count(b), 0);
    assert_int_equal(queue_side_get(b, &b->lost), 0);
    assert_true(queue_side_owns(a, SLOTS));
    assert_int_equal(queue_side_get(a, &a->revoked), SLOTS / 2);
    queue_side_leave(a);
    assert_true(queue_side_has_left(a));
    queue_side_free(b);
    queue_side_free(a);
}

/* Each time that b comes and goes, a acknowledges that it is to release slots, and that it has
 * released them.  That they are granted to it again needs no answer. */
static void a_grant_is_not_acknowledged(void **state)
{
    enum { TIMES = 4, WRITES = 2 };

    struct queue_side *a = fixture_consumer("a");
    zhandle_t *raw = fixture_connect(NULL);
    int32_t before = 0;

    assert_true(queue_side_owns(a, SLOTS));
    before = raw_version(raw, fixture_path("/members/a"));
    for (int i = 0; i < TIMES; i++) {
        struct queue_side *b = fixture_consumer("b");

        assert_true(queue_side_owns(b, SLOTS / 2));
        queue_side_leave(b);
        assert_true(queue_side_has_left(b));
        assert_true(queue_side_owns(a, SLOTS));
        queue_side_free(b);
    }
    assert_true(raw_version(raw, fixture_path("/members/a")) - before <= TIMES * WRITES);
    zookeeper_close(raw);
    queue_side_free(a);
}

static void a_member_joins_a_second_topic(void **state)
{
    struct queue_side *a = fixture_consumer("a");

    assert_true(queue_side_owns(a, SLOTS));
    queue_side_join(a, "u", "n2", SLOTS, DRAIN_MS);
    assert_true(queue_side_owns(a, 2 * SLOTS)); /* of both */
    queue_side_free(a);
}

static void refused_slots_are_granted_again(void **state)
{
    struct queue_side *a = fixture_member("a");

    a->refuse = 3;
    queue_side_join(a, "t", "n1", SLOTS, DRAIN_MS);
    assert_true(queue_side_owns(a, SLOTS));
    assert_int_equal(queue_side_get(a, &a->granted), SLOTS + 3);
    queue_side_free(a);
}

static void an_answer_about_an_earlier_grant_is_ignored(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    struct queue_side *b = NULL;
    struct token earlier;

    assert_true(queue_side_owns(a, SLOTS));
    pthread_mutex_lock(&a->lock);
    earlier = a->tokens[SLOTS - 1];
    pthread_mutex_unlock(&a->lock);
    earlier.epoch--;
    coord_answer(a->coord, COORD_REFUSED, "t", SLOTS - 1, earlier);
    b = fixture_consumer("b"); /* the slots with the highest numbers move to it */
    assert_true(queue_side_owns(b, SLOTS / 2));
    assert_true(queue_side_owns(a, SLOTS / 2));
    assert_int_equal(queue_side_get(a, &a->granted), SLOTS);
    queue_side_free(b);
    queue_side_free(a);
}

static void largest_topic(void **state)
{
    struct queue_side *a = fixture_member("a");
    struct queue_side *b = NULL;

    queue_side_join(a, "t", "n1", TOPIC_SLOTS_MAX, DRAIN_MS);
    assert_true(queue_side_owns(a, TOPIC_SLOTS_MAX));
    b = fixture_member("b");
    queue_side_join(b, "t", "n1", TOPIC_SLOTS_MAX, DRAIN_MS);
    assert_true(queue_side_owns(b, 32768));
    assert_int_equal(queue_side_count(a), 32768);
    queue_side_free(a);
    queue_side_free(b);
}

static void hung_drain_ends_in_an_unclean_grant(void **state)
{
    struct queue_side *a = NULL;
    struct queue_side *b = NULL;

    zookeeper_timings.revoke_extra = 100;
    a = fixture_member("a");
    a->hung = true;
    queue_side_join(a, "t", "n1", SLOTS, 100);
    assert_true(queue_side_owns(a, SLOTS));
    b = fixture_member("b");
    queue_side_join(b, "t", "n1", SLOTS, 100);
    assert_true(queue_side_owns(b, SLOTS / 2));
    assert_true(queue_side_owns(a, SLOTS / 2)); /* it was reported that the others are lost */
    assert_int_equal(queue_side_get(a, &a->lost), SLOTS / 2);
    assert_true(queue_side_says(a, "topic t: member a at host "));
    assert_int_equal(queue_side_said(a, "did not release 32 slots ("), 1);
    assert_int_equal(queue_side_get(a, &a->not_released), SLOTS / 2);
    assert_int_equal(queue_side_get(b, &b->not_released), 0); /* a is the assigner */
    queue_side_free(a);
    queue_side_free(b);
}

static void created_anew_belongs_to_the_new(void **state)
{
    struct queue_side *old = fixture_consumer("old");
    struct queue_side *new = NULL;

    assert_true(queue_side_owns(old, SLOTS));
    queue_side_set_check(old, SMQ_NO_TOPIC, "");
    new = fixture_member("new");
    queue_side_join(new, "t", "n2", SLOTS / 2, DRAIN_MS);
    assert_true(queue_side_owns(new, SLOTS / 2));
    assert_true(queue_side_has_failed(old));
    assert_int_equal(queue_side_failed(old), SMQ_NO_TOPIC);
    assert_int_equal(queue_side_count(old), 0);
    assert_true(token_compare(new->tokens[0], old->tokens[0]) > 0);
    queue_side_free(old);
    queue_side_free(new);
}

static void restart_of_zookeeper_moves_nothing(void **state)
{
    struct queue_side *a = NULL;
    struct queue_side *b = NULL;
    struct queue_side *c = NULL;

    fixture.session_ms = 30000; /* longer than the restart takes on a slow machine */
    a = fixture_consumer("a");
    assert_true(queue_side_owns(a, SLOTS));
    b = fixture_consumer("b");
    assert_true(queue_side_owns(b, SLOTS / 2));
    server_kill(servers_zookeeper_server(fixture.servers));
    assert_true(server_restart(servers_zookeeper_server(fixture.servers)));
    c = fixture_consumer("c");
    assert_true(queue_side_owns(c, SLOTS / 3));
    assert_int_equal(queue_side_get(a, &a->lost), 0);
    assert_int_equal(queue_side_get(b, &b->lost), 0);
    queue_side_free(a);
    queue_side_free(b);
    queue_side_free(c);
}

static bool is_not_leased(void *arg)
{
    return !queue_side_is_leased(arg);
}

static bool is_leased(void *arg)
{
    return queue_side_is_leased(arg);
}

static void lease_ends_while_zookeeper_does_not_answer(void **state)
{
    struct queue_side *a =
        queue_side_new("a", fixture.fleet, SESSION_MS, SMQ_COORDINATION_LOSS_STOP);

    queue_side_join(a, "t", "n1", SLOTS, DRAIN_MS);
    assert_true(queue_side_owns(a, SLOTS));
    assert_true(queue_side_is_leased(a));
    server_pause(servers_zookeeper_server(fixture.servers));
    assert_true(wait_until(is_not_leased, a, WAIT_MS));
    server_resume(servers_zookeeper_server(fixture.servers));
    assert_true(wait_until(is_leased, a, WAIT_MS));
    assert_true(queue_side_owns(a, SLOTS));
    queue_side_free(a);
}

static void leave_without_zookeeper(void **state)
{
    struct queue_side *a = NULL;

    zookeeper_timings.leave = 100;
    a = fixture_consumer("a");
    zookeeper_timings.leave = 5000;
    assert_true(queue_side_owns(a, SLOTS));
    server_kill(servers_zookeeper_server(fixture.servers));
    queue_side_leave(a);
    assert_true(queue_side_has_left(a));
    assert_int_equal(queue_side_count(a), 0);
    queue_side_free(a);
    assert_true(server_restart(servers_zookeeper_server(fixture.servers)));
}

static bool b_has_joined(void *raw)
{
    char text[4096];

    return raw_get(raw, fixture_path("/members/b"), text, sizeof(text), NULL) &&
           strstr(text, "\ntopic t ") != NULL;
}

/* It has no slot to drain, so it does not wait as long as a drain may last. */
static void an_idle_member_leaves_while_zookeeper_does_not_answer(void **state)
{
    struct queue_side *a = NULL;
    struct queue_side *b = NULL;
    zhandle_t *raw = fixture_connect(NULL);

    fixture.session_ms = 30000; /* b believes to be connected all the time */
    zookeeper_timings.leave = 100;
    a = fixture_member("a");
    b = fixture_member("b");
    zookeeper_timings.leave = 5000;
    queue_side_join(a, "t", "n1", 1, DRAIN_MS);
    assert_true(queue_side_owns(a, 1));
    queue_side_join(b, "t", "n1", 1, DRAIN_MS);
    assert_true(wait_until(b_has_joined, raw, WAIT_MS));
    server_pause(servers_zookeeper_server(fixture.servers));
    queue_side_leave(b);
    assert_true(queue_side_has_left(b));
    server_resume(servers_zookeeper_server(fixture.servers));
    zookeeper_close(raw);
    queue_side_free(b);
    queue_side_free(a);
}

/* Lines of the client library are events of each member of the process, and not on stderr. */
static void the_client_librarys_log_is_reported(void **state)
{
    struct queue_side *a = NULL;
    struct queue_side *b = NULL;
    FILE *file = tmpfile();
    int errors = dup(STDERR_FILENO);
    char text[4096] = "";

    assert_true(file != NULL && errors >= 0);
    assert_int_equal(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
    a = fixture_member("a");
    b = fixture_member("b");
    assert_int_equal(queue_side_said(a, "ZooKeeper client: ZOO_ERROR@"), 0);
    queue_side_free(b);
    b = fixture_member("b");
    server_kill(servers_zookeeper_server(fixture.servers));
    assert_true(queue_side_says(a, "ZooKeeper client: ZOO_ERROR@"));
    assert_true(queue_side_says(b, "ZooKeeper client: ZOO_ERROR@"));
    assert_true(server_restart(servers_zookeeper_server(fixture.servers)));
    queue_side_free(b);
    queue_side_free(a);
    assert_int_equal(dup2(errors, STDERR_FILENO), STDERR_FILENO);
    assert_int_equal(close(errors), 0);
    rewind(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    assert_null(strstr(text, "ZOO_"));
}

/* --- members in processes of their own: this program again, with their names in the environment
 * --- */

#define CHILD_NAME  "SLOTMQ_TEST_MEMBER"
#define CHILD_FLEET "SLOTMQ_TEST_FLEET"

struct child {
    pid_t pid;
    FILE *out;
};

static struct child child_start(const char *name)
{
    static const char *const argv[] = {"/proc/self/exe", "zookeeper", NULL};
    char who[64], where[160];
    const char *const environment[] = {who, where, NULL};
    int ends[2];
    struct process_options options = {.argv = argv, .environment = environment, .err = 2};
    struct child child = {0};

    (void) snprintf(who, sizeof(who), "%s=%s", CHILD_NAME, name);
    (void) snprintf(where, sizeof(where), "%s=%s", CHILD_FLEET, fixture.fleet);
    assert_int_equal(pipe(ends), 0);
    options.out = ends[1];
    child.pid = process_start(&options);
    assert_true(child.pid > 0);
    (void) close(ends[1]);
    child.out = fdopen(ends[0], "r");
    return child;
}

/* Wait until it says that it owns `count` slots; the sum of lost ones so far. */
static int child_await(struct child *child, int count)
{
    char line[64];
    int owned = -1;
    int lost = 0;

    while (owned != count) {
        assert_non_null(fgets(line, sizeof(line), child->out));
        assert_int_equal(sscanf(line, "%d %d", &owned, &lost), 2);
    }
    return lost;
}

static void child_end(struct child *child)
{
    process_kill(child->pid);
    (void) fclose(child->out);
}

static bool child_changed(void *arg)
{
    static int32_t last = -1;
    struct queue_side *side = arg;
    int32_t now = queue_side_count(side);

    if (now == last) {
        return false;
    }
    last = now;
    return true;
}

static _Noreturn void child_main(const char *name, const char *where)
{
    struct queue_side *side = NULL;

    fixture_wait_little();
    side = queue_side_new(name, where, SESSION_MS, SMQ_COORDINATION_LOSS_CONTINUE);
    queue_side_join(side, "t", "n1", SLOTS, DRAIN_MS);
    for (;;) {
        if (wait_until(child_changed, side, WAIT_MS)) {
            (void) printf("%d %d\n", (int) queue_side_count(side),
                          (int) queue_side_get(side, &side->lost));
            (void) fflush(stdout);
        }
    }
}

static void killed_members_slots_move(void **state)
{
    struct child child = child_start("killed");
    struct queue_side *a = NULL;

    (void) child_await(&child, SLOTS); /* it is the assigner, too */
    a = fixture_consumer("a");
    assert_true(queue_side_owns(a, SLOTS / 2));
    process_kill(child.pid);
    (void) fclose(child.out);
    assert_true(queue_side_owns(a, SLOTS));
    assert_int_equal(queue_side_get(a, &a->revoked), 0);
    queue_side_free(a);
}

static bool asked_to_release(void *arg)
{
    struct queue_side *side = arg;

    return queue_side_get(side, &side->revoked) > 0;
}

static void assigner_dies_within_a_revocation(void **state)
{
    struct child child = child_start("assigner");
    struct queue_side *a = NULL;
    struct queue_side *b = NULL;

    (void) child_await(&child, SLOTS);
    a = fixture_member("a");
    a->hung = true;
    queue_side_join(a, "t", "n1", SLOTS, DRAIN_MS);
    assert_true(queue_side_owns(a, SLOTS / 2));
    b = fixture_consumer("b");
    assert_true(wait_until(asked_to_release, a, WAIT_MS));
    assert_true(queue_side_count(b) < SLOTS / 3); /* those of the child at most; a's wait */
    process_kill(child.pid);
    (void) fclose(child.out);
    assert_true(queue_side_owns(b, SLOTS / 2));
    queue_side_let_go(a);
    assert_true(queue_side_owns(a, SLOTS / 2));
    queue_side_free(a);
    queue_side_free(b);
}

static void paused_member_loses_and_rejoins(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    struct child child;
    struct token before;

    assert_true(queue_side_owns(a, SLOTS));
    child = child_start("paused");
    (void) child_await(&child, SLOTS / 2);
    before = a->tokens[0];
    assert_true(process_pause(child.pid));
    assert_true(queue_side_owns(a, SLOTS));
    assert_true(process_resume(child.pid));
    assert_true(child_await(&child, 0) >= SLOTS / 2);
    assert_true(child_await(&child, SLOTS / 2) >= SLOTS / 2);
    assert_true(token_compare(a->tokens[0], before) >= 0);
    assert_no_errors(a);
    child_end(&child);
    queue_side_free(a);
}

static void fast_restart_replaces_its_dead_node(void **state)
{
    struct child child = child_start("same");
    struct queue_side *a = NULL;

    (void) child_await(&child, SLOTS);
    process_kill(child.pid);
    (void) fclose(child.out);
    a = fixture_consumer("same");
    assert_true(queue_side_owns(a, SLOTS));
    queue_side_free(a);
}

static void name_of_a_live_process_is_taken(void **state)
{
    struct queue_side *a = fixture_consumer("same");
    struct queue_side *b = NULL;

    assert_true(queue_side_owns(a, SLOTS));
    b = fixture_consumer("same");
    assert_true(queue_side_has_failed(b));
    assert_int_equal(queue_side_failed(b), SMQ_NAME_TAKEN);
    assert_int_equal(queue_side_count(a), SLOTS);
    queue_side_free(a);
    queue_side_free(b);
}

static void nobody_answers(void **state)
{
    struct coord_options options = {
        .name = "a", .servers = "127.0.0.1:1/x", .session_timeout_ms = 500};
    struct coord *coord = NULL;
    smq_error err;

    assert_int_equal(coord_fleet_new(&coord, &options, &err), SMQ_UNAVAILABLE);
    assert_non_null(strstr(err.text, "no ZooKeeper at 127.0.0.1:1 answered within 0.5 s"));
}

TEST_GROUP(zookeeper)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(first_member_gets_all, fixture_setup),
        cmocka_unit_test_setup(join_moves_the_floor, fixture_setup),
        cmocka_unit_test_setup(leave_moves_only_the_leavers, fixture_setup),
        cmocka_unit_test_setup(a_grant_is_not_acknowledged, fixture_setup),
        cmocka_unit_test_setup(a_member_joins_a_second_topic, fixture_setup),
        cmocka_unit_test_setup(refused_slots_are_granted_again, fixture_setup),
        cmocka_unit_test_setup(an_answer_about_an_earlier_grant_is_ignored, fixture_setup),
        cmocka_unit_test_setup(largest_topic, fixture_setup),
        cmocka_unit_test_setup(hung_drain_ends_in_an_unclean_grant, fixture_setup),
        cmocka_unit_test_setup(created_anew_belongs_to_the_new, fixture_setup),
        cmocka_unit_test_setup(restart_of_zookeeper_moves_nothing, fixture_setup),
        cmocka_unit_test_setup(lease_ends_while_zookeeper_does_not_answer, fixture_setup),
        cmocka_unit_test_setup(leave_without_zookeeper, fixture_setup),
        cmocka_unit_test_setup(an_idle_member_leaves_while_zookeeper_does_not_answer,
                               fixture_setup),
        cmocka_unit_test_setup(the_client_librarys_log_is_reported, fixture_setup),
        cmocka_unit_test_setup(killed_members_slots_move, fixture_setup),
        cmocka_unit_test_setup(assigner_dies_within_a_revocation, fixture_setup),
        cmocka_unit_test_setup(paused_member_loses_and_rejoins, fixture_setup),
        cmocka_unit_test_setup(fast_restart_replaces_its_dead_node, fixture_setup),
        cmocka_unit_test_setup(name_of_a_live_process_is_taken, fixture_setup),
        cmocka_unit_test_setup(nobody_answers, fixture_setup),
    };
    int failed = 0;

    if (getenv(CHILD_NAME) != NULL) {
        child_main(getenv(CHILD_NAME), getenv(CHILD_FLEET));
    }
    if (!fixture_start("/a/fleet", SESSION_MS)) {
        return 1;
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_end();
    return failed;
}
