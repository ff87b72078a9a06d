/* slot_state.c - the life of a slot at its owner.
 *
 * Pure. */
#include "consume/slot/slot_state.h"

#include <stddef.h>

static const struct strand_step {
    enum strand_state from;
    enum strand_event event;
    enum strand_state to;
} steps[] = {
    {STRAND_IDLE, STRAND_GRANTED, STRAND_ACQUIRING},
    {STRAND_ACQUIRING, STRAND_TAKEN, STRAND_ACTIVE},
    {STRAND_ACQUIRING, STRAND_REVOKED, STRAND_VACATING},
    {STRAND_ACQUIRING, STRAND_DROPPED, STRAND_IDLE},
    {STRAND_ACTIVE, STRAND_REVOKED, STRAND_STOPPING},
    {STRAND_ACTIVE, STRAND_REWOUND, STRAND_ACQUIRING},
    {STRAND_ACTIVE, STRAND_DROPPED, STRAND_IDLE},
    {STRAND_STOPPING, STRAND_SETTLED, STRAND_VACATING},
    {STRAND_STOPPING, STRAND_DROPPED, STRAND_IDLE},
    {STRAND_STOPPING, STRAND_ABANDONED, STRAND_IDLE},
    {STRAND_VACATING, STRAND_VACATED, STRAND_IDLE},
    {STRAND_VACATING, STRAND_DROPPED, STRAND_IDLE},
    {STRAND_VACATING, STRAND_ABANDONED, STRAND_IDLE},
};

bool strand_next(enum strand_state *out, enum strand_state state, enum strand_event event)
{
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (steps[i].from == state && steps[i].event == event) {
            *out = steps[i].to;
            return true;
        }
    }
    return false;
}

const char *strand_state_name(enum strand_state state)
{
    static const char *const names[] = {"idle", "acquiring", "active", "stopping", "vacating"};

    return names[state];
}
