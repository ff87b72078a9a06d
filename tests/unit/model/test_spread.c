/* test_spread.c - to which slots messages without a key go. */
#include <string.h>

#include "model/spread.h"
#include "support/group.h"

enum { SLOTS = 64, MESSAGES = 200 };

/* So many messages, `apart_us` from each other; `got`: how many each slot got.  Returns how often
 * the slot changed. */
static int spread_many(struct spread *spread, int messages, int64_t apart_us, int got[SLOTS])
{
    int changes = 0, last = spread_last(spread, SLOTS);

    memset(got, 0, SLOTS * sizeof(got[0]));
    for (int i = 0; i < messages; i++) {
        int slot = spread_next(spread, SLOTS, 1000000 + i * apart_us, false);
        assert_in_range(slot, 0, SLOTS - 1);
        got[slot]++;
        changes += slot != last ? 1 : 0;
        last = slot;
    }
    return changes;
}

static void few_messages_go_to_as_many_slots(void **state)
{
    static const int64_t apart_us[] = {0, 100, 1000, 1000000};

    for (size_t i = 0; i < sizeof(apart_us) / sizeof(apart_us[0]); i++) {
        struct spread spread = {.turn = (uint32_t) i * 77};
        int got[SLOTS];
        (void) spread_many(&spread, SLOTS, apart_us[i], got);
        for (int slot = 0; slot < SLOTS; slot++) {
            assert_int_equal(got[slot], 1);
        }
    }
}

/* At a rate for a second: how many of them go together, and how much the slots differ at most. */
static void slots_get_together_what_they_get_within_50_ms(void **state)
{
    static const struct {
        int rate, together, differ;
    } rows[] = {
        {100, 1, 1},   {1000, 1, 1},    {5000, 4, 4},
        {10000, 8, 8}, {20000, 16, 16}, {100000, 16, 16}, /* never more than 16 */
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct spread spread = {.turn = 5};
        int got[SLOTS], least, most, changes;

        changes = spread_many(&spread, rows[i].rate, 1000000 / rows[i].rate, got);
        least = most = got[0];
        for (int slot = 1; slot < SLOTS; slot++) {
            least = got[slot] < least ? got[slot] : least;
            most = got[slot] > most ? got[slot] : most;
        }
        assert_in_range(rows[i].rate / changes, rows[i].together * 3 / 4, rows[i].together);
        assert_in_range(most - least, 0, 2 * rows[i].differ);
    }
}

static void after_a_burst_and_a_pause_each_message_goes_to_another_slot(void **state)
{
    struct spread spread = {.turn = 1};
    int got[SLOTS];

    (void) spread_many(&spread, 9999, 1, got);
    for (int i = 0; i < SLOTS; i++) {
        int32_t last = spread_last(&spread, SLOTS);
        assert_int_not_equal(spread_next(&spread, SLOTS, 9000000 + i * 60000, false), last);
    }
}

static void a_slot_that_is_closed_gets_no_more(void **state)
{
    struct spread spread = {.turn = 9, .left = 10, .since_us = 990000};
    int32_t last = spread_last(&spread, SLOTS);

    assert_int_equal(spread_next(&spread, SLOTS, 1000000, false), last);
    assert_int_not_equal(spread_next(&spread, SLOTS, 1000000, true), last);
}

static void one_slot_gets_all(void **state)
{
    struct spread spread = {.turn = UINT32_MAX};

    for (int64_t i = 0; i < MESSAGES; i++) {
        assert_int_equal(spread_next(&spread, 1, i * 1000, i % 3 == 0), 0);
    }
}

TEST_GROUP(spread)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_messages_go_to_as_many_slots),
        cmocka_unit_test(slots_get_together_what_they_get_within_50_ms),
        cmocka_unit_test(after_a_burst_and_a_pause_each_message_goes_to_another_slot),
        cmocka_unit_test(a_slot_that_is_closed_gets_no_more),
        cmocka_unit_test(one_slot_gets_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
