/* consume_call.h - claiming and settling, one call of a slot at a time.
 *
 * The first answer is sent at once; what is answered while a call is on its way goes with the next
 * one, so batches grow with the load.  A call whose reply was lost is repeated as it was: the
 * script settles what is left and hands the claims of the lost reply over again.
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_CONSUME_CALL_H
#define CONSUME_SLOT_CONSUME_CALL_H

#include "consume/slot/owned_slot.h"

/* Settle what is answered, and claim what may be claimed; false: there is nothing to do. */
bool consume_begin(struct owned_slot *slot);

/* Send again what failed. */
void consume_repeat(struct owned_slot *slot);

/* The slot ends, or is taken over anew: forget the call. */
void consume_forget(struct owned_slot *slot);

#endif
