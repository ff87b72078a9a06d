/* claiming.h - how many messages the next call of a slot claims, and whether it waits.
 *
 * A call that claims few messages costs Redis nearly as much as one that claims a batch.  A call is
 * therefore delayed until calls of other slots can leave with it (model/pace.h).  If the slot has a
 * backlog, its call is delayed until it can settle one batch and claim another.  No claim is made
 * for the last few places of max_in_flight.
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_CLAIMING_H
#define CONSUME_SLOT_CLAIMING_H

#include "consume/slot/owned_slot.h"

/* How many messages the next call claims.  If the slot could claim, but there is no room for it,
 * the slot gets into the set's list of those that wait for room. */
int32_t claiming_count(struct owned_slot *slot);

/* Must the call wait, for more answers of the slot or for the calls of others?  The slot looks
 * again when it need not. */
bool claiming_must_wait(struct owned_slot *slot);

/* A claim that passes over keys begins, or has ended: it was as large as it might be, or there are
 * more messages that it has not looked at. */
void claiming_passes(struct owned_slot *slot);
void claiming_passed(struct owned_slot *slot, bool full, bool more);

/* Does the slot have as many messages as it should claim ahead? */
bool claiming_is_full(const struct owned_slot *slot);

/* Could more be handled at once than what is in flight? */
bool claiming_is_wanting(const struct owned_slot *slot);

#endif
