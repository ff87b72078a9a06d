/* slot_life.h - what a slot does next: when coordination grants or revokes it, when its worker
 * stops, when a call has ended.
 *
 * Thread: smq:io.  After each of these functions the turn looks at the slot. */
#ifndef CONSUME_SLOT_SLOT_LIFE_H
#define CONSUME_SLOT_SLOT_LIFE_H

#include "consume/slot/owned_slot.h"

/* Coordination gave a slot to this process; or, with a zero token, a slot of a shared topic. */
void slot_life_grant(struct slot_set *set, int32_t number, struct token token);

/* Coordination wants the slot back; it is told when it has it. */
void slot_life_revoke(struct owned_slot *slot);

/* Coordination has dropped the slot itself, and awaits no answer. */
void slot_life_lost(struct owned_slot *slot);

/* The worker stops: begin to give the slot up without having been told to. */
void slot_life_stop(struct owned_slot *slot);

/* The slot is another's already, or nobody's: what is in flight ends as `standing`. */
void slot_life_drop(struct owned_slot *slot, smq_status standing, const char *why);

/* The application will not answer its open deliveries: stop waiting for them. */
void slot_life_abandon_unanswered(struct owned_slot *slot);

/* The time for settling is over. */
void slot_life_abandon(struct owned_slot *slot);

/* Coordination has released this slot; it is freed once nothing refers to it. */
void slot_life_detach(struct owned_slot *slot);

/* A call has ended: the slot_ended_fn of every set. */
void slot_life_call_ended(struct owned_slot *slot, enum slot_call call, bool done,
                          const struct store_result *result);

/* Do what can be done now; free the slot if it is over.  Called by the turn only. */
void slot_life_decide(struct owned_slot *slot);

#endif
