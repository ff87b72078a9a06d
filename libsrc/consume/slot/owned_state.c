/* owned_state.c - the states of a slot at its owner.
 *
 * Pure. */
#include "consume/slot/owned_state.h"

#include <stddef.h>

static const struct owned_slot_step {
    enum owned_state from;
    enum owned_event event;
    enum owned_state to;
} steps[] = {
    {OWNED_IDLE, OWNED_EVENT_GRANTED, OWNED_ACQUIRING},
    {OWNED_ACQUIRING, OWNED_EVENT_TAKEN, OWNED_ACTIVE},
    {OWNED_ACQUIRING, OWNED_EVENT_REVOKED, OWNED_VACATING},
    {OWNED_ACQUIRING, OWNED_EVENT_DROPPED, OWNED_IDLE},
    {OWNED_ACTIVE, OWNED_EVENT_REVOKED, OWNED_STOPPING},
    {OWNED_ACTIVE, OWNED_EVENT_REWOUND, OWNED_ACQUIRING},
    {OWNED_ACTIVE, OWNED_EVENT_DROPPED, OWNED_IDLE},
    {OWNED_STOPPING, OWNED_EVENT_SETTLED, OWNED_VACATING},
    {OWNED_STOPPING, OWNED_EVENT_DROPPED, OWNED_IDLE},
    {OWNED_STOPPING, OWNED_EVENT_ABANDONED, OWNED_IDLE},
    {OWNED_VACATING, OWNED_EVENT_VACATED, OWNED_IDLE},
    {OWNED_VACATING, OWNED_EVENT_DROPPED, OWNED_IDLE},
    {OWNED_VACATING, OWNED_EVENT_ABANDONED, OWNED_IDLE},
};

bool owned_state_next(enum owned_state *out, enum owned_state state, enum owned_event event)
{
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (steps[i].from == state && steps[i].event == event) {
            *out = steps[i].to;
            return true;
        }
    }
    return false;
}
