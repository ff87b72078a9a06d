/* damage.c - see damage.h.
 *
 * Thread: smq:io. */
#include "consume/slot/damage.h"

#include <inttypes.h>

enum { READS_SURE = 2 };

static void damage_report(const struct owned_slot *slot, enum store_outcome outcome)
{
    const char *topic = slot->set->name;
    char key[SLOT_KEY_MAX];

    if (outcome == STORE_NO_TOPIC) {
        owned_slot_event(slot, SMQ_EVENT_DAMAGED, SMQ_DAMAGED,
                         "Redis has lost the keys of slot %" PRId32
                         " of topic %s; the other slots are "
                         "consumed; run slotmq topic repair %s",
                         slot->number, topic, topic);
    } else {
        slot_topic_key(key, topic);
        owned_slot_event(slot, SMQ_EVENT_DAMAGED, SMQ_DAMAGED,
                         "slot %" PRId32 " of topic %s has another definition than %s; the other "
                         "slots are consumed; run slotmq topic repair %s",
                         slot->number, topic, key, topic);
    }
}

/* An alteration raises the version of a topic, and a deletion, also one that is undone, the number
 * of deletions. */
static bool damage_is_same(struct owned_definition a, struct owned_definition b)
{
    return a.version == b.version && a.deletes == b.deletes;
}

static struct owned_definition damage_known(const struct owned_slot *slot)
{
    const struct topic *topic = &slot->set->topic;

    return (struct owned_definition){.version = topic->version, .deletes = topic->deletes};
}

void damage_on_asked(struct owned_slot *slot)
{
    slot->asked = damage_known(slot);
}

void damage_on_refused(struct owned_slot *slot, const struct store_result *result)
{
    uint32_t reads = slot->set->reads_confirmed;
    bool again = slot->health != OWNED_WHOLE && damage_is_same(slot->refused, slot->asked);

    if (slot->health != OWNED_DAMAGED && !again) {
        slot->health = OWNED_REFUSING;
        slot->refused = slot->asked;
        slot->refused_at = reads;
    } else if (slot->health == OWNED_REFUSING && reads - slot->refused_at >= READS_SURE &&
               damage_is_same(slot->refused, damage_known(slot))) {
        slot->health = OWNED_DAMAGED;
        damage_report(slot, result->outcome);
    }
    slot->set->host.outdated(slot->set->host.user);
}

void damage_on_accepted(struct owned_slot *slot)
{
    if (slot->health == OWNED_DAMAGED) {
        owned_slot_event(slot, SMQ_EVENT_REPAIRED, SMQ_OK,
                         "slot %" PRId32 " of topic %s is repaired", slot->number, slot->set->name);
    }
    if (slot->health != OWNED_WHOLE) {
        slot->set->host.accepted(slot->set->host.user);
    }
    slot->health = OWNED_WHOLE;
}
