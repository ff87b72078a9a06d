/* test_assignment.c - when it is reported how many slots were gained and lost. */
#include "consume/consumer/consumer.h"
#include "support/group.h"

enum { QUIET = ASSIGNMENT_QUIET_MS, LONGEST = ASSIGNMENT_LONGEST_MS, NEVER = -1 };

struct row {
    int64_t now_ms;
    struct consumer_slots slots;
    int64_t wait_ms; /* 0: it is reported; NEVER: nothing has changed */
};

#define FOLLOW(rows) follow((rows), sizeof(rows) / sizeof((rows)[0]))

static void follow(const struct row *rows, size_t count)
{
    struct consumer_assignment assignment = {0};

    for (size_t i = 0; i < count; i++) {
        const int64_t due_ms =
            consumer_assignment_due_ms(&assignment, &rows[i].slots, rows[i].now_ms);
        const int64_t wait_ms = due_ms == INT64_MAX        ? NEVER
                                : due_ms <= rows[i].now_ms ? 0
                                                           : due_ms - rows[i].now_ms;

        if (wait_ms != rows[i].wait_ms) {
            fail_msg("row %zu: %d instead of %d", i, (int) wait_ms, (int) rows[i].wait_ms);
        }
        if (wait_ms == 0 &&
            (assignment.gained != rows[i].slots.gained || assignment.lost != rows[i].slots.lost)) {
            fail_msg("row %zu: something is left out", i);
        }
    }
}

/* clang-format off */

static void slots_that_come_together_are_reported_together(void **state)
{
    static const struct row rows[] = {
        {5000, {0}, NEVER},
        {6000, {.moving = true}, NEVER},
        {6010, {.gained = 1, .moving = true}, LONGEST},
        {6020, {.gained = 2, .moving = true}, LONGEST - 10},
        {6030, {.gained = 3}, QUIET},
        {6040, {.gained = 3}, QUIET - 10},
        {6050, {.gained = 4}, QUIET}, /* it came a little later */
        {6050 + QUIET, {.gained = 4}, 0},
        {6050 + QUIET, {.gained = 4}, NEVER},
        {9000, {.gained = 4, .moving = true}, NEVER},
    };

    FOLLOW(rows);
}

static void what_lasts_is_reported_once_in_a_while(void **state)
{
    static const struct row rows[] = {
        {1000, {.gained = 1, .moving = true}, LONGEST},
        {1500, {.gained = 7, .moving = true}, LONGEST - 500},
        {1000 + LONGEST, {.gained = 9, .moving = true}, 0},
        {1001 + LONGEST, {.gained = 9, .lost = 1, .moving = true}, LONGEST},
        {1500 + LONGEST, {.gained = 9, .lost = 4, .moving = true}, LONGEST - 499},
        {1001 + 2 * LONGEST, {.gained = 9, .lost = 4, .moving = true}, 0},
        {1900 + 2 * LONGEST, {.gained = 9, .lost = 4, .moving = true}, NEVER}, /* one hangs */
        {9000 + 2 * LONGEST, {.gained = 9, .lost = 5}, QUIET},
        {9000 + 2 * LONGEST + QUIET, {.gained = 9, .lost = 5}, 0},
    };

    FOLLOW(rows);
}

/* Slots that come one by one, with pauses between them. */
static void there_is_at_most_one_report_in_that_time(void **state)
{
    static const struct row rows[] = {
        {1000, {.gained = 1}, QUIET},
        {1000 + QUIET, {.gained = 1}, 0},
        {1200 + QUIET, {.gained = 2}, LONGEST - 200},
        {1400 + QUIET, {.gained = 3}, LONGEST - 400},
        {1000 + QUIET + LONGEST, {.gained = 3}, 0},
        {5000, {.gained = 3, .lost = 3}, QUIET},
        {9000, {.gained = 3, .lost = 3}, 0}, /* the process was frozen */
    };

    FOLLOW(rows);
}

static void the_end_is_reported_at_once(void **state)
{
    static const struct row rows[] = {
        {1000, {.gained = 64}, QUIET},
        {1000 + QUIET, {.gained = 64}, 0},
        {1200, {.gained = 64, .lost = 63, .moving = true}, LONGEST},
        {1210, {.gained = 64, .lost = 64, .ended = true}, 0},
        {1211, {.gained = 64, .lost = 64, .ended = true}, NEVER},
        {1300, {.gained = 65, .lost = 64}, LONGEST - 90}, /* it was only suspended */
        {1320, {.gained = 65, .lost = 65, .ended = true}, 0},
    };

    FOLLOW(rows);
}

/* clang-format on */

TEST_GROUP(assignment)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_that_come_together_are_reported_together),
        cmocka_unit_test(what_lasts_is_reported_once_in_a_while),
        cmocka_unit_test(there_is_at_most_one_report_in_that_time),
        cmocka_unit_test(the_end_is_reported_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
