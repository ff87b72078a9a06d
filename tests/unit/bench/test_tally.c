/* test_tally.c - benchmarks see what is lost, doubled or out of order; quantiles of samples. */
#include "samples.h"
#include "support/group.h"
#include "tally.h"

enum { MESSAGES = 5, SLOTS = 2, SIZE = 16 };

struct tick {
    int slot;
    uint64_t number;
};

static struct tally_counts counts_after(const struct tick *ticks, size_t count)
{
    struct tally *tally = tally_new(MESSAGES, SLOTS);
    char body[SIZE];

    for (size_t i = 0; i < count; i++) {
        tally_body(body, sizeof(body), ticks[i].number);
        tally_tick(tally, ticks[i].slot, body, sizeof(body));
    }
    struct tally_counts counts = tally_counts(tally);
    tally_free(tally);
    return counts;
}

static void assert_counts(struct tally_counts counts, struct tally_counts wanted)
{
    assert_int_equal(counts.sent, wanted.sent);
    assert_int_equal(counts.handled, wanted.handled);
    assert_int_equal(counts.lost, wanted.lost);
    assert_int_equal(counts.duplicated, wanted.duplicated);
    assert_int_equal(counts.out_of_order, wanted.out_of_order);
}

static void all_in_order(void **state)
{
    const struct tick ticks[] = {{0, 0}, {1, 3}, {0, 1}, {1, 4}, {0, 2}};

    assert_counts(counts_after(ticks, 5), (struct tally_counts){5, 5, 0, 0, 0});
}

static void lost_doubled_and_out_of_order(void **state)
{
    const struct tick ticks[] = {{0, 2}, {0, 1}, {0, 2}, {1, 4}};

    assert_counts(counts_after(ticks, 4), (struct tally_counts){5, 3, 2, 1, 1});
}

static void strangers_count_as_duplicates(void **state)
{
    const struct tick ticks[] = {{0, 5}, {2, 0}, {-1, 0}};

    assert_counts(counts_after(ticks, 3), (struct tally_counts){5, 0, 5, 3, 0});
}

static void body_holds_its_number(void **state)
{
    char body[SIZE];

    tally_body(body, sizeof(body), 9876543210);
    assert_memory_equal(body, "9876543210......", sizeof(body));
    assert_int_equal(tally_number(body, sizeof(body)), 9876543210);
}

static void quantiles(void **state)
{
    struct samples samples = {.count = 0};

    assert_true(samples_quantile(&samples, 0.5) == 0);
    for (int i = 100; i >= 0; i--) {
        samples_add(&samples, i);
    }
    assert_true(samples_quantile(&samples, 0) == 0);
    assert_true(samples_quantile(&samples, 0.5) == 50);
    assert_true(samples_quantile(&samples, 0.99) == 99);
    assert_true(samples_quantile(&samples, 1) == 100);
    samples_fini(&samples);
}

TEST_GROUP(tally)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_in_order),
        cmocka_unit_test(lost_doubled_and_out_of_order),
        cmocka_unit_test(strangers_count_as_duplicates),
        cmocka_unit_test(body_holds_its_number),
        cmocka_unit_test(quantiles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
