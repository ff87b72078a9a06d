/* renewal.h - the leases of what a slot has in flight: a lease is renewed before a third of it is
 * over, for longer when the application asks for that, and at once when handlers wait to know
 * whether the slot is still ours (core/confirmation.h).
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_RENEWAL_H
#define CONSUME_SLOT_RENEWAL_H

#include "consume/run/extension.h"
#include "consume/slot/owned_slot.h"

/* Look at all leases at once, and then as often as the definition demands. */
void renewal_soon(struct slot_set *set);

/* The lease of the definition has changed from `lease_ms`: what is in flight was leased for that.
 */
void renewal_adjust(struct slot_set *set, int64_t lease_ms);

/* Nothing of the slot may begin before it is confirmed: ask Redis, or requeue what no handler has
 * begun when the slot or the membership ends anyway. */
void renewal_confirm(struct owned_slot *slot);

/* A call that was sent at `asked_ms` was accepted under the slot's token. */
void renewal_confirmed(struct owned_slot *slot, int64_t asked_ms);

/* Renew one delivery, that is in flight and unanswered, for longer; the extension is ended. */
void renewal_extend(struct owned_slot *slot, struct extension *extension);

#endif
