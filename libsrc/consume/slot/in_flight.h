/* in_flight.h - the deliveries of a slot, from their claim until their answer is stored.
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_IN_FLIGHT_H
#define CONSUME_SLOT_IN_FLIGHT_H

#include "consume/slot/owned_slot.h"

/* How messages were claimed. */
struct in_flight_terms {
    char token[TOKEN_TEXT_LEN + 1]; /* of the owner; shared: "" */
    int64_t asked_ms;               /* when the claim was requested, by clock_now_ms() */
    int64_t lease_ms;               /* from then on */
    int64_t now_us;                 /* when it was learnt, by clock_now_us() */
};

/* The terms of what was claimed for this owner and is learnt now. */
void in_flight_terms(struct in_flight_terms *out, const struct owned_slot *slot, int64_t asked_ms,
                     int64_t lease_ms);

/* A claimed message cannot be read.  It stays claimed until the next takeover. */
void in_flight_report_unreadable(struct owned_slot *slot);

/* Make a delivery of a claimed message, and count it as in flight; NULL: its entry cannot be read,
 * which was reported. */
smq_delivery *in_flight_add(struct owned_slot *slot, const struct store_claimed *message,
                            const struct in_flight_terms *terms);

/* The number of the oldest claim of which a message is in flight: they are in the order of their
 * claims.  None: the number behind all that are known. */
uint64_t in_flight_oldest_claim(const struct owned_slot *slot);

/* The oldest delivery without an answer; NULL: there is none. */
const smq_delivery *in_flight_oldest_unanswered(const struct owned_slot *slot);

/* The delivery was answered: the answerer's reference becomes the slot's.  It stays in flight until
 * the answer is stored. */
void in_flight_add_answer(struct owned_slot *slot, smq_delivery *delivery, int64_t now_us);

/* Remove answered deliveries, and drop the slot's references to them. */
void in_flight_remove_answered(struct owned_slot *slot, smq_delivery **deliveries, size_t count);

/* The handler time-out has expired: the slot answers instead of the handler. */
void in_flight_overdue(struct owned_slot *slot, smq_delivery *delivery);

/* The lease of the delivery is lost; its handler sees that in smq_delivery_check(). */
void in_flight_lose(struct owned_slot *slot, smq_delivery *delivery);

/* Drop all deliveries, with this validity. */
void in_flight_drop(struct owned_slot *slot, smq_status validity);

/* Drop unanswered deliveries: their messages stay claimed until the next takeover. */
void in_flight_abandon_unanswered(struct owned_slot *slot);

/* Requeue deliveries that no handler has begun. */
void in_flight_requeue_unbegun(struct owned_slot *slot);

/* As in_flight_requeue_unbegun(), and let the handlers of the others see that the slot will be
 * given up. */
void in_flight_release(struct owned_slot *slot);

/* Requeue a message that no handler will see, as if it had never been claimed. */
void in_flight_requeue(struct owned_slot *slot, smq_delivery *delivery);

/* Report an event about a message, `what` happened to it, and the reason of a failed attempt; NULL:
 * none. */
void in_flight_event(const struct owned_slot *slot, smq_event_kind kind, smq_status status,
                     const smq_delivery *delivery, const char *what, const char *reason);

#endif
