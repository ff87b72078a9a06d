/* damage.c - slots that refuse the definition of their topic although that is the stored
 * one: Redis has lost their keys, or the last alteration in topic{T}.
 *
 * An alteration or a deletion on its way looks the same for a moment.  So a slot is damaged when
 * the definition was read twice since it refused first, and it refuses still.
 *
 * Thread: smq:io. */
#include <inttypes.h>

#include "consume/slot/owned_slot.h"
#include "consume/worker/worker.h"

enum { READS_SURE = 2 };

static void tell_damaged(const struct owned_slot *slot, enum store_outcome outcome)
{
    const char *topic = slot->worker->name;

    if (outcome == STORE_NO_TOPIC) {
        owned_slot_event(slot, SMQ_EVENT_DAMAGED, SMQ_DAMAGED,
                         "Redis has lost the keys of slot %" PRId32
                         " of topic %s; the other slots are "
                         "consumed; run slotmq topic repair %s",
                         slot->number, topic, topic);
    } else {
        owned_slot_event(slot, SMQ_EVENT_DAMAGED, SMQ_DAMAGED,
                         "slot %" PRId32
                         " of topic %s has another definition than topic{%s}; the other "
                         "slots are consumed; run slotmq topic repair %s",
                         slot->number, topic, topic, topic);
    }
}

void damage_on_refused(struct owned_slot *slot, const struct store_result *result)
{
    uint32_t reads = slot->worker->reads_confirmed;

    if (!slot->refused) {
        slot->refused = true;
        slot->refused_at = reads;
    } else if (!slot->damaged && reads - slot->refused_at >= READS_SURE) {
        slot->damaged = true;
        tell_damaged(slot, result->outcome);
    }
    worker_refresh(slot->worker);
}

void damage_on_accepted(struct owned_slot *slot)
{
    if (slot->damaged) {
        owned_slot_event(slot, SMQ_EVENT_REPAIRED, SMQ_OK,
                         "slot %" PRId32 " of topic %s is repaired", slot->number,
                         slot->worker->name);
    }
    slot->refused = slot->damaged = false;
}
