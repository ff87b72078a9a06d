/* consume_call.h - settling answers and claiming messages, one call of a slot at a time.
 *
 * Answers that are given while a call is in progress are sent with the next call, and calls wait
 * for those of other slots (model/pace.h), so batches grow with the load.  A call whose reply was
 * lost is repeated unchanged: the script settles the answers that are left, and returns the claims
 * of the lost reply again.
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_CONSUME_CALL_H
#define CONSUME_SLOT_CONSUME_CALL_H

#include "consume/slot/owned_slot.h"

/* Settle answers and claim messages, in one call, which may wait for those of other slots; false:
 * there is nothing to do. */
bool consume_begin(struct owned_slot *slot);

/* A message has come; returns whether a call is in progress, whose reply may say that there is
 * nothing to claim. */
bool consume_wake(struct owned_slot *slot);

/* Would a message that is claimed now overtake others that are being returned (strict fifo)? */
bool consume_would_overtake(const struct owned_slot *slot);

/* Send a failed call again. */
void consume_repeat(struct owned_slot *slot);

/* Drop the call, because the slot ends or is taken over again. */
void consume_forget(struct owned_slot *slot);

#endif
