/* assigner_decide.c - computes the next assignments from the members and topics that were read.
 *
 * Thread: smq:coord; no calls are made here. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "coord/assigner/assign.h"
#include "coord/assigner/assigner.h"

enum { RANGES_SHOWN = 200 }; /* of the text of an event, in bytes */

/* Joins that keep coming wait this many times `join` at most: 3 s (docs/decisions/0007). */
enum { JOINS_WAIT_MOST = 20 };

/* Working state for deciding one topic's assignment.  Members are numbered 1 + their index in
 * assigner->members. */
struct assigner_decision {
    struct assigner_topic *topic;
    int32_t *weights;
    int32_t *quotas;
    uint16_t *slots;
    uint16_t *previous; /* per slot: its previous owner, or 0 */
    /* those of `slots` and `previous` that are assigned in this round */
    uint16_t *free_slots, *free_previous;
    bool cold;  /* no member owned anything before: only slots that members had are granted */
    bool still; /* no member reaches Redis: nothing moves */
};

/* A member of the old assignment. */
struct assigner_former {
    uint16_t number; /* its own number, or that of a member that returned under its name; 0: none */
    const struct member_topic *line; /* NULL: it does not ask for the topic any more */
    uint32_t hash;                   /* assigner_owner_hash() */
    bool gone;                       /* its node does not exist any more */
    bool away;                       /* no Redis node answers it */
    /* slots that it did not release in time, and that are not reported yet */
    struct member_slots late;
};

static const struct member_topic *assigner_decide_line(const struct assigner *assigner,
                                                       size_t member,
                                                       const struct assigner_topic *topic)
{
    return member_info_topic(&assigner->members[member].info, topic->name, topic->nonce);
}

void assigner_wake_at(struct assigner *assigner, int64_t at_ms)
{
    if (assigner->wake_at == 0 || at_ms < assigner->wake_at) {
        assigner->wake_at = at_ms;
    }
}

static uint16_t assigner_decide_number(const struct assigner *assigner, int64_t incarnation)
{
    for (size_t i = 0; i < assigner->member_count; i++) {
        if (assigner->members[i].incarnation == incarnation) {
            return (uint16_t) (i + 1);
        }
    }
    return 0;
}

/* May a revoked slot be granted to another member?  It may if its owner has acknowledged, or its
 * time has passed. */
static bool assigner_decide_revoked(struct assigner *assigner, struct assigner_topic *topic,
                                    int32_t slot, struct assigner_former *former, int64_t now_ms)
{
    struct assigner_revocation *revocation = &topic->revocations[slot];
    const struct member_topic *line = former->line;
    const int64_t clock_ms = now_ms - assigner->away_ms;
    int64_t until = 0;

    if (revocation->mzxid == 0) {
        *revocation = (struct assigner_revocation){.mzxid = topic->mzxid, .at_ms = clock_ms};
    }
    if (line->applied >= revocation->mzxid && !member_slots_has(&line->held, slot)) {
        return true;
    }
    until = revocation->at_ms + line->drain_timeout_ms + assigner->env->timings.revoke_extra;
    if (clock_ms < until) {
        assigner_wake_at(assigner, now_ms + until - clock_ms);
        return false;
    }
    if (!revocation->late) {
        revocation->late = true;
        member_slots_add(&former->late, slot);
    }
    return true;
}

