/* assign.c - computes quotas that keep what members have, then revokes slots above a quota and
 * fills slots without an owner.
 *
 * A quota is the floor of the member's share, or one more (an extra slot).  Extra slots go first to
 * members that hold more than the floor, because that saves a move each, then to those that have
 * the fewest slots over all topics.  An extra slot is moved on only if that makes the totals over
 * all topics more even by a whole slot.
 *
 * Pure. */
#include "coord/assigner/assign.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/memory.h"
#include "coord/node/assignment.h"

/* A member, while one topic is assigned. */
struct assign_candidate {
    size_t member;  /* index from 0 */
    int64_t load;   /* members are ordered by this */
    int32_t own;    /* slots that it holds and that had no other owner before; breaks ties */
    int32_t weight; /* above 0 */
    uint32_t hash;  /* hash of topic and id */
    const char *id; /* breaks ties between equal hashes */
};

/* All topics at once. */
struct assign_work {
    struct assign_topic *topics;
    size_t topic_count;
    const char *const *ids;
    size_t count;                 /* number of members */
    int32_t **held;               /* per topic and member: slots granted, not being revoked */
    int32_t **own;                /* those of them that had no other owner before */
    int64_t *loads;               /* per member: sum of its quotas over all topics */
    int32_t *missing;             /* per member: slots missing to its quota of the present topic */
    struct assign_candidate *row; /* has space for all members */
};

static uint32_t assign_hash(const char *topic, const char *id)
{
    uLong crc = crc32(0, (const Bytef *) topic, (uInt) strlen(topic) + 1);

    return (uint32_t) crc32(crc, (const Bytef *) id, (uInt) strlen(id));
}

static int assign_compare_hash(const struct assign_candidate *a, const struct assign_candidate *b)
{
    if (a->hash != b->hash) {
        return a->hash < b->hash ? -1 : 1;
    }
    return strcmp(a->id, b->id);
}

/* The member with the fewest slots for its weight comes first. */
static int assign_compare_load(const void *left, const void *right)
{
    const struct assign_candidate *a = left;
    const struct assign_candidate *b = right;
    int64_t a_load = a->load * b->weight;
    int64_t b_load = b->load * a->weight;

    if (a_load != b_load) {
        return a_load < b_load ? -1 : 1;
    }
    if (a->own != b->own) {
        return a->own > b->own ? -1 : 1;
    }
    return assign_compare_hash(a, b);
}

static int64_t assign_weight(const struct assign_topic *topic, size_t count)
{
    int64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += topic->weights[i];
    }
    return sum;
}

/* The floor of a member's share, and whether the share has a fraction for which it may get one
 * more. */
static int32_t assign_floor(const struct assign_topic *topic, int64_t sum, size_t member,
                            bool *rest)
{
    int64_t share = (int64_t) topic->slot_count * topic->weights[member];

    *rest = sum > 0 && share % sum != 0;
    return sum > 0 ? (int32_t) (share / sum) : 0;
}

static void assign_count(const struct assign_topic *topic, int32_t *held, int32_t *own)
{
    for (int32_t i = 0; i < topic->slot_count; i++) {
        uint16_t entry = topic->slots[i];

        if (entry != 0 && (entry & ASSIGNMENT_REVOKING) == 0) {
            held[entry - 1]++;
            own[entry - 1] += topic->previous[i] == 0 || topic->previous[i] == entry ? 1 : 0;
        }
    }
}

/* Fill `row` with the members that may get an extra slot of topic t and have none, in the order in
 * which they get it.  `retaining`: only those that hold more than the floor. */
static size_t assign_candidates(const struct assign_work *work, size_t t, bool retaining)
{
    const struct assign_topic *topic = &work->topics[t];
    int64_t sum = assign_weight(topic, work->count);
    size_t found = 0;

    for (size_t i = 0; i < work->count; i++) {
        bool rest = false;
        int32_t floor = assign_floor(topic, sum, i, &rest);

        if (rest && topic->quotas[i] == floor && (!retaining || work->held[t][i] > floor)) {
            work->row[found++] =
                (struct assign_candidate){.member = i,
                                          .load = work->loads[i],
                                          .own = work->own[t][i],
                                          .weight = topic->weights[i],
                                          .hash = assign_hash(topic->name, work->ids[i]),
                                          .id = work->ids[i]};
        }
    }
    qsort(work->row, found, sizeof(*work->row), assign_compare_load);
    return found;
}

