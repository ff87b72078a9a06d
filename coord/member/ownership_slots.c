/* ownership_slots.c - the slots of one topic at this member, and how assignments and replies of the
 * owner change them.
 *
 * Thread: smq:coord. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/memory.h"
#include "coord/member/ownership_internal.h"
#include "coord/member/slot_state.h"

/* Slots that are reported to the listener. */
struct ownership_slots {
    int32_t *slots;
    size_t count;
};

static enum slot_state ownership_state(const struct ownership *topic, int32_t slot)
{
    return (enum slot_state) topic->states[slot];
}

/* Change the state of a slot, as no other function does; returns whether it changed. */
static bool ownership_step(struct ownership *topic, int32_t slot, enum slot_input input)
{
    enum slot_state from = ownership_state(topic, slot);
    enum slot_state to = slot_state_next(from, input);

    topic->states[slot] = (uint8_t) to;
    topic->busy_slots += (to != SLOT_IDLE ? 1 : 0) - (from != SLOT_IDLE ? 1 : 0);
    return from != to;
}

static void ownership_slots_check(const struct ownership *topic)
{
    int32_t busy = 0, granted = 0;

    for (int32_t i = 0; i < topic->slots; i++) {
        busy += ownership_state(topic, i) != SLOT_IDLE ? 1 : 0;
        granted += topic->granted[i] ? 1 : 0;
        assert(!topic->refused[i] || ownership_state(topic, i) == SLOT_IDLE);
    }
    assert(topic->busy_slots == busy);
    assert(topic->granted_slots == granted ||
           (topic->phase == OWNERSHIP_LATE && topic->granted_slots == 0));
    assert(topic->reading || topic->node_state == TOPIC_NODE_UNREAD ||
           topic->node_state == TOPIC_NODE_OURS);
    assert(topic->phase != OWNERSHIP_JOINED || !topic->omitted);
}

static struct ownership_slots ownership_slots_new(const struct ownership *topic)
{
    return (struct ownership_slots){.slots = memory_new(sizeof(int32_t) * (size_t) topic->slots)};
}

static void ownership_slots_add(struct ownership_slots *list, int32_t slot)
{
    list->slots[list->count++] = slot;
}

/* Apply `input` to every slot; returns the slots whose state changed. */
static struct ownership_slots ownership_step_all(struct ownership *topic, enum slot_input input)
{
    struct ownership_slots list = ownership_slots_new(topic);

    for (int32_t i = 0; i < topic->slots; i++) {
        if (ownership_step(topic, i, input)) {
            ownership_slots_add(&list, i);
        }
    }
    return list;
}

void ownership_lose(struct ownership *topic)
{
    struct ownership_slots lost = ownership_step_all(topic, SLOT_LOSE);

    memset(topic->granted, 0, sizeof(bool) * (size_t) topic->slots);
    memset(topic->refused, 0, sizeof(bool) * (size_t) topic->slots);
    topic->granted_slots = topic->others = topic->former = 0;
    CHECK(ownership_slots_check(topic));
    coord_call_lost(topic->set->coord, topic->name, lost.slots, lost.count);
    free(lost.slots);
}

void ownership_lose_taken(struct ownership *topic)
{
    struct ownership_slots lost = ownership_slots_new(topic);

    for (int32_t i = 0; i < topic->slots; i++) {
        if (ownership_state(topic, i) == SLOT_ACQUIRING && ownership_step(topic, i, SLOT_LOSE)) {
            ownership_slots_add(&lost, i);
        }
    }
    coord_call_lost(topic->set->coord, topic->name, lost.slots, lost.count);
    free(lost.slots);
}

void ownership_revoke_all(struct ownership *topic)
{
    struct ownership_slots revoked = ownership_step_all(topic, SLOT_REVOKE);

    coord_call_revoked(topic->set->coord, topic->name, revoked.slots, revoked.count);
    free(revoked.slots);
}

/* Slots that were granted to another member without an acknowledgement of this one are lost, the
 * others are revoked. */
