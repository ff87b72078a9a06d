/* test_strand_state.c - the life of a slot at its owner, every state with every event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "consume/slot/slot_state.h"

enum { NO = -1 };

/* Columns: GRANTED, TAKEN, REVOKED, SETTLED, VACATED, REWOUND, DROPPED, ABANDONED. */
static const int expected[][STRAND_EVENTS] = {
    [STRAND_IDLE] = {STRAND_ACQUIRING, NO, NO, NO, NO, NO, NO, NO},
    [STRAND_ACQUIRING] = {NO, STRAND_ACTIVE, STRAND_VACATING, NO, NO, NO, STRAND_IDLE, NO},
    [STRAND_ACTIVE] = {NO, NO, STRAND_STOPPING, NO, NO, STRAND_ACQUIRING, STRAND_IDLE, NO},
    [STRAND_STOPPING] = {NO, NO, NO, STRAND_VACATING, NO, NO, STRAND_IDLE, STRAND_IDLE},
    [STRAND_VACATING] = {NO, NO, NO, NO, STRAND_IDLE, NO, STRAND_IDLE, STRAND_IDLE},
};

static void every_event_in_every_state_is_as_the_table_says(void **state)
{
    (void) state;
    for (int from = STRAND_IDLE; from <= STRAND_VACATING; from++) {
        for (int event = 0; event < STRAND_EVENTS; event++) {
            enum strand_state to = STRAND_IDLE;
            bool possible = strand_next(&to, (enum strand_state) from, (enum strand_event) event);

            if (possible != (expected[from][event] != NO) ||
                (possible && (int) to != expected[from][event])) {
                fail_msg("%s with event %d leads to %s",
                         strand_state_name((enum strand_state) from), event,
                         possible ? strand_state_name(to) : "nothing");
            }
        }
    }
}

static void impossible_event_leaves_the_state_alone(void **state)
{
    enum strand_state to = STRAND_STOPPING;

    (void) state;
    assert_false(strand_next(&to, STRAND_IDLE, STRAND_TAKEN));
    assert_int_equal(to, STRAND_STOPPING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_in_every_state_is_as_the_table_says),
        cmocka_unit_test(impossible_event_leaves_the_state_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