/* How many slots of a topic no quota includes. */
static int64_t assign_missing(const struct assign_work *work, size_t t)
{
    int64_t missing = work->topics[t].slot_count;

    if (assign_weight(&work->topics[t], work->count) == 0) {
        return 0;
    }
    for (size_t i = 0; i < work->count; i++) {
        missing -= work->topics[t].quotas[i];
    }
    return missing;
}

static void assign_extras(struct assign_work *work, size_t t, bool retaining)
{
    int64_t missing = assign_missing(work, t);
    size_t found = assign_candidates(work, t, retaining);

    for (size_t i = 0; i < found && (int64_t) i < missing; i++) {
        work->topics[t].quotas[work->row[i].member]++;
        work->loads[work->row[i].member]++;
    }
}

static void assign_floors(struct assign_work *work, size_t t)
{
    int64_t sum = assign_weight(&work->topics[t], work->count);

    for (size_t i = 0; i < work->count; i++) {
        bool rest = false;

        work->topics[t].quotas[i] = assign_floor(&work->topics[t], sum, i, &rest);
        work->loads[i] += work->topics[t].quotas[i];
    }
}

/* Does moving an extra slot from a to b make the totals more even? */
static bool assign_improves(const struct assign_topic *topic, const int64_t *loads, size_t a,
                            size_t b)
{
    return (loads[a] - 1) * topic->weights[b] >= (loads[b] + 1) * topic->weights[a];
}

/* Is member i more loaded than member j? */
static bool assign_heavier(const struct assign_work *work, size_t t, size_t i, size_t j)
{
    int64_t left = work->loads[i] * work->topics[t].weights[j];
    int64_t right = work->loads[j] * work->topics[t].weights[i];

    return left != right ? left > right : strcmp(work->ids[i], work->ids[j]) > 0;
}

/* Move one extra slot of topic t from the most loaded member to the least loaded one; false: it
 * would not help.  `free`: only an extra slot that its member does not hold yet, so that no slot
 * has to move. */
static bool assign_even(struct assign_work *work, size_t t, bool free)
{
    struct assign_topic *topic = &work->topics[t];
    int64_t sum = assign_weight(topic, work->count);
    size_t from = work->count;
    size_t to = work->count;

    for (size_t i = 0; i < work->count; i++) {
        bool rest = false;
        int32_t floor = assign_floor(topic, sum, i, &rest);

        if (!rest) {
            continue;
        }
        if (topic->quotas[i] == floor) {
            to = to == work->count || assign_heavier(work, t, to, i) ? i : to;
        } else if (!free || work->held[t][i] <= floor) {
            from = from == work->count || assign_heavier(work, t, i, from) ? i : from;
        }
    }
    if (from == work->count || to == work->count ||
        !assign_improves(topic, work->loads, from, to)) {
        return false;
    }
    topic->quotas[from]--;
    topic->quotas[to]++;
    work->loads[from]--;
    work->loads[to]++;
    return true;
}

static void assign_even_all(struct assign_work *work, bool free)
{
    bool moved = true;

    while (moved) {
        moved = false;
        for (size_t t = 0; t < work->topic_count; t++) {
            moved = assign_even(work, t, free) || moved;
        }
    }
}

/* The loads are complete before an extra slot is given to a member that does not hold it, and such
 * extra slots are balanced first.  So the quotas stay the same while slots are moving. */
static void assign_quotas(struct assign_work *work)
{
    for (size_t t = 0; t < work->topic_count; t++) {
        assign_count(&work->topics[t], work->held[t], work->own[t]);
        assign_floors(work, t);
    }
    for (size_t t = 0; t < work->topic_count; t++) {
        assign_extras(work, t, true);
    }
    for (size_t t = 0; t < work->topic_count; t++) {
        assign_extras(work, t, false);
    }
    assign_even_all(work, true);
    assign_even_all(work, false);
}

/* Revoke slots from the members that have more than their quota, those with the highest numbers
 * first.  `to_previous`: only slots whose previous owner has fewer slots than its quota; `missing`
 * is counted down. */
