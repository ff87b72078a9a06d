/* test_metrics.c - the bounds of the histogram, and what is read of the counters. */
#include "core/metrics.h"
#include "support/group.h"

/* In which bucket is one time? */
static int bucket_of(int64_t us)
{
    struct metrics metrics = {0};
    smq_metrics read = SMQ_METRICS_INIT;
    int found = -1;

    metrics_handled(&metrics, us);
    metrics_read(&read, &metrics);
    assert_int_equal(read.handling_count, 1);
    for (int i = 0; i < SMQ_HISTOGRAM_SIZE; i++) {
        if (read.handling_ms[i] != 0) {
            assert_int_equal(found, -1);
            found = i;
        }
    }
    return found;
}

static void bucket_i_ends_with_1_ms_times_2_to_the_i(void **state)
{
    assert_int_equal(bucket_of(-5), 0); /* a clock that went back */
    assert_int_equal(bucket_of(0), 0);
    for (int i = 0; i < SMQ_HISTOGRAM_SIZE - 1; i++) {
        assert_int_equal(bucket_of(INT64_C(1000) << i), i);
        assert_int_equal(bucket_of((INT64_C(1000) << i) + 1), i + 1);
    }
    assert_int_equal(bucket_of(INT64_MAX), SMQ_HISTOGRAM_SIZE - 1);
}

static void times_below_a_millisecond_add_up(void **state)
{
    struct metrics metrics = {0};
    smq_metrics read = SMQ_METRICS_INIT;

    for (int i = 0; i < 10; i++) {
        metrics_handled(&metrics, 300);
    }
    metrics_read(&read, &metrics);
    assert_int_equal(read.handling_ms_sum, 3);
    assert_int_equal(read.handling_count, 10);
}

static void waits_are_of_all_messages(void **state)
{
    struct metrics metrics = {0};
    smq_metrics read = SMQ_METRICS_INIT;

    for (int i = 0; i < METRICS_WAITS; i++) {
        metrics_waited(&metrics, i, 10 + i, 2);
        metrics_waited(&metrics, i, -5, 1); /* times of two threads */
    }
    metrics_read(&read, &metrics);
    assert_int_equal(read.wait_send_us, 20);
    assert_int_equal(read.wait_request_us, 22);
    assert_int_equal(read.wait_slot_us, 24);
    assert_int_equal(read.wait_pace_us, 26);
    assert_int_equal(read.wait_room_us, 28);
    assert_int_equal(read.wait_claim_us, 30);
    assert_int_equal(read.wait_handler_us, 32);
}

static void slots_owned_are_those_gained_and_not_lost(void **state)
{
    struct metrics metrics = {0};
    smq_metrics read = SMQ_METRICS_INIT;

    metric_add(&metrics.slots_gained, 5);
    metric_add(&metrics.slots_lost, 2);
    metrics_read(&read, &metrics);
    assert_int_equal(read.slots_owned, 3);
}

TEST_GROUP(metrics)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bucket_i_ends_with_1_ms_times_2_to_the_i),
        cmocka_unit_test(times_below_a_millisecond_add_up),
        cmocka_unit_test(waits_are_of_all_messages),
        cmocka_unit_test(slots_owned_are_those_gained_and_not_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
