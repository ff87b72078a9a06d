/* test_rate.c - what happened a second, from two looks. */
#include "cli/stat/rate.h"
#include "support/group.h"

static smq_stats stats_of(uint64_t sent, uint64_t done)
{
    smq_stats stats = SMQ_STATS_INIT;

    stats.sent = sent;
    stats.done = done;
    return stats;
}

static void test_rates_are_differences_by_time(void **state)
{
    const smq_stats before = stats_of(100, 7), after = stats_of(150, 8);
    struct rates rates;

    assert_true(rates_between(&rates, &before, &after, 2000000));
    assert_true(rates.sent == 25);
    assert_true(rates.done == 0.5);
    assert_true(rates.merged == 0 && rates.retried == 0 && rates.rejected == 0);
}

static void test_there_is_no_telling_without_time_or_when_a_counter_went_back(void **state)
{
    const smq_stats before = stats_of(100, 7), after = stats_of(150, 6);
    struct rates rates;

    assert_false(rates_between(&rates, &before, &before, 0));
    assert_false(rates_between(&rates, &before, &before, -1));
    assert_false(rates_between(&rates, &before, &after, 1000000));
}

TEST_GROUP(rate)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates_are_differences_by_time),
        cmocka_unit_test(test_there_is_no_telling_without_time_or_when_a_counter_went_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
