/* slot_turn.h - the end of an entry from the loop: every slot that has changed is looked at.
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_SLOT_TURN_H
#define CONSUME_SLOT_SLOT_TURN_H

#include "consume/slot/owned_slot.h"

/* Look at the slots that are marked, until none is; then at those that wait for room, for a rate or
 * for their takeover.  Slots are freed. */
void slot_turn_run(struct slot_set *set);

/* A handler has returned: mark the slots that wait for one. */
void slot_turn_mark_leaving(struct slot_set *set);

#endif
