/* slot_state.c - IDLE -> ACQUIRING -> OWNED -> STOPPING -> IDLE.
 *
 * Pure. */
#include "coord/member/slot_state.h"

enum slot_state slot_state_next(enum slot_state state, enum slot_input input)
{
    static const unsigned char table[SLOT_STATES][SLOT_INPUTS] = {
        [SLOT_IDLE] = {SLOT_ACQUIRING, SLOT_IDLE, SLOT_IDLE, SLOT_IDLE, SLOT_IDLE, SLOT_IDLE},
        [SLOT_ACQUIRING] = {SLOT_ACQUIRING, SLOT_OWNED, SLOT_IDLE, SLOT_STOPPING, SLOT_IDLE,
                            SLOT_IDLE},
        [SLOT_OWNED] = {SLOT_OWNED, SLOT_OWNED, SLOT_IDLE, SLOT_STOPPING, SLOT_IDLE, SLOT_IDLE},
        [SLOT_STOPPING] = {SLOT_STOPPING, SLOT_STOPPING, SLOT_IDLE, SLOT_STOPPING, SLOT_IDLE,
                           SLOT_IDLE},
    };

    return (enum slot_state) table[state][input];
}
