/* takeover.h - taking a slot over in Redis, and leaving it.
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_TAKEOVER_H
#define CONSUME_SLOT_TAKEOVER_H

#include "consume/slot/owned_slot.h"

/* Take an ACQUIRING slot over, or queue it if its server has TAKEOVERS_MAX takeovers in progress.
 * With takeover_replicas of the topic it ends when this number of replicas has the token or, which
 * is reported once for each server, after request_timeout_ms. */
void takeover_begin(struct owned_slot *slot);

/* Begin the queued takeovers for which there is room now. */
void takeover_begin_waiting(struct slot_set *set);

/* Remove the owner's name from Redis; it is there only for people. */
void takeover_undo(struct owned_slot *slot);

#endif