/* Report the slots that a member did not release in time. */
static void assigner_decide_report_late(const struct assigner *assigner,
                                        const struct assigner_topic *topic,
                                        const struct assigner_former *former)
{
    const struct member_slots *late = &former->late;
    const struct assigner_member *member = NULL;
    smq_event event = {.status = SMQ_TIMED_OUT, .topic = topic->name};
    struct buf ranges = {0};
    size_t count = 0;

    if (late->count == 0) {
        return;
    }
    for (size_t i = 0; i < late->count; i++) {
        count += (size_t) (late->pieces[i].last - late->pieces[i].first) + 1;
    }
    member = &assigner->members[former->number - 1];
    event.slot = late->pieces[0].first;
    member_slots_format(&ranges, late);
    events_emit(assigner->env->events, SMQ_EVENT_NOT_RELEASED, &event,
                "topic %s: member %s at host %s did not release %zu slots (%.*s%s) within its "
                "drain_timeout of %" PRId64 " ms and %" PRId64 " ms more; they are granted to "
                "other members, and its late calls are fenced: see what its handlers wait for, "
                "restart it if it hangs, or give it a longer drain_timeout",
                topic->name, member->id, member->info.host, count, RANGES_SHOWN, ranges.data,
                ranges.len > RANGES_SHOWN ? "..." : "", former->line->drain_timeout_ms,
                assigner->env->timings.revoke_extra);
    assigner->ports.not_released(assigner->ports.user, count);
    buf_fini(&ranges);
}

/* Does the entry belong to a living member whose node cannot be read? */
static bool assigner_decide_kept(const struct assigner *assigner, uint16_t entry)
{
    uint16_t number = entry & ASSIGNMENT_MEMBER;

    return number != 0 && assigner->members[number - 1].unread;
}

/* The member that returned under the name of one that is gone: 1 + its index, or 0. */
static uint16_t assigner_decide_successor(const struct assigner *assigner,
                                          const struct assigner_topic *topic, const char *id)
{
    for (size_t i = 0; i < assigner->member_count; i++) {
        const struct member_topic *line = assigner_decide_line(assigner, i, topic);

        if (line != NULL && !line->leaving && strcmp(assigner->members[i].id, id) == 0) {
            return (uint16_t) (i + 1);
        }
    }
    return 0;
}

static struct assigner_former assigner_decide_former(const struct assigner *assigner,
                                                     const struct assigner_topic *topic,
                                                     const struct assignment_member *member)
{
    struct assigner_former former = {.number =
                                         assigner_decide_number(assigner, member->incarnation),
                                     .hash = assigner_owner_hash(member->id)};

    former.gone = former.number == 0;
    former.away = assigner_reachability_is_away(topic, member->incarnation);
    if (former.gone) {
        former.number = assigner_decide_successor(assigner, topic, member->id);
    }
    if (former.number != 0) {
        former.line = assigner_decide_line(assigner, former.number - 1u, topic);
    }
    return former;
}

/* The entry that replaces an old one, with the member numbers of this round; 0: the slot is
 * free. */
static uint16_t assigner_decide_entry(struct assigner *assigner, struct assigner_topic *topic,
                                      int32_t slot, struct assigner_former *former, int64_t now_ms)
{
    uint16_t entry = topic->old.slots[slot];
    bool revoking = (entry & ASSIGNMENT_REVOKING) != 0;

    if (assigner_decide_kept(assigner,
                             former->number)) { /* it cannot be asked to release anything */
        return former->number;
    }
    if (former->line == NULL || former->line->leaving || former->gone || former->away) {
        topic->previous[slot] = former->hash;
    }
    if (former->line == NULL || (revoking && former->gone)) {
        return 0;
    }
    if (revoking && assigner_decide_revoked(assigner, topic, slot, former, now_ms)) {
        return 0;
    }
    return former->number | (entry & ASSIGNMENT_REVOKING);
}

/* Copy the old entries with the member numbers of this round, without slots that are free now. */
static void assigner_decide_carry(struct assigner *assigner, struct assigner_decision *decision,
                                  int64_t now_ms)
{
    struct assigner_topic *topic = decision->topic;
    size_t count = topic->old.member_count;
    struct assigner_former *formers = memory_new((count + 1) * sizeof(*formers));

    for (size_t i = 0; i < count; i++) {
        formers[i] = assigner_decide_former(assigner, topic, &topic->old.members[i]);
    }
    for (int32_t i = 0; i < topic->slots && topic->old.slots != NULL; i++) {
        size_t member = topic->old.slots[i] & ASSIGNMENT_MEMBER;

        if (member != 0) {
            decision->slots[i] =
                assigner_decide_entry(assigner, topic, i, &formers[member - 1], now_ms);
        }
        if ((topic->old.slots[i] & ASSIGNMENT_REVOKING) == 0) {
            topic->revocations[i] = (struct assigner_revocation){0};
        }
    }
    for (size_t i = 0; i < count; i++) {
        assigner_decide_report_late(assigner, topic, &formers[i]);
        member_slots_fini(&formers[i].late);
    }
    free(formers);
}

