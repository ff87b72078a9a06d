/* damage.h - slots that refuse the definition of their topic although that is the stored one: Redis
 * has lost their keys, or the last alteration in topic{T}.
 *
 * An alteration or a deletion on its way looks the same for a moment.  So a slot is damaged when
 * the definition was read twice since the slot refused it first, and the slot refuses it still.
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_DAMAGE_H
#define CONSUME_SLOT_DAMAGE_H

#include "consume/slot/owned_slot.h"

/* A script refused the definition: it is read again, and the slot may be damaged. */
void damage_on_refused(struct owned_slot *slot, const struct store_result *result);

/* A script took it. */
void damage_on_accepted(struct owned_slot *slot);

#endif
