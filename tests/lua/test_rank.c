/* test_rank.c - the rank script: how many waiting messages come before one. */
#include "script_table.h"
#include "support/group.h"

static void test_by_time(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"redis ZADD x 5 a 5.25 b 5 bb 6 c -3 d", "5"},
        {"rank d", "OK 0 -3"},
        {"rank bb", "OK 2 5"},
        {"rank b", "OK 3 5.25"},
        {"rank c", "OK 4 6"},
        {"rank e", "NO_MESSAGE"},
        /* elsewhere: what is strictly earlier, retries aside */
        {"rank '' 5.5", "OK 1 5.5"},
        {"rank '' 6", "OK 4 6"},
        {"rank '' -3", "OK 0 -3"},
        {"rank '' 7", "OK 5 7"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_by_priority(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"redis ZADD x 5 a 5.25 b 5 bb 6 c -3 d", "5"},
        {"rank c", "OK 0 6"},
        {"rank b", "OK 1 5.25"},
        {"rank bb", "OK 2 5"},
        {"rank a", "OK 3 5"},
        {"rank d", "OK 4 -3"},
        {"rank '' 5", "OK 1 5"},
        {"rank '' 5.25", "OK 1 5.25"},
        {"rank '' -3", "OK 4 -3"},
        {"rank '' -4", "OK 5 -4"},
        {"rank '' 6", "OK 0 6"},
        /* scheduled: after all that are due; a server may write a score with fewer digits */
        {"rank '' s28088279067531.04", "OK 5 s28088279067531.039"},
    };

    SCRIPT_TABLE(state, rows);
}

/* The order of arrival counts in its own slot only. */
static void test_by_priority_and_arrival(void **state)
{
    static const struct script_row rows[] = {
        {"open p", "OK"},
        {"send a 1 b 1 c 2 d -1 e 1", "OK aaaaa"},
        {"rank c", NULL},
        {"rank a", "OK 1 8589934591"},
        {"rank b", "OK 2 8589934590"},
        {"rank e", "OK 3 8589934587"},
        {"rank d", "OK 4 -4"},
        {"rank '' 8589934587", "OK 1 8589934587"},
        {"rank '' 4294967296", "OK 1 4294967296"},
        {"rank '' -4", "OK 4 -4"},
        {"rank '' 12884901887", "OK 0 12884901887"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_stale_and_no_topic(void **state)
{
    /* clang-format off */
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"rank def=o.1 a", "STALE"},
        {"rank '' 1", "OK 0 1"},
        {"slot_seal 1", "OK"},
        {"rank a", "NO_TOPIC"},
    };
    /* clang-format on */

    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(rank)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_time),
        cmocka_unit_test(test_by_priority),
        cmocka_unit_test(test_by_priority_and_arrival),
        cmocka_unit_test(test_stale_and_no_topic),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