/* Is the member, or one that had its name, in the assignment? */
static bool assigner_decide_known(const struct assigner_topic *topic,
                                  const struct assigner_member *member, bool by_name)
{
    for (size_t i = 0; i < topic->old.member_count; i++) {
        if (topic->old.members[i].incarnation == member->incarnation ||
            (by_name && strcmp(topic->old.members[i].id, member->id) == 0)) {
            return true;
        }
    }
    return false;
}

/* How long a fleet in which no member owns anything waits for more members.  After ZooKeeper lost
 * its data members are to own slots again two session time-outs after they lost their connection:
 * they need one and a half until they know (zk_probe.c), three tenths are this wait, and the rest
 * is for joining. */
static int64_t assigner_decide_cold_wait(const struct assigner *assigner)
{
    int64_t part = session_timeout(assigner->ports.session) * 3 / 10;

    return part < assigner->env->timings.cold ? part : assigner->env->timings.cold;
}

/* Note which members have come to the fleet since the last round. */
static void assigner_decide_arrivals(struct assigner *assigner, int64_t now_ms)
{
    struct assigner_arrivals *arrivals = &assigner->arrivals;
    int64_t newest = arrivals->newest;
    size_t count = arrivals->newest == 0 ? 1 : 0;

    for (size_t i = 0; i < assigner->member_count; i++) {
        int64_t incarnation = assigner->members[i].incarnation;

        count += incarnation > arrivals->newest ? 1 : 0;
        newest = incarnation > newest ? incarnation : newest;
    }
    if (count > 0) {
        arrivals->other_ms = count > 1 ? now_ms : arrivals->last_ms;
        arrivals->last_ms = now_ms;
        arrivals->newest = newest;
    }
}

/* The number of members that ask for the topic; `last` is one of them. */
static size_t assigner_decide_askers(const struct assigner_decision *decision, size_t members,
                                     size_t *last)
{
    size_t count = 0;

    for (size_t i = 0; i < members; i++) {
        if (decision->weights[i] != 0) {
            *last = i;
            count++;
        }
    }
    return count;
}

/* Is the only member that asks for the topic the one that had it last, or has no other member come
 * to the fleet for long?  Then it waits for nobody. */
static bool assigner_decide_alone(const struct assigner *assigner,
                                  const struct assigner_topic *topic, size_t member, int64_t now_ms)
{
    const struct assigner_arrivals *arrivals = &assigner->arrivals;
    const struct assigner_member *asker = &assigner->members[member];
    int64_t other_ms =
        asker->incarnation == arrivals->newest ? arrivals->other_ms : arrivals->last_ms;

    return (topic->old.member_count == 1 && strcmp(topic->old.members[0].id, asker->id) == 0) ||
           now_ms - other_ms >= assigner_decide_cold_wait(assigner);
}

/* Set until when a topic of which no member owns anything waits for more members. */
static void assigner_decide_wait(const struct assigner *assigner,
                                 const struct assigner_decision *decision, int64_t now_ms)
{
    struct assigner_topic *topic = decision->topic;
    size_t last = 0;
    size_t count = assigner_decide_askers(decision, assigner->member_count, &last);
    int64_t quiet_at = 0;

    if (topic->cold_most == 0) {
        topic->cold_most = now_ms + assigner_decide_cold_wait(assigner);
    }
    if (count > topic->cold_count) {
        topic->cold_last = now_ms;
    }
    topic->cold_count = count;
    quiet_at = (topic->cold_last > assigner->arrivals.last_ms ? topic->cold_last
                                                              : assigner->arrivals.last_ms) +
               assigner->env->timings.quiet;
    topic->cold_until = quiet_at < topic->cold_most ? quiet_at : topic->cold_most;
    if (count == 1 && assigner_decide_alone(assigner, topic, last, now_ms)) {
        topic->cold_until = now_ms;
    }
}

