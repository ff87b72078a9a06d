/* takeover.h - taking a slot over in Redis, and leaving it.
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_TAKEOVER_H
#define CONSUME_SLOT_TAKEOVER_H

#include "consume/slot/owned_slot.h"

/* Take an ACQUIRING slot over, or queue it when its server has enough takeovers on their way. */
void takeover_begin(struct owned_slot *slot);

/* Begin the queued takeovers for which there is room now. */
void takeover_begin_waiting(struct slot_set *set);

/* Take the owner's name in Redis back: it is there for people only. */
void takeover_undo(struct owned_slot *slot);

#endif
