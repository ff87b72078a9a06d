/* test_limiter.c - how many messages a rate allows by now. */
#include "model/limiter.h"
#include "support/group.h"

static struct limiter limited(double per_s)
{
    struct limiter limiter;

    limiter_init(&limiter);
    limiter_set(&limiter, per_s, 0);
    return limiter;
}

static void credits_come_with_time_up_to_the_burst(void **state)
{
    static const struct {
        double per_s;
        int64_t at_ms, wish, allowed;
    } rows[] = {
        {LIMITER_NONE, 0, 1000, 1000}, /* no limit */
        {0, 1000000, 1000, 1},         /* the first token, and never another */
        {1, 0, 1000, 1},
        {1, 5000, 1000, 1}, /* at least one, but no more */
        {50, 0, 1000, 1},
        {50, 20, 1000, 2},
        {50, 79, 1000, 4},
        {50, 80, 1000, 5},
        {50, 100000, 1000, 5},
        {50, 100000, 3, 3},
        {0.5, 1999, 10, 1},
        {100000, 1, 1000, 101},
        {100000, 1000, 100000, 10000},
        {1000000000, 1000, 1000, 1000},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct limiter limiter = limited(rows[i].per_s);

        assert_int_equal(limiter_allows(&limiter, rows[i].wish, rows[i].at_ms), rows[i].allowed);
    }
}

static void rate_holds_over_time_whatever_the_steps(void **state)
{
    static const struct {
        double per_s;
        int64_t step_ms;
    } rows[] = {{200, 1}, {200, 7}, {200, 90}, {50, 3}, {0.25, 10}, {33.3, 1}, {12345, 10}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct limiter limiter = limited(rows[i].per_s);
        int64_t taken = 0, wanted = (int64_t) (rows[i].per_s * 100);

        for (int64_t now = 0; now <= 100000; now += rows[i].step_ms) {
            int64_t count = limiter_allows(&limiter, INT64_MAX, now);

            limiter_use(&limiter, count, now);
            taken += count;
        }
        assert_in_range(taken, wanted - 1 - (int64_t) rows[i].per_s / 10, wanted + 1);
    }
}

static void unused_credits_come_back(void **state)
{
    struct limiter limiter = limited(50);

    limiter_use(&limiter, 5, 1000);
    assert_int_equal(limiter_allows(&limiter, 10, 1000), 0);
    limiter_return(&limiter, 4);
    assert_int_equal(limiter_allows(&limiter, 10, 1000), 4);
    limiter_return(&limiter, 4); /* not beyond the burst */
    assert_int_equal(limiter_allows(&limiter, 10, 1000), 5);
}

static void waits_for_a_quarter_of_the_burst(void **state)
{
    static const struct {
        double per_s;
        int64_t taken, wait_ms; /* of the burst, at 1000 ms */
    } rows[] = {
        {LIMITER_NONE, 0, 0}, {0, 1, -1},        {1, 1, 1001},  {0.5, 1, 2001},
        {50, 5, 26},          {10000, 1000, 26}, {10000, 0, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct limiter limiter = limited(rows[i].per_s);

        limiter_use(&limiter, rows[i].taken, 1000);
        assert_int_equal(limiter_wait_ms(&limiter, 1000), rows[i].wait_ms);
    }
}

static void new_rate_keeps_the_credits_that_fit(void **state)
{
    struct limiter limiter = limited(1000);

    limiter_set(&limiter, 20, 1000); /* 100 had come */
    assert_int_equal(limiter_allows(&limiter, 1000, 1000), 2);
    limiter_use(&limiter, 2, 1000);
    limiter_set(&limiter, 0, 1050); /* one came at the old rate */
    assert_int_equal(limiter_allows(&limiter, 1000, 9000), 1);
    limiter_set(&limiter, LIMITER_NONE, 9000);
    assert_int_equal(limiter_allows(&limiter, 1000, 9000), 1000);
    limiter_set(&limiter, 1000, 9000);
    assert_int_equal(limiter_allows(&limiter, 1000, 9000), 1);
}

TEST_GROUP(limiter)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(credits_come_with_time_up_to_the_burst),
        cmocka_unit_test(rate_holds_over_time_whatever_the_steps),
        cmocka_unit_test(unused_credits_come_back),
        cmocka_unit_test(waits_for_a_quarter_of_the_burst),
        cmocka_unit_test(new_rate_keeps_the_credits_that_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