/* Does a fleet in which no member owns anything still wait for more members?  Slots that members
 * had before a restart are granted at once. */
static bool assigner_decide_cold(struct assigner *assigner,
                                 const struct assigner_decision *decision, bool cold,
                                 int64_t now_ms)
{
    struct assigner_topic *topic = decision->topic;

    if (cold) {
        assigner_decide_wait(assigner, decision, now_ms);
    }
    if (now_ms < topic->cold_until) {
        assigner_wake_at(assigner, topic->cold_until);
        return true;
    }
    if (!cold) {
        topic->cold_until = topic->cold_last = topic->cold_most = 0;
        topic->cold_count = 0;
    }
    return false;
}

/* Until when new members wait for others.  Members that Redis did not answer a while ago are no new
 * ones: assigner_reachability_limit() decides about them, so their weights become positive. */
static int64_t assigner_decide_joins(struct assigner *assigner, struct assigner_decision *decision,
                                     int64_t now_ms)
{
    int64_t join_ms = assigner->env->timings.join;
    struct assigner_topic *topic = decision->topic;
    size_t pending = 0;
    int64_t ready = 0;

    for (size_t i = 0; i < assigner->member_count; i++) {
        if (decision->weights[i] >= 0) {
            continue;
        }
        if (assigner_reachability_is_present(topic, assigner->members[i].incarnation)) {
            pending++;
        } else {
            decision->weights[i] = -decision->weights[i];
        }
    }
    if (topic->pending_count == 0 && pending > 0) {
        topic->pending_first = now_ms;
    }
    if (pending > topic->pending_count) {
        topic->pending_last = now_ms;
    }
    topic->pending_count = pending;
    ready = topic->pending_last + join_ms;
    if (ready > topic->pending_first + JOINS_WAIT_MOST * join_ms) {
        ready = topic->pending_first + JOINS_WAIT_MOST * join_ms;
    }
    if (topic->cold_until != 0) { /* no member owns anything yet */
        ready = topic->cold_until;
    }
    if (now_ms >= ready) {
        topic->pending_count = 0; /* they get their shares, and the next to join is a first one */
    } else if (pending > 0) {
        assigner_wake_at(assigner, ready);
    }
    return ready;
}

/* Which members may own slots: new members only after they have waited for others, and those that
 * no Redis node answers only if it answers none. */
static void assigner_decide_weights(struct assigner *assigner, struct assigner_decision *decision,
                                    int64_t now_ms)
{
    struct assigner_topic *topic = decision->topic;
    bool asked = false;
    bool owned = false;
    int64_t again_ms = 0;
    int64_t ready = 0;

    for (size_t i = 0; i < assigner->member_count; i++) {
        const struct member_topic *line = assigner_decide_line(assigner, i, topic);
        bool known = assigner_decide_known(topic, &assigner->members[i], true);

        /* the members that were the last to leave the topic are named, too */
        owned =
            owned || (line != NULL && assigner_decide_known(topic, &assigner->members[i], false));
        if (line == NULL || line->leaving) {
            continue;
        }
        asked = true;
        decision->weights[i] = known ? line->weight : -line->weight;
    }
    again_ms = assigner_reachability_read(assigner, topic, decision->weights, now_ms);
    if (again_ms != 0) {
        assigner_wake_at(assigner, again_ms);
    }
    decision->cold = assigner_decide_cold(assigner, decision, asked && !owned, now_ms);
    ready = assigner_decide_joins(assigner, decision, now_ms);
    for (size_t i = 0; i < assigner->member_count; i++) {
        if (decision->weights[i] < 0) {
            decision->weights[i] = now_ms < ready ? 0 : -decision->weights[i];
        }
    }
    decision->still = assigner_reachability_limit(assigner, topic, decision->weights);
}

/* No member has a share any more: those that were the last to have one stay named, so that one that
 * returns alone under its name waits for nobody. */
