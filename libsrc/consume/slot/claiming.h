/* claiming.h - when the next call of a slot leaves, and how many messages it claims, as
 * model/next_call.h says.
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_CLAIMING_H
#define CONSUME_SLOT_CLAIMING_H

#include "consume/slot/owned_slot.h"

/* Decide the slot's next call; `must`: it calls although it neither claims nor settles.  If it does
 * not leave now, the slot gets into the list of what it waits for, and looks again when that may
 * have come. */
struct next_call claiming_decide(struct owned_slot *slot, bool must);

/* A claim that passes over keys begins, or has ended: it was as large as it might be, or there are
 * more messages that it has not looked at. */
void claiming_passes(struct owned_slot *slot);
void claiming_passed(struct owned_slot *slot, bool full, bool more);

#endif
