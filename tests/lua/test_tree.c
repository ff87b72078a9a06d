/* test_tree.c - the tree script: what a call that is refused leaves behind, numbers that go above
 * one that Redis has, which calls look whether the server is still the same, and what is left of a
 * session that made no node. */
#include <stdio.h>

#include "script_table.h"
#include "support/group.h"

/* The first change of the reign, 100 s after 2020 began, and one of a later era. */
#define REIGN "00000064abc00000"
#define LATER "0000006500000007"
#define AHEAD "7fffffff00000007"

#define OPEN(session)                                                                              \
    {                                                                                              \
        "tree open " session " -", "OK OK " REIGN " ..."                                           \
    }

/* A session has begun a fleet, and the grace of the first reign has passed at 1577836960000. */
#define A_TREE_WITHOUT_GRACE                                                                       \
    OPEN("1"), {"tree write 1 " REIGN " create '' - -", "OK OK ..."},                              \
        {"tree write 1 " REIGN " create members - -", "OK OK ..."}, {"at 1577836920000", NULL},    \
        {"tree read 1 " REIGN, NULL}, {"at 1577836940000", NULL}, {"tree read 1 " REIGN, NULL},    \
        {"at 1577836960000", NULL},                                                                \
    {                                                                                              \
        "tree read 1 " REIGN, "OK OK " REIGN " 00000064abc00002 0 1"                               \
    }

static void test_a_resume_is_done_as_a_whole_or_not_at_all(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"at 1577836900000", NULL},
        OPEN("1"),
        OPEN("2"),
        {"tree write 1 " REIGN " create '' - - create members - -", "OK OK " REIGN " ..."},
        {"tree write 2 " REIGN " ephemeral members/b - 2", "OK OK " REIGN " ..."},
        /* another process has the second name since */
        {"tree resume 1 " REIGN " members/a 0000000000000001 1 members/b 0000000000000002 1",
         "OK GONE " REIGN " ..."},
        {"redis HEXISTS topic{x} n:members/a", "0"},
        {"tree resume 1 " REIGN " members/a 0000000000000001 1", "OK OK " REIGN " ..."},
        {"redis HEXISTS topic{x} n:members/a", "1"},
        {"tree close 1 " REIGN, "OK OK " REIGN " ..."},
        {"redis HEXISTS topic{x} n:members/a", "0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_numbers_go_above_those_that_redis_has(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"at 1577836900000", NULL},
        OPEN("1"),
        {"tree write 1 " REIGN " create '' - text", "OK OK " REIGN " 00000064abc00001 ..."},
        {"tree write 1 " REIGN " raise '' 00000064abc00001 " LATER,
         "OK REFUSED " REIGN " 00000064abc00001 60000 1 GRACE"},
        /* the clock of the tree is not that of the server */
        {"at 1577936900000", NULL},
        {"tree read 1 " REIGN, "OK OK " REIGN " 00000064abc00001 40000 1"},
        {"at 1577956900000", NULL},
        {"tree read 1 " REIGN, "OK OK " REIGN " 00000064abc00001 20000 1"},
        {"at 1577976900000", NULL},
        {"tree read 1 " REIGN, "OK OK " REIGN " 00000064abc00001 0 1"},
        {"tree write 1 " REIGN " raise '' 00000064abc00000 " LATER,
         "OK REFUSED " REIGN " 00000064abc00001 0 1 CHANGED"},
        {"tree write 1 " REIGN " raise no 00000064abc00000 " LATER,
         "OK REFUSED " REIGN " 00000064abc00001 0 1 NO_NODE"},
        {"tree write 1 " REIGN " raise '' 00000064abc00001 " AHEAD,
         "OK REFUSED " REIGN " 00000064abc00001 0 1 FULL"},
        {"tree write 1 " REIGN " raise '' 00000064abc00001 " LATER,
         "OK OK " REIGN " 00000066abc00000 0 1 ..."},
        {"tree write 1 " REIGN " raise '' 00000066abc00000 " LATER,
         "OK OK " REIGN " 00000066abc00001 0 1 ..."},
        {"redis HGET topic{x} n:", "00000064abc00001 00000066abc00001 0000000000000000 ..."},
        {"redis HSTRLEN topic{x} n:", "85"},
    };

    SCRIPT_TABLE(state, rows);
}

