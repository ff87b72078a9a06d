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

/* --- what members state --- */

/* Which member has stated a slot. */
struct assigner_claim {
    struct token token;
    bool is_stated;
};

/* The number of the member in the topic's assignment, to which it is added; 0: it has no room. */
static uint16_t assigner_claim_number(struct assignment *old, const struct assigner_member *member,
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
 * say so it is the one with the larger token, because the slot's master refuses the other one. */
static void assigner_claim_slots(struct assigner_topic *topic, const struct member_topic *line,
                                 const struct assigner_member *member,
                                 struct assigner_claim *claims)
{
    uint16_t number = 0;

    for (int32_t i = 0; i < topic->slots; i++) {
        const struct member_piece *held = member_slots_find(&line->held, i);
        const struct member_piece *piece = held != NULL ? held : member_slots_find(&line->owned, i);

        if (piece == NULL ||
            (claims[i].is_stated && token_compare(piece->token, claims[i].token) <= 0)) {
            continue;
        }
        number = number != 0 ? number : assigner_claim_number(&topic->old, member, line->weight);
        if (number != 0) {
            topic->old.slots[i] = number | (held != NULL ? ASSIGNMENT_REVOKING : 0);
            claims[i] = (struct assigner_claim){.token = piece->token, .is_stated = true};
        }
    }
}

/* Let what members have stated about the version `stated` count.  What nobody has stated stays as
 * it is. */
static void assigner_claim_all(const struct assigner *assigner, struct assigner_topic *topic,
                               int64_t stated)
{
    struct assigner_claim *claims = memory_new((size_t) topic->slots * sizeof(*claims));

    if (topic->old.slots == NULL) {
        topic->old.slots = memory_new((size_t) topic->slots * sizeof(*topic->old.slots));
        topic->old.slot_count = topic->slots;
    }
    for (size_t i = 0; i < assigner->member_count; i++) { /* by incarnation */
        const struct assigner_member *member = &assigner->members[i];
        const struct member_topic *line =
            member_info_topic(&member->info, topic->name, topic->nonce);

        if (line != NULL && line->stated == stated) {
            assigner_claim_slots(topic, line, member, claims);
        }
    }
    free(claims);
    topic->read = topic->write = true;
}

static void assigner_gather_topic(const struct assigner *assigner, struct assigner_topic *topic)
{
    for (size_t i = 0; i < assigner->member_count; i++) {
        const struct assigner_member *member = &assigner->members[i];
        const struct member_topic *line =
            member_info_topic(&member->info, topic->name, topic->nonce);

        if (line != NULL) {
            (void) assigner_claim_number(&topic->old, member, line->weight);
        }
    }
    assigner_claim_all(assigner, topic, topic->mzxid);
}

/* --- another reign of the store --- */

/* Acknowledgements of the past count for nothing, so the assignment counts as written now. */
static void assigner_adopt_topic(const struct assigner *assigner, struct assigner_topic *topic)
{
    topic->mzxid = assigner->reign;
    memset(topic->revocations, 0, (size_t) topic->slots * sizeof(*topic->revocations));
    if (topic->damaged && topic->old.slots == NULL) {
        return; /* it is gathered */
    }
    assigner_claim_all(assigner, topic, assigner->reign);
}

/* The topic's nodes were made in this reign, but members have stated what they own: they had it
 * before the store lost the topic. */
static bool assigner_is_claimed(const struct assigner *assigner, const struct assigner_topic *topic)
{
    bool claimed = false;

    for (size_t i = 0; assigner->reign != 0 && topic->old.slots == NULL && !topic->damaged &&
                       i < assigner->member_count;
         i++) {
        const struct member_topic *line =
            member_info_topic(&assigner->members[i].info, topic->name, topic->nonce);

        claimed |= line != NULL && line->stated == assigner->reign &&
                   line->owned.count + line->held.count > 0;
    }
    return claimed;
}

void assigner_adopt(struct assigner *assigner)
{
    struct assigner_topic *topic = NULL;

    LIST_FOREACH(topic, &assigner->topics, link)
    {
        topic->past = assigner->unsettled && !topic->fresh;
        if (topic->past) {
            topic->read = topic->write = topic->damaged = false;
        } else if (topic->listed && !topic->bare && topic->slots > 0 && !topic->denied &&
                   (topic->mzxid < assigner->reign || assigner_is_claimed(assigner, topic))) {
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
        }
    }
}