static void ownership_apply_losses(struct ownership *topic, const struct assignment *assignment,
                                   uint16_t me)
{
    struct ownership_slots revoked = ownership_slots_new(topic);
    struct ownership_slots lost = ownership_slots_new(topic);

    for (int32_t i = 0; i < topic->slots; i++) {
        uint16_t entry = assignment->slots[i];
        bool elsewhere = (entry & ASSIGNMENT_MEMBER) != me && entry != 0;

        if (topic->granted[i]) {
            continue;
        }
        topic->refused[i] = false;
        if (elsewhere && ownership_step(topic, i, SLOT_LOSE)) {
            ownership_slots_add(&lost, i);
        } else if (ownership_step(topic, i, SLOT_REVOKE)) {
            ownership_slots_add(&revoked, i);
        }
    }
    coord_call_lost(topic->set->coord, topic->name, lost.slots, lost.count);
    coord_call_revoked(topic->set->coord, topic->name, revoked.slots, revoked.count);
    free(revoked.slots);
    free(lost.slots);
}

struct token ownership_token(const struct ownership *topic, int64_t mzxid)
{
    const uint32_t fence = root_known(topic->set->root)->generation;

    return (struct token){.generation = fence > topic->generation ? fence : topic->generation,
                          .epoch = (uint64_t) mzxid};
}

static void ownership_apply_grants(struct ownership *topic, int64_t mzxid)
{
    struct coord_grant *grants = memory_new(sizeof(*grants) * (size_t) topic->slots);
    const struct token token = ownership_token(topic, mzxid);
    size_t count = 0;

    for (int32_t i = 0; i < topic->slots; i++) {
        if (topic->granted[i] && !topic->refused[i] && ownership_state(topic, i) == SLOT_IDLE) {
            (void) ownership_step(topic, i, SLOT_GRANT);
            topic->tokens[i] = token;
            grants[count++] = (struct coord_grant){.slot = i, .token = token};
        }
    }
    if (count > 0) {
        topic->granted_at = clock_now_ms();
    }
    coord_call_granted(topic->set->coord, topic->name, grants, count);
    free(grants);
}

/* Count the slots of other members. */
static void ownership_count_others(struct ownership *topic, const struct assignment *assignment,
                                   uint16_t me)
{
    topic->others = topic->former = 0;
    for (int32_t i = 0; i < topic->slots; i++) {
        uint16_t owner = assignment->slots[i] & ASSIGNMENT_MEMBER;
        bool elsewhere = owner != 0 && owner != me;

        topic->others += elsewhere ? 1 : 0;
        topic->former +=
            elsewhere && strcmp(assignment->members[owner - 1].id, topic->set->env->name) == 0 ? 1
                                                                                               : 0;
    }
}

void ownership_apply(struct ownership *topic, const struct assignment *assignment, int64_t mzxid)
{
    uint16_t me = assignment_find(assignment, member_incarnation(topic->set->member));
    bool acknowledge = false;

    ownership_count_others(topic, assignment, me);
    topic->granted_slots = 0;
    for (int32_t i = 0; i < topic->slots; i++) {
        topic->granted[i] = me != 0 && assignment->slots[i] == me;
        topic->granted_slots += topic->granted[i] ? 1 : 0;
        acknowledge |= me != 0 && assignment->slots[i] == (me | ASSIGNMENT_REVOKING);
    }
    ownership_apply_losses(topic, assignment, me);
    if (topic->phase == OWNERSHIP_JOINED && member_lease_valid(topic->set->member)) {
        ownership_apply_grants(topic, mzxid);
    }
    CHECK(ownership_slots_check(topic));
    acknowledge = acknowledge && topic->applied != mzxid;
    topic->applied = mzxid;
    if (acknowledge) {
        member_write_soon(topic->set->member);
    }
}

void ownership_slot_answer(struct ownership *topic, const struct coord_command *command)
{
    int32_t slot = command->slot;
    bool stopping = false;

    if (slot < 0 || slot >= topic->slots || ownership_state(topic, slot) == SLOT_IDLE ||
        token_compare(command->token, topic->tokens[slot]) != 0) {
        return;
    }
    if (command->answer == COORD_ACQUIRED) {
        (void) ownership_step(topic, slot, SLOT_ACQUIRED);
        return;
    }
    stopping = ownership_state(topic, slot) == SLOT_STOPPING;
    (void) ownership_step(topic, slot,
                          command->answer == COORD_REFUSED ? SLOT_REFUSED : SLOT_RELEASED);
    if (stopping) {
        member_write_soon(topic->set->member);
    }
    topic->refused[slot] = topic->granted[slot]; /* unchecked: that looks at all slots */
}
