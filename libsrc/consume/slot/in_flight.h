/* in_flight.h - the deliveries of a slot, from their claim until their answer is stored.
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_IN_FLIGHT_H
#define CONSUME_SLOT_IN_FLIGHT_H

#include "consume/slot/owned_slot.h"

void in_flight_add(struct owned_slot *slot, smq_delivery *delivery);

/* Its handler, or the application, has answered it: the reference of the one who answered becomes
 * the slot's.  It is in flight until the answer is stored. */
void in_flight_take_answer(struct owned_slot *slot, smq_delivery *delivery, int64_t now_us);

/* Remove deliveries that are answered, and end the slot's references to them. */
void in_flight_remove_answered(struct owned_slot *slot, smq_delivery **deliveries, size_t count);

/* Its handler takes too long: it is answered in its place. */
void in_flight_overdue(struct owned_slot *slot, smq_delivery *delivery);

/* Its lease is lost; the handler is told. */
void in_flight_lose(struct owned_slot *slot, smq_delivery *delivery);

/* Everything is lost. */
void in_flight_drop(struct owned_slot *slot, smq_status standing);

/* Forget what is unanswered: it is delivered again when its lease has expired. */
void in_flight_abandon_unanswered(struct owned_slot *slot);

/* Requeue what no handler has begun. */
void in_flight_give_back_unbegun(struct owned_slot *slot);

/* The same, and tell the handlers of the others that the slot is about to be given up. */
void in_flight_release(struct owned_slot *slot);

/* Answer what no handler will see: it is requeued as if it had never been claimed. */
void in_flight_give_back(struct owned_slot *slot, smq_delivery *delivery);

void in_flight_event(const struct owned_slot *slot, smq_event_kind kind, smq_status status,
                     const smq_delivery *delivery, const char *what);

#endif
