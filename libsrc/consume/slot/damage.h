/* damage.h - slots that refuse the stored definition of their topic, because Redis has lost their
 * keys or the last alteration in topic{T}.
 *
 * While an alteration or a deletion is in progress a slot refuses the definition, too.  So a slot
 * counts as damaged only if it refuses one and the same definition twice, and that was also what
 * two reads between the refusals found: the first of them may have begun before the first refusal.
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_DAMAGE_H
#define CONSUME_SLOT_DAMAGE_H

#include "consume/slot/owned_slot.h"

/* A call is sent to the slot, and carries the definition that is known now. */
void damage_on_asked(struct owned_slot *slot);

/* A script refused the definition: it is read again, and the slot may be damaged. */
void damage_on_refused(struct owned_slot *slot, const struct store_result *result);

/* A script accepted the definition. */
void damage_on_accepted(struct owned_slot *slot);

#endif
