/* test_lease.c - the lease script: one owner of a whole topic without ZooKeeper. */
#include "script_table.h"
#include "support/group.h"

/* A topic that is ready, at 1000. */
static void given_a_topic(void **state)
{
    static const struct script_row rows[] = {
        {"topic create slots=4 n 0 0 0", "OK creating slots=4 n 1 1"},
        {"topic ready n", "OK"},
        {"at 1000", ""},
    };

    fixture_flush(*state);
    SCRIPT_TABLE(state, rows);
}

static void test_one_holder_at_a_time(void **state)
{
    static const struct script_row rows[] = {
        {"lease acquire n me 15000", "OK 1 1 15000"},
        {"at 2000", ""},
        {"lease acquire n you 15000", "HELD me 14000"},
        {"lease renew n you 15000", "HELD me 14000"},
        {"lease release n you 15000", "HELD me 14000"},
        {"lease renew n me 15000", "OK 1 1 15000"},
        {"at 17000", ""},
        {"lease acquire n you 15000", "OK 1 2 15000"},
        {"lease renew n me 15000", "HELD you 15000"},
    };

    given_a_topic(state);
    SCRIPT_TABLE(state, rows);
}

static void test_a_release_frees_it_at_once(void **state)
{
    /* clang-format off */
    static const struct script_row rows[] = {
        {"lease acquire n me 15000", "OK 1 1 15000"},
        {"lease release n me 15000", "OK 1 1 0"},
        {"lease release n me 15000", "HELD '' 0"},
        {"lease renew n me 15000", "HELD '' 0"},
        {"lease acquire n you 15000", "OK 1 2 15000"},
    };
    /* clang-format on */

    given_a_topic(state);
    SCRIPT_TABLE(state, rows);
}

static void test_every_acquire_raises_the_epoch(void **state)
{
    static const struct script_row rows[] = {
        {"lease acquire n me 15000", "OK 1 1 15000"},
        {"lease acquire n me 15000", "OK 1 2 15000"}, /* a reply was lost, or a new life */
        {"lease renew n me 15000", "OK 1 2 15000"},
    };

    given_a_topic(state);
    SCRIPT_TABLE(state, rows);
}

static void test_late_but_nobody_took_it(void **state)
{
    static const struct script_row rows[] = {
        {"lease acquire n me 100", "OK 1 1 100"},
        {"at 5000", ""},
        {"lease renew n me 100", "OK 1 1 100"},
        {"lease acquire n you 100", "HELD me 100"},
    };

    given_a_topic(state);
    SCRIPT_TABLE(state, rows);
}

static void test_only_of_a_topic_that_is_ready(void **state)
{
    /* clang-format off */
    static const struct script_row rows[] = {
        {"lease acquire other me 15000", "NO_TOPIC"},
        {"topic delete n 0 a", "OK 1"},
        {"lease acquire n me 15000", "NO_TOPIC"},
        {"topic removed n 1", "OK"},
        {"lease acquire n me 15000", "NO_TOPIC"},
        {"topic create slots=4 n 1 0 0", NULL},
        {"lease acquire n me 15000", "NO_TOPIC"},
    };
    /* clang-format on */

    given_a_topic(state);
    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(lease)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_holder_at_a_time),
        cmocka_unit_test(test_a_release_frees_it_at_once),
        cmocka_unit_test(test_every_acquire_raises_the_epoch),
        cmocka_unit_test(test_late_but_nobody_took_it),
        cmocka_unit_test(test_only_of_a_topic_that_is_ready),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
