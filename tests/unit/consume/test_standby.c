/* test_standby.c - when it is reported that a consumer has no slots. */
#include "consume/consumer/consumer.h"
#include "support/group.h"

struct row {
    int64_t now_ms;
    bool spare;
    int64_t wait_ms; /* 0: it is reported; -1: it is not */
};

static void follow(const struct row *rows, size_t count)
{
    struct consumer_standby standby = {0};

    for (size_t i = 0; i < count; i++) {
        const int64_t wait_ms = consumer_standby_wait_ms(&standby, rows[i].spare, rows[i].now_ms);
        if (wait_ms != rows[i].wait_ms) {
            fail_msg("row %zu: %d instead of %d", i, (int) wait_ms, (int) rows[i].wait_ms);
        }
    }
}

static void lack_of_slots_is_reported_once_when_it_lasts(void **state)
{
    /* clang-format off */
    static const struct row rows[] = {
        {1000, false, -1},
        {2000, true, STANDBY_MS},
        {2000, true, STANDBY_MS},
        {2001, true, STANDBY_MS - 1},
        {1999 + STANDBY_MS, true, 1},
        {2000 + STANDBY_MS, true, 0},
        {2000 + STANDBY_MS, true, -1},
        {2000 + 100 * STANDBY_MS, true, -1},
    };
    /* clang-format on */

    follow(rows, sizeof(rows) / sizeof(rows[0]));
}

static void a_slot_begins_it_anew(void **state)
{
    /* clang-format off */
    static const struct row rows[] = {
        {1000, true, STANDBY_MS},
        {5999, false, -1}, /* not reported before */
        {6000, true, STANDBY_MS},
        {6000 + STANDBY_MS, true, 0},
        {20000, false, -1}, /* reported before */
        {30000, true, STANDBY_MS},
        {90000, true, 0}, /* the process was frozen */
        {90001, true, -1},
    };
    /* clang-format on */

    follow(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST_GROUP(standby)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lack_of_slots_is_reported_once_when_it_lasts),
        cmocka_unit_test(a_slot_begins_it_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
