/* test_overdue.c - which messages of a slot are overdue, and since when. */
#include "model/overdue.h"
#include "support/group.h"

enum { NOW = 100000, LEASE = 30000, UNKNOWN = -1 };

/* clang-format off */
static void test_what_a_look_says(void **state)
{
    static const struct {
        struct overdue_look look;
        uint64_t due;
        int64_t lag, stalled_age, claim_age;
    } rows[] = {
        /* waiting: due, since; claimed: all, stalled, first end, due since, noted */
        {{NOW, 0, -1,    0, 0, -1,     -1,    -1, LEASE},    0, 0,       0,     0},
        {{NOW, 2, 99000, 0, 0, -1,     -1,    -1, LEASE},    2, 1000,    0,     0},
        {{NOW, 2, -1,    0, 0, -1,     -1,    -1, LEASE},    2, UNKNOWN, 0,     0},
        /* in work, and its lease lasts: it began with the claim, or was renewed since */
        {{NOW, 0, -1,    1, 0, 125000, -1,    -1, LEASE},    0, 0,       0,     5000},
        {{NOW, 0, -1,    1, 0, 125000, -1,    20000, LEASE}, 0, 0,       0,     80000},
        {{NOW, 0, -1,    2, 0, 110000, -1,    95000, LEASE}, 0, 0,       0,     20000},
        /* the lease was extended; the clock was set back */
        {{NOW, 0, -1,    1, 0, 900000, -1,    -1, LEASE},    0, 0,       0,     0},
        {{NOW, 0, -1,    1, 0, 900000, -1,    150000, LEASE}, 0, 0,      0,     0},
        /* stalled: due since before the claim, or since the claim, if that is all that is known */
        {{NOW, 0, -1,    5, 5, 99000,  40000, -1, LEASE},    5, 60000,   1000,  31000},
        {{NOW, 0, -1,    5, 5, 99000,  -1,    -1, LEASE},    5, 31000,   1000,  31000},
        {{NOW, 0, -1,    5, 5, 99000,  -1,    20000, LEASE}, 5, 80000,   1000,  80000},
        {{NOW, 3, 98000, 5, 2, 100000, 99000, -1, LEASE},    5, 2000,    0,     30000},
        {{NOW, 3, 99500, 5, 2, 99000,  98000, -1, LEASE},    5, 2000,    1000,  31000},
        {{NOW, 3, -1,    5, 2, 99000,  98000, -1, LEASE},    5, UNKNOWN, 1000,  31000},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        smq_stats stats = {.due = 99, .stalled_age_ms = 0};

        overdue_count(&stats, &rows[i].look);
        if (stats.due != rows[i].due || stats.stalled != rows[i].look.stalled ||
            stats.oldest_due_age_ms != rows[i].lag || stats.stalled_age_ms != rows[i].stalled_age ||
            stats.oldest_claim_age_ms != rows[i].claim_age) {
            fail_msg("row %zu: due %d, lag %d, stalled for %d, claimed for %d", i, (int) stats.due,
                     (int) stats.oldest_due_age_ms, (int) stats.stalled_age_ms,
                     (int) stats.oldest_claim_age_ms);
        }
    }
}

static void test_what_is_overdue(void **state)
{
    static const struct {
        smq_stats stats;
        bool owner_gone;
        int64_t max_work_ms;
        smq_overdue overdue;
        int64_t age_ms;
    } rows[] = {
        {{.claimed = 0},                                               false, 0,    SMQ_OVERDUE_NOT, 0},
        {{.claimed = 0},                                               true,  1,    SMQ_OVERDUE_NOT, 0},
        {{.due = 1, .oldest_due_age_ms = 7},                           true,  1,    SMQ_OVERDUE_DUE, 7},
        {{.due = 1, .oldest_due_age_ms = SMQ_AGE_UNKNOWN},             false, 0,    SMQ_OVERDUE_DUE, SMQ_AGE_UNKNOWN},
        {{.claimed = 1, .oldest_claim_age_ms = 500},                   false, 0,    SMQ_OVERDUE_NOT, 0},
        {{.claimed = 1, .oldest_claim_age_ms = 500},                   false, 500,  SMQ_OVERDUE_NOT, 0},
        {{.claimed = 1, .oldest_claim_age_ms = 501},                   false, 500,  SMQ_OVERDUE_IN_WORK, 501},
        {{.claimed = 1, .oldest_claim_age_ms = 501, .due = 1, .oldest_due_age_ms = 900},
                                                                       false, 500,  SMQ_OVERDUE_IN_WORK, 501},
        {{.claimed = 1, .oldest_claim_age_ms = 500},                   true,  0,    SMQ_OVERDUE_ORPHANED, 500},
        {{.claimed = 2, .stalled = 1, .due = 1, .oldest_due_age_ms = 900, .stalled_age_ms = 3,
          .oldest_claim_age_ms = 800},                                 true,  5,    SMQ_OVERDUE_STALLED, 3},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t age_ms = -7;
        smq_overdue overdue =
            overdue_of(&age_ms, &rows[i].stats, rows[i].owner_gone, rows[i].max_work_ms);

        if (overdue != rows[i].overdue || age_ms != rows[i].age_ms) {
            fail_msg("row %zu: %d, for %d ms", i, (int) overdue, (int) age_ms);
        }
    }
}
/* clang-format on */

TEST_GROUP(overdue)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_look_says),
        cmocka_unit_test(test_what_is_overdue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
