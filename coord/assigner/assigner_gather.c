/* assigner_gather.c - restores a damaged assignment, or one of an earlier reign of the store, from
 * what the members own.
 *
 * A member that reads a damaged assignment states in its node which slots it owns, and the version
 * that it read.  Statements about an earlier version are ignored.
 *
 * Thread: smq:coord; no calls are made here. */
#include <stdlib.h>
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

/* --- another reign of the store --- */

/* The number of the member in the topic's assignment, to which it is added. */
static uint16_t assigner_adopt_number(struct assignment *old, const struct assigner_member *member,
                                      int32_t weight)
{
    uint16_t number = assignment_find(old, member->incarnation);

    if (number == 0 && old->member_count < ASSIGNMENT_MEMBERS_MAX) {
        old->members = memory_grow(old->members, old->member_count + 1, sizeof(*old->members));
        old->members[old->member_count++] = (struct assignment_member){
            .incarnation = member->incarnation, .weight = weight, .id = memory_string(member->id)};
        number = (uint16_t) old->member_count;
    }
    return number;
}

/* A member states that it owns slots, or that it still holds them: they are its own.  Of two that
 * say so it is the one that came last, because the other one was passed over. */
static void assigner_adopt_slots(struct assigner_topic *topic, const struct member_topic *line,
                                 const struct assigner_member *member)
{
    uint16_t number = 0;

    for (int32_t i = 0; i < topic->slots; i++) {
        const bool held = member_slots_has(&line->held, i);

        if (!held && !member_slots_has(&line->owned, i)) {
            continue;
        }
        number = number != 0 ? number : assigner_adopt_number(&topic->old, member, line->weight);
        if (number != 0) {
            topic->old.slots[i] = number | (held ? ASSIGNMENT_REVOKING : 0);
        }
    }
}

/* Acknowledgements of the past count for nothing, so the assignment counts as written now. */
static void assigner_adopt_topic(const struct assigner *assigner, struct assigner_topic *topic)
{
    topic->mzxid = assigner->reign;
    memset(topic->revocations, 0, (size_t) topic->slots * sizeof(*topic->revocations));
    if (topic->damaged && topic->old.slots == NULL) {
        return; /* it is gathered */
    }
    if (topic->old.slots == NULL) {
        topic->old.slots = memory_new((size_t) topic->slots * sizeof(*topic->old.slots));
        topic->old.slot_count = topic->slots;
    }
    for (size_t i = 0; i < assigner->member_count; i++) { /* by incarnation */
        const struct assigner_member *member = &assigner->members[i];
        const struct member_topic *line =
            member_info_topic(&member->info, topic->name, topic->nonce);

        if (line != NULL && line->stated == assigner->reign) {
            assigner_adopt_slots(topic, line, member);
        }
    }
    topic->read = topic->write = true;
}

void assigner_adopt(struct assigner *assigner)
{
    struct assigner_topic *topic = NULL;

    LIST_FOREACH(topic, &assigner->topics, link)
    {
        topic->past = assigner->ports.session->unsettled && !topic->fresh;
        if (topic->past) {
            topic->read = topic->write = topic->damaged = false;
        } else if (topic->listed && !topic->bare && topic->slots > 0 && !topic->denied &&
                   topic->mzxid < assigner->reign) {
            assigner_adopt_topic(assigner, topic);
        }
    }
}

/* --- damaged assignments --- */

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
