/* assigner_gather.c - restores a damaged assignment from what the members own.
 *
 * A member that reads a damaged assignment states in its node which slots it owns, and the version
 * that it read.  Statements about an earlier version are ignored.
 *
 * Thread: smq:coord; no calls are made here. */
#include <string.h>

#include "base/memory.h"
#include "coord/assigner/assigner.h"

/* Have all members that consume the topic, or may do so, stated what they own? */
static bool assigner_gather_complete(const struct assigner *assigner,
                                     const struct assigner_topic *topic)
{
    for (size_t i = 0; i < assigner->member_count; i++) {
        const struct member_topic *line =
            member_info_topic(&assigner->members[i].info, topic->name, topic->nonce);

        if (assigner->members[i].unread || (line != NULL && line->stated != topic->mzxid)) {
            return false;
        }
    }
    return true;
}

/* Add the slots of one member, number `me`. */
static void assigner_gather_member(struct assignment *out, const struct member_topic *line,
                                   uint16_t me)
{
    for (int32_t i = 0; i < out->slot_count; i++) {
        bool held = member_slots_has(&line->held, i);

        if (out->slots[i] == 0 && (held || member_slots_has(&line->owned, i))) {
            out->slots[i] = me | (held ? ASSIGNMENT_REVOKING : 0);
        }
    }
}

static void assigner_gather_topic(const struct assigner *assigner, struct assigner_topic *topic)
{
    struct assignment *out = &topic->old;

    out->slot_count = topic->slots;
    out->slots = memory_new((size_t) topic->slots * sizeof(*out->slots));
    out->members = memory_new((assigner->member_count + 1) * sizeof(*out->members));
    for (size_t i = 0; i < assigner->member_count; i++) {
        const struct assigner_member *member = &assigner->members[i];
        const struct member_topic *line =
            member_info_topic(&member->info, topic->name, topic->nonce);

        if (line == NULL) {
            continue;
        }
        out->members[out->member_count++] =
            (struct assignment_member){.incarnation = member->incarnation,
                                       .weight = line->weight,
                                       .id = memory_string(member->id)};
        assigner_gather_member(out, line, (uint16_t) out->member_count);
    }
}

void assigner_gather(struct assigner *assigner)
{
    struct assigner_topic *topic = NULL;

    LIST_FOREACH(topic, &assigner->topics, link)
    {
        if (topic->damaged && topic->old.slots == NULL && topic->slots > 0 &&
            assigner_gather_complete(assigner, topic)) {
            assigner_gather_topic(assigner, topic);
            topic->read = topic->write = true;
        }
    }
}