static void assigner_decide_last(struct assigner_topic *topic)
{
    const struct assignment *old = &topic->old;
    struct assignment *next = &topic->next;

    free(next->members);
    next->members = memory_new((old->member_count + 1) * sizeof(*next->members));
    for (; next->member_count < old->member_count; next->member_count++) {
        next->members[next->member_count] = old->members[next->member_count];
        next->members[next->member_count].id = memory_string(old->members[next->member_count].id);
    }
}

/* Build `next` from the entries that were decided; members without a share are left out. */
static void assigner_decide_next(struct assigner *assigner,
                                 const struct assigner_decision *decision)
{
    struct assigner_topic *topic = decision->topic;
    struct assignment *next = &topic->next;
    uint16_t *numbers = memory_new((assigner->member_count + 1) * sizeof(*numbers));

    for (int32_t i = 0; i < topic->slots; i++) {
        numbers[decision->slots[i] & ASSIGNMENT_MEMBER] = 1;
    }
    next->members = memory_new((assigner->member_count + 1) * sizeof(*next->members));
    for (size_t i = 0; i < assigner->member_count; i++) {
        const struct member_topic *line = assigner_decide_line(assigner, i, topic);

        if (decision->weights[i] == 0 && numbers[i + 1] == 0) {
            continue;
        }
        next->members[next->member_count++] =
            (struct assignment_member){.incarnation = assigner->members[i].incarnation,
                                       .weight = line != NULL ? line->weight : 1,
                                       .id = memory_string(assigner->members[i].id)};
        numbers[i + 1] = (uint16_t) next->member_count;
        topic->write =
            topic->write || assignment_find(&topic->old, assigner->members[i].incarnation) == 0;
    }
    if (next->member_count == 0) {
        assigner_decide_last(topic);
    }
    numbers[0] = 0;
    next->slots = memory_new((size_t) topic->slots * sizeof(*next->slots));
    next->slot_count = topic->slots;
    for (int32_t i = 0; i < topic->slots; i++) {
        uint16_t entry = decision->slots[i];

        next->slots[i] =
            numbers[entry & ASSIGNMENT_MEMBER] | (uint16_t) (entry & ASSIGNMENT_REVOKING);
    }
    free(numbers);
}

/* Do the entries differ from the old ones? */
static bool assigner_decide_differs(const struct assignment *old, const struct assignment *next)
{
    for (int32_t i = 0; i < next->slot_count; i++) {
        uint16_t left = old->slots != NULL ? old->slots[i] : 0;
        uint16_t right = next->slots[i];
        uint16_t a = left & ASSIGNMENT_MEMBER;
        uint16_t b = right & ASSIGNMENT_MEMBER;

        if ((left & ASSIGNMENT_REVOKING) != (right & ASSIGNMENT_REVOKING) || (a == 0) != (b == 0) ||
            (a != 0 && old->members[a - 1].incarnation != next->members[b - 1].incarnation)) {
            return true;
        }
    }
    return false;
}

static size_t assigner_decide_topics(const struct assigner *assigner)
{
    const struct assigner_topic *topic = NULL;
    size_t count = 0;

    LIST_FOREACH(topic, &assigner->topics, link)
    {
        count += topic->read && topic->slots > 0 ? 1 : 0;
    }
    return count;
}

/* Copy the slots that are assigned in this round out of the topic, or back into it; returns their
 * number. */
static int32_t assigner_decide_free_slots(const struct assigner *assigner,
                                          struct assigner_decision *decision, bool back)
{
    int32_t count = 0;

    for (int32_t i = 0; i < decision->topic->slots; i++) {
        if (decision->cold || decision->still ||
            assigner_decide_kept(assigner, decision->slots[i])) {
            continue;
        }
        if (back) {
            decision->slots[i] = decision->free_slots[count++];
        } else {
            decision->free_previous[count] = decision->previous[i];
            decision->free_slots[count++] = decision->slots[i];
        }
    }
    return count;
}