/* Only a call that does no more than to keep its session trusts that the server is the same. */
static void test_one_call_of_some_looks_at_the_server(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"at 1577836900000", NULL},
        OPEN("1"),
        {"tree write 1 " REIGN " create '' - -", "OK OK ..."},
        {"tree write 1 " REIGN " create members - -", "OK OK ..."},
        {"tree write 1 " REIGN " ephemeral members/a - -", "OK OK ..."},
        {"at 1577856900000", NULL},
        {"tree read 1 " REIGN, NULL},
        {"at 1577876900000", NULL},
        {"tree read 1 " REIGN, NULL},
        {"at 1577896900000", NULL},
        {"tree read 1 " REIGN, "OK OK " REIGN " 00000064abc00003 0 1"},
        {"redis ACL SETUSER default -info", "OK"},
        {"at 1577896900001", NULL},
        {"tree read 1 " REIGN, "OK OK " REIGN " 00000064abc00003 0 1"},
        {"at 1577896904999", NULL},
        {"tree read 1 " REIGN, "OK OK " REIGN " 00000064abc00003 0 1"},
        {"tree read 1 " REIGN " gmembers/a", "OK OK ..."}, /* its own node */
        {"tree read 1 " REIGN " gmembers/a gmembers/a", "ERROR ..."},
        {"tree read 1 " REIGN " g", "ERROR ..."},
        {"tree read 1 " REIGN " lmembers/a", "ERROR ..."},
        {"tree read 1 " LATER, "ERROR ..."},
        {"tree read 1 " REIGN " last=" LATER, "ERROR ..."},
        {"tree read 2 " REIGN, "ERROR ..."},
        {"tree open 2 " REIGN, "ERROR ..."},
        {"tree close 1 " REIGN, "ERROR ..."},
        {"at 1577896905000", NULL},
        {"tree read 1 " REIGN, "ERROR ..."},
        {"at 1577896900000", NULL}, /* the clock has gone back */
        {"tree read 1 " REIGN, "OK OK " REIGN " 00000064abc00003 0 1"},
        {"at 1577896899999", NULL},
        {"tree read 1 " REIGN, "ERROR ..."},
        {"redis ACL SETUSER default +info", "OK"},
    };

    SCRIPT_TABLE(state, rows);
}

/* The sessions that are left call so rarely that only the shortest time-out, of one that calls no
 * more, would make them keep the time that has passed. */
static void test_time_passes_beside_a_shorter_session_that_is_silent(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"at 1577836900000", NULL},
        OPEN("1"),
        {"tree write 1 " REIGN " create '' - -", "OK OK ..."},
        {"tree write 1 " REIGN " create members - -", "OK OK ..."},
        {"tree open 2 - lease=1000", "OK OK " REIGN " 00000064abc00002 60000 1"},
        {"tree write 2 " REIGN " lease=1000 ephemeral members/b - 5", "OK OK ..."},
        /* the grace ends by the longest one */
        {"at 1577836910000", NULL},
        {"tree read 1 " REIGN, "OK OK " REIGN " 00000064abc00003 50000 1"},
        {"at 1577836920000", NULL},
        {"tree read 1 " REIGN, "OK OK " REIGN " 00000064abc00003 40000 1"},
        {"at 1577837020000", NULL},
        {"tree read 1 " REIGN, "OK OK " REIGN " 00000064abc00003 20000 1"},
        {"at 1577837040000", NULL},
        {"redis HEXISTS topic{x} n:members/b", "1"},
        {"tree read 1 " REIGN, "OK OK " REIGN " 00000064abc00004 0 1"},
        {"redis HEXISTS topic{x} n:members/b", "0"},
        {"redis HEXISTS topic{x} s:0000000000000002", "0"},
    };

    SCRIPT_TABLE(state, rows);
}

/* Two thirds of the shorter time-out pass, and then its session ends. */
static void test_a_shorter_session_ends_beside_a_longer_one(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"at 1577836900000", NULL},
        A_TREE_WITHOUT_GRACE,
        {"tree open 2 - lease=1000", "OK OK ..."},
        {"tree write 2 " REIGN " lease=1000 ephemeral members/b - 5", "OK OK ..."},
        {"at 1577836970000", NULL},
        {"tree read 1 " REIGN, NULL},
        {"at 1577836980000", NULL},
        {"tree read 1 " REIGN, NULL},
        {"at 1577836990000", NULL},
        {"tree read 1 " REIGN, NULL},
        {"redis HEXISTS topic{x} n:members/b", "1"},
        {"at 1577837000000", NULL},
        {"tree read 1 " REIGN, NULL},
        {"redis HEXISTS topic{x} n:members/b", "0"},
    };

    SCRIPT_TABLE(state, rows);
}

