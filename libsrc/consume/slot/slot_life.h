/* slot_life.h - what a slot does next: when coordination grants or revokes it, when its consumer
 * stops, and when a call has ended.
 *
 * Thread: smq:io.  Each of these functions marks the slot, so the turn looks at it afterwards. */
#ifndef CONSUME_SLOT_SLOT_LIFE_H
#define CONSUME_SLOT_SLOT_LIFE_H

#include "consume/slot/owned_slot.h"

/* Coordination granted a slot to this process, or the token is zero and the topic is shared. */
void slot_life_grant(struct slot_set *set, int32_t number, struct token token);

/* Coordination revoked the slot: give it up, and report it released. */
void slot_life_revoke(struct owned_slot *slot);

/* Coordination has dropped the slot, and expects no report. */
void slot_life_lost(struct owned_slot *slot);

/* The consumer stops: begin to give up the slot although coordination has not revoked it. */
void slot_life_stop(struct owned_slot *slot);

/* The slot does not belong to this process any more: end its deliveries in flight with
 * `validity`. */
void slot_life_drop(struct owned_slot *slot, smq_status validity, const char *why);

/* The application will not answer its open deliveries: stop waiting for them. */
void slot_life_abandon_unanswered(struct owned_slot *slot);

/* The time for settling has passed: give up the slot with answers that are not stored. */
void slot_life_abandon(struct owned_slot *slot);

/* Coordination has released this slot; it is freed once nothing refers to it. */
void slot_life_detach(struct owned_slot *slot);

/* A call of the slot has ended; the slot_ended_fn of every set. */
void slot_life_call_ended(struct owned_slot *slot, enum slot_call call, bool done,
                          const struct store_result *result);

/* Do what the slot can do now; free it if it has ended.  Only the turn calls this. */
void slot_life_decide(struct owned_slot *slot);

#endif
