/* test_gauges.c - the state of a topic, as stat and top show it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/stat/gauges.h"
#include "support/group.h"

static const struct {
    uint64_t damaged, silent, paused, stalled;
    const char *name;
} states[] = {
    {0, 0, 0, 0, "-"},       {0, 0, 4, 1, "paused"},  {0, 1, 0, 1, "silent"},
    {0, 1, 4, 0, "silent"},  {1, 0, 0, 1, "damaged"}, {1, 3, 0, 0, "damaged"},
    {1, 0, 4, 0, "damaged"}, {4, 0, 4, 0, "damaged"}, {0, 0, 0, 1, "stalled"},
};

static void the_worst_state_is_shown(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        const char *row[GAUGE_COUNT];
        struct gauges gauges;
        smq_stats stats = SMQ_STATS_INIT;

        stats.slots_damaged = states[i].damaged;
        stats.slots_silent = states[i].silent;
        stats.slots_paused = states[i].paused;
        stats.stalled = states[i].stalled;
        gauges_cells(row, &gauges, &stats);
        assert_string_equal(row[0], states[i].name);
    }
}

static void the_lag_has_units(void **state)
{
    const char *row[GAUGE_COUNT];
    struct gauges gauges;
    smq_stats stats = SMQ_STATS_INIT;

    (void) state;
    stats.oldest_due_age_ms = 441234;
    gauges_cells(row, &gauges, &stats);
    assert_string_equal(row[GAUGE_COUNT - 1], "7m21s");
    stats.oldest_due_age_ms = SMQ_AGE_UNKNOWN;
    gauges_cells(row, &gauges, &stats);
    assert_string_equal(row[GAUGE_COUNT - 1], "unknown");
}

static void json_says_how_many_are_left_out(void **state)
{
    smq_stats stats = SMQ_STATS_INIT;
    json_t *object = json_object();

    (void) state;
    stats.slots_damaged = 2;
    stats.slots_silent = 3;
    gauges_json_left_out(object, &stats);
    assert_int_equal(json_integer_value(json_object_get(object, "slots_damaged")), 2);
    assert_int_equal(json_integer_value(json_object_get(object, "slots_silent")), 3);
    json_decref(object);
}

TEST_GROUP(gauges)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worst_state_is_shown),
        cmocka_unit_test(the_lag_has_units),
        cmocka_unit_test(json_says_how_many_are_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