/* After a step back of the server's clock time passes on by what it says then. */
static void test_sessions_end_after_a_step_back(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"at 1577836900000", NULL},
        A_TREE_WITHOUT_GRACE,
        OPEN("2"),
        {"tree write 2 " REIGN " ephemeral members/b - 5", "OK OK ..."},
        {"at 1577833300000", NULL},
        {"tree read 1 " REIGN, NULL},
        {"at 1577833320000", NULL},
        {"tree read 1 " REIGN, NULL},
        {"at 1577833340000", NULL},
        {"tree read 1 " REIGN, NULL},
        {"redis HEXISTS topic{x} n:members/b", "1"},
        {"at 1577833360000", NULL},
        {"tree read 1 " REIGN, NULL},
        {"redis HEXISTS topic{x} n:members/b", "0"},
        {"redis HEXISTS topic{x} s:0000000000000001", "1"},
    };

    SCRIPT_TABLE(state, rows);
}

/* A user that may not run a command which a later call needs: nothing is begun. */
static void test_a_session_that_could_not_do_its_work_is_refused(void **state)
{
    static const char *const commands[] = {"hget", "hset", "hdel", "hkeys", "info"};
    char deny[64], allow[64];

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        const struct script_row rows[] = {
            {"open t", "OK"},
            {deny, "OK"},
            {"tree open 1 -", "ERROR ..."},
            {allow, "OK"},
            {"redis EXISTS topic{x}", "0"},
        };

        snprintf(deny, sizeof(deny), "redis ACL SETUSER default -%s", commands[i]);
        snprintf(allow, sizeof(allow), "redis ACL SETUSER default +%s", commands[i]);
        SCRIPT_TABLE(state, rows);
    }
}

static void test_a_tree_without_nodes_and_sessions_is_removed(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"at 1577836900000", NULL},
        OPEN("1"),
        OPEN("2"),
        {"tree close 1 " REIGN, "OK OK ..."},
        {"redis EXISTS topic{x}", "1"},
        {"tree close 2 " REIGN, "OK OK ..."},
        {"redis EXISTS topic{x}", "0"},
        {"tree close 2 " REIGN, "OK OK ..."}, /* a repeat */
        {"redis EXISTS topic{x}", "0"},
        OPEN("1"),
        {"tree write 1 " REIGN " create '' - -", "OK OK ..."},
        {"tree close 1 " REIGN, "OK OK ..."},
        {"redis EXISTS topic{x}", "1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_who_only_looks_writes_nothing(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"at 1577836900000", NULL},
        {"redis ACL SETUSER default -hset -hdel", "OK"},
        {"tree look 0 - g lmembers", "OK OK " REIGN " " REIGN " 60000 1 '' ''"},
        {"redis ACL SETUSER default +hset +hdel", "OK"},
        {"redis EXISTS topic{x}", "0"},
        OPEN("1"),
        {"tree write 1 " REIGN " create '' - -", "OK OK ..."},
        {"tree write 1 " REIGN " create members - -", "OK OK ..."},
        {"tree write 1 " REIGN " ephemeral members/a - 5", "OK OK ..."},
        {"at 1577838900000", NULL}, /* nobody's session ends by it */
        {"redis ACL SETUSER default -hset -hdel", "OK"},
        {"tree look 0 - lmembers", "OK OK " REIGN " 00000064abc00003 40000 1 . a"},
        {"redis ACL SETUSER default +hset +hdel", "OK"},
    };

    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(tree)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_resume_is_done_as_a_whole_or_not_at_all),
        cmocka_unit_test(test_numbers_go_above_those_that_redis_has),
        cmocka_unit_test(test_one_call_of_some_looks_at_the_server),
        cmocka_unit_test(test_time_passes_beside_a_shorter_session_that_is_silent),
        cmocka_unit_test(test_a_shorter_session_ends_beside_a_longer_one),
        cmocka_unit_test(test_sessions_end_after_a_step_back),
        cmocka_unit_test(test_a_session_that_could_not_do_its_work_is_refused),
        cmocka_unit_test(test_a_tree_without_nodes_and_sessions_is_removed),
        cmocka_unit_test(test_who_only_looks_writes_nothing),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
