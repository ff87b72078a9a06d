/* ticking.h - the schedules of a slot: when the first of them is due, and storing its message.
 *
 * The owner of a slot of an exclusive topic sets an alarm; in a shared topic a caller that finds in
 * a reply that one is due makes its tick.  Of several callers Redis accepts the first.
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_TICKING_H
#define CONSUME_SLOT_TICKING_H

#include "consume/slot/owned_slot.h"

/* Redis has told when the first schedule of the slot is due, by a reply of the time `now_ms`; -1:
 * none is.  What was due before and made no tick is not tried again sooner for that. */
void ticking_know(struct owned_slot *slot, int64_t tick_ms, int64_t now_ms);

/* Fewer messages wait: a tick for which the slot had no room need not wait longer. */
void ticking_has_room(struct owned_slot *slot);

/* Begin to make the ticks that are due, if there are any.  Only the turn calls this. */
void ticking_decide(struct owned_slot *slot);

#endif
