/* renewal.h - the leases of the deliveries that a slot has in flight.  A lease is renewed before a
 * third of it has passed.  It is extended when the application asks for that, and renewed at once
 * when handlers must know whether this process still owns the slot (core/confirmation.h).
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_RENEWAL_H
#define CONSUME_SLOT_RENEWAL_H

#include "consume/run/extension.h"
#include "consume/slot/owned_slot.h"

/* Check all leases now, and then as often as the definition demands. */
void renewal_soon(struct slot_set *set);

/* The consumer has ended: check no more. */
void renewal_stop(struct slot_set *set);

/* The lease_ms of the definition has changed.  Deliveries in flight were leased for `lease_ms`, so
 * their lease times are shifted accordingly. */
void renewal_adjust(struct slot_set *set, int64_t lease_ms);

/* No delivery of the slot may begin before it is confirmed: ask Redis.  If the slot or the
 * membership ends anyway, requeue deliveries that no handler has begun. */
void renewal_confirm(struct owned_slot *slot);

/* Redis accepted the slot's token in a call that was sent at `asked_ms`. */
void renewal_confirmed(struct owned_slot *slot, int64_t asked_ms);

/* Extend the lease of one delivery that is in flight and unanswered, then end the extension. */
void renewal_extend(struct owned_slot *slot, struct extension *extension);

#endif