static void assign_revoke(struct assign_topic *topic, int32_t *held, int32_t *missing,
                          bool to_previous)
{
    for (int32_t i = topic->slot_count - 1; i >= 0; i--) {
        uint16_t entry = topic->slots[i];
        uint16_t previous = topic->previous[i];

        if (entry == 0 || (entry & ASSIGNMENT_REVOKING) != 0 ||
            held[entry - 1] <= topic->quotas[entry - 1] ||
            (to_previous && (previous == 0 || missing[previous - 1] <= 0))) {
            continue;
        }
        if (to_previous) {
            missing[previous - 1]--;
        }
        topic->slots[i] = entry | ASSIGNMENT_REVOKING;
        held[entry - 1]--;
    }
}

/* Give slots without an owner back to their previous owners. */
static void assign_return(struct assign_topic *topic, int32_t *held)
{
    for (int32_t i = 0; i < topic->slot_count; i++) {
        uint16_t previous = topic->previous[i];

        if (topic->slots[i] == 0 && previous != 0 &&
            held[previous - 1] < topic->quotas[previous - 1]) {
            topic->slots[i] = previous;
            held[previous - 1]++;
        }
    }
}

/* Give the remaining slots without an owner to members in the order of `turns`, several in a row to
 * each. */
static void assign_fill(struct assign_topic *topic, int32_t *held,
                        const struct assign_candidate *turns, size_t count)
{
    size_t turn = 0;

    for (int32_t i = 0; i < topic->slot_count; i++) {
        if (topic->slots[i] != 0) {
            continue;
        }
        while (turn < count && held[turns[turn].member] >= topic->quotas[turns[turn].member]) {
            turn++;
        }
        if (turn == count) {
            return;
        }
        topic->slots[i] = (uint16_t) (turns[turn].member + 1);
        held[turns[turn].member]++;
    }
}

static int assign_compare_turn(const void *left, const void *right)
{
    const struct assign_candidate *a = left;
    const struct assign_candidate *b = right;

    /* `load` is the number of missing slots: the member that misses most comes first */
    if (a->load != b->load) {
        return a->load > b->load ? -1 : 1;
    }
    return assign_compare_hash(a, b);
}

static void assign_apply(struct assign_work *work, size_t t)
{
    struct assign_topic *topic = &work->topics[t];

    assign_return(topic, work->held[t]);
    for (size_t i = 0; i < work->count; i++) {
        work->missing[i] = topic->quotas[i] - work->held[t][i];
    }
    assign_revoke(topic, work->held[t], work->missing, true);
    assign_revoke(topic, work->held[t], work->missing, false);
    for (size_t i = 0; i < work->count; i++) {
        work->row[i] = (struct assign_candidate){.member = i,
                                                 .load = topic->quotas[i] - work->held[t][i],
                                                 .hash = assign_hash(topic->name, work->ids[i]),
                                                 .id = work->ids[i]};
    }
    qsort(work->row, work->count, sizeof(*work->row), assign_compare_turn);
    assign_fill(topic, work->held[t], work->row, work->count);
}

void assign(struct assign_topic *topics, size_t topic_count, const char *const *ids, size_t count)
{
    struct assign_work work = {.topics = topics,
                               .topic_count = topic_count,
                               .ids = ids,
                               .count = count,
                               .held = memory_new((topic_count + 1) * sizeof(*work.held)),
                               .own = memory_new((topic_count + 1) * sizeof(*work.own)),
                               .loads = memory_new((count + 1) * sizeof(*work.loads)),
                               .missing = memory_new((count + 1) * sizeof(*work.missing)),
                               .row = memory_new((count + 1) * sizeof(*work.row))};

    for (size_t t = 0; t < topic_count; t++) {
        work.held[t] = memory_new((count + 1) * sizeof(**work.held));
        work.own[t] = memory_new((count + 1) * sizeof(**work.own));
    }
    assign_quotas(&work);
    for (size_t t = 0; t < topic_count; t++) {
        assign_apply(&work, t);
        free(work.held[t]);
        free(work.own[t]);
    }
    free(work.held);
    free(work.own);
    free(work.missing);
    free(work.loads);
    free(work.row);
}
