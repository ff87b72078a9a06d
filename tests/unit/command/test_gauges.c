/* test_gauges.c - the state of a topic, as stat and top show it. */
#include <string.h>

#include "cli/stat/gauges.h"
#include "support/group.h"

#define PLAIN   GAUGES_PLAIN
#define WARNING GAUGES_WARNING
#define ERROR   GAUGES_ERROR

static const struct {
    uint64_t damaged, silent, paused, stalled, due, dead;
    int64_t lag_ms;
    bool unowned;
    const char *name;
    enum gauges_mark state, of_dead, lag, need;
} verdicts[] = {
    {0, 0, 0, 0, 0, 0, 0, false, "-", PLAIN, PLAIN, PLAIN, PLAIN},
    {0, 0, 4, 1, 9, 0, 90000, true, "paused", WARNING, PLAIN, WARNING, PLAIN},
    {0, 0, 4, 0, 0, 1, 0, false, "paused", WARNING, ERROR, PLAIN, ERROR},
    {0, 1, 0, 1, 0, 0, 0, true, "silent", ERROR, PLAIN, PLAIN, ERROR},
    {0, 1, 4, 0, 0, 0, 0, false, "silent", ERROR, PLAIN, PLAIN, ERROR},
    {1, 0, 0, 1, 0, 0, 0, false, "damaged", ERROR, PLAIN, PLAIN, ERROR},
    {1, 3, 4, 0, 0, 0, 0, false, "damaged", ERROR, PLAIN, PLAIN, ERROR},
    {0, 0, 0, 1, 1, 0, 1000, true, "stalled", ERROR, PLAIN, PLAIN, ERROR},
    {0, 0, 0, 0, 0, 0, 0, true, "unowned", PLAIN, PLAIN, PLAIN, PLAIN}, /* an empty one */
    {0, 0, 0, 0, 1, 0, 10, true, "unowned", WARNING, PLAIN, PLAIN, WARNING},
    {0, 0, 0, 0, 1, 0, 59999, false, "-", PLAIN, PLAIN, PLAIN, PLAIN},
    {0, 0, 0, 0, 1, 0, 60000, false, "-", PLAIN, PLAIN, WARNING, WARNING},
    {0, 0, 0, 0, 1, 0, SMQ_AGE_UNKNOWN, false, "-", PLAIN, PLAIN, PLAIN, PLAIN},
};

static void the_worst_state_is_shown_and_who_is_needed(void **state)
{
    for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
        const char *row[GAUGE_COUNT];
        struct gauges gauges;
        smq_stats stats = SMQ_STATS_INIT;

        stats.slots_damaged = verdicts[i].damaged;
        stats.slots_silent = verdicts[i].silent;
        stats.slots_paused = verdicts[i].paused;
        stats.stalled = verdicts[i].stalled;
        stats.due = verdicts[i].due;
        stats.dead = verdicts[i].dead;
        stats.oldest_due_age_ms = verdicts[i].lag_ms;
        gauges_cells(row, &gauges, &stats, verdicts[i].unowned);
        const struct gauges_verdict found = gauges_judge(&stats, verdicts[i].unowned);
        if (strcmp(row[0], verdicts[i].name) != 0 || strcmp(found.state, row[0]) != 0 ||
            found.of_state != verdicts[i].state || found.of_dead != verdicts[i].of_dead ||
            found.of_lag != verdicts[i].lag || found.need != verdicts[i].need) {
            fail_msg("row %zu: %s, %d %d %d, %d", i, found.state, (int) found.of_state,
                     (int) found.of_dead, (int) found.of_lag, (int) found.need);
        }
    }
}

static void the_lag_has_units(void **state)
{
    const char *row[GAUGE_COUNT];
    struct gauges gauges;
    smq_stats stats = SMQ_STATS_INIT;

    stats.oldest_due_age_ms = 441234;
    gauges_cells(row, &gauges, &stats, false);
    assert_string_equal(row[GAUGE_COUNT - 1], "7m21s");
    stats.oldest_due_age_ms = SMQ_AGE_UNKNOWN;
    gauges_cells(row, &gauges, &stats, false);
    assert_string_equal(row[GAUGE_COUNT - 1], "unknown");
}

static void json_says_how_many_are_left_out(void **state)
{
    smq_stats stats = SMQ_STATS_INIT;
    json_t *object = json_object();

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
        cmocka_unit_test(the_worst_state_is_shown_and_who_is_needed),
        cmocka_unit_test(the_lag_has_units),
        cmocka_unit_test(json_says_how_many_are_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
