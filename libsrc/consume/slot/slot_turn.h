/* slot_turn.h - the turn: at the end of an entry from the loop every slot that has changed acts.
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_SLOT_TURN_H
#define CONSUME_SLOT_SLOT_TURN_H

#include "consume/slot/owned_slot.h"

/* Let the marked slots act until none is marked; then those that wait for room, for a rate limit or
 * for their takeover.  Frees slots that have ended. */
void slot_turn_run(struct slot_set *set);

/* A handler has returned: mark the slots that wait for one. */
void slot_turn_mark_leaving(struct slot_set *set);

/* Polls have taken all of a slot that had no more room: mark those with deliveries in flight. */
void slot_turn_mark_busy(struct slot_set *set);

#endif
