/* test_owned_state.c - the life of a slot at its owner, every state with every event. */
#include "consume/slot/owned_state.h"
#include "support/group.h"

enum { NO = -1 };

/* Columns: GRANTED, TAKEN, REVOKED, SETTLED, VACATED, REWOUND, DROPPED, ABANDONED. */
static const int expected[][OWNED_EVENT_EVENTS] = {
    [OWNED_IDLE] = {OWNED_ACQUIRING, NO, NO, NO, NO, NO, NO, NO},
    [OWNED_ACQUIRING] = {NO, OWNED_ACTIVE, OWNED_VACATING, NO, NO, NO, OWNED_IDLE, NO},
    [OWNED_ACTIVE] = {NO, NO, OWNED_STOPPING, NO, NO, OWNED_ACQUIRING, OWNED_IDLE, NO},
    [OWNED_STOPPING] = {NO, NO, NO, OWNED_VACATING, NO, NO, OWNED_IDLE, OWNED_IDLE},
    [OWNED_VACATING] = {NO, NO, NO, NO, OWNED_IDLE, NO, OWNED_IDLE, OWNED_IDLE},
};

static void every_event_in_every_state_is_as_the_table_says(void **state)
{
    for (int from = OWNED_IDLE; from <= OWNED_VACATING; from++) {
        for (int event = 0; event < OWNED_EVENT_EVENTS; event++) {
            enum owned_state to = OWNED_IDLE;
            bool possible =
                owned_state_next(&to, (enum owned_state) from, (enum owned_event) event);

            if (possible != (expected[from][event] != NO) ||
                (possible && (int) to != expected[from][event])) {
                fail_msg("state %d with event %d leads to %d", from, event,
                         possible ? (int) to : NO);
            }
        }
    }
}

static void impossible_event_leaves_the_state_alone(void **state)
{
    enum owned_state to = OWNED_STOPPING;

    assert_false(owned_state_next(&to, OWNED_IDLE, OWNED_EVENT_TAKEN));
    assert_int_equal(to, OWNED_STOPPING);
}

TEST_GROUP(owned_state)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_in_every_state_is_as_the_table_says),
        cmocka_unit_test(impossible_event_leaves_the_state_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