/* Slots of a member that cannot be read are not assigned in this round, and it gets no others. */
static void assigner_decide_assign(struct assigner *assigner, struct assigner_decision *decisions,
                                   size_t count)
{
    struct assign_topic *topics = memory_new((count + 1) * sizeof(*topics));
    const char **ids = memory_new((assigner->member_count + 1) * sizeof(*ids));

    for (size_t i = 0; i < assigner->member_count; i++) {
        ids[i] = assigner->members[i].id;
    }
    for (size_t i = 0; i < count; i++) {
        topics[i] = (struct assign_topic){
            .name = decisions[i].topic->name,
            .weights = decisions[i].weights,
            .slots = decisions[i].free_slots,
            .previous = decisions[i].free_previous,
            .slot_count = assigner_decide_free_slots(assigner, &decisions[i], false),
            .quotas = decisions[i].quotas};
    }
    assign(topics, count, ids, assigner->member_count);
    for (size_t i = 0; i < count; i++) {
        (void) assigner_decide_free_slots(assigner, &decisions[i], true);
    }
    free(topics);
    free(ids);
}

/* Does a member ask for a topic of this name, of any creation? */
static bool assigner_decide_asked(const struct assigner *assigner,
                                  const struct assigner_topic *topic)
{
    for (size_t i = 0; i < assigner->member_count; i++) {
        /* a member whose node cannot be read may ask for the topic */
        if (assigner->members[i].unread ||
            member_info_asks(&assigner->members[i].info, topic->name)) {
            return true;
        }
    }
    return false;
}

static void assigner_decide_remove(struct assigner *assigner, struct assigner_topic *topic,
                                   int64_t now_ms)
{
    int64_t until = 0;

    if (!topic->listed || topic->denied || topic->past || assigner_decide_asked(assigner, topic)) {
        topic->idle_since = 0;
        return;
    }
    if (topic->idle_since == 0) {
        topic->idle_since = now_ms;
    }
    until = topic->idle_since + assigner->env->timings.idle;
    if (now_ms < until) {
        assigner_wake_at(assigner, until);
        return;
    }
    topic->remove = true;
}

static struct assigner_decision assigner_decision_new(struct assigner_topic *topic, size_t members)
{
    size_t size = (size_t) topic->slots * sizeof(uint16_t);

    return (struct assigner_decision){.topic = topic,
                                      .weights = memory_new(members * sizeof(int32_t)),
                                      .quotas = memory_new(members * sizeof(int32_t)),
                                      .slots = memory_new(size),
                                      .previous = memory_new(size),
                                      .free_slots = memory_new(size),
                                      .free_previous = memory_new(size)};
}

static void assigner_decision_fini(struct assigner_decision *decision)
{
    free(decision->weights);
    free(decision->quotas);
    free(decision->slots);
    free(decision->previous);
    free(decision->free_slots);
    free(decision->free_previous);
}

void assigner_decide(struct assigner *assigner, int64_t now_ms)
{
    size_t count = assigner_decide_topics(assigner);
    size_t members = assigner->member_count + 1;
    struct assigner_decision *decisions = memory_new((count + 1) * sizeof(*decisions));
    struct assigner_topic *topic = NULL;
    size_t at = 0;

    assigner_decide_arrivals(assigner, now_ms);
    LIST_FOREACH(topic, &assigner->topics, link)
    {
        assigner_decide_remove(assigner, topic, now_ms);
        if (!topic->read || topic->slots <= 0) {
            continue;
        }
        decisions[at] = assigner_decision_new(topic, members);
        assigner_decide_carry(assigner, &decisions[at], now_ms);
        assigner_decide_weights(assigner, &decisions[at], now_ms);
        assigner_find_previous(assigner, topic, decisions[at].weights, decisions[at].previous);
        at++;
    }
    assigner_decide_assign(assigner, decisions, count);
    for (size_t i = 0; i < count; i++) {
        topic = decisions[i].topic;
        assigner_decide_next(assigner, &decisions[i]);
        topic->write = topic->write || assigner_decide_differs(&topic->old, &topic->next);
        assigner_decision_fini(&decisions[i]);
    }
    free(decisions);
}
