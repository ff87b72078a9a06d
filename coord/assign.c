/* assign.c - quotas with retention, then revoke what is over and fill what is empty.
 *
 * A quota is the floor of the share or one more.  The extra goes to who holds more than the floor,
 * which saves a move each; then to who has least over all topics.  An extra is moved on only when
 * that makes the totals over all topics more even by a whole slot.
 *
 * Pure. */
#include "coord/assign.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/memory.h"
#include "coord/assignment.h"

/* What is known of a member while one topic is dealt with. */
struct assign_candidate {
    size_t member; /* from 0 */
    int32_t weight;
    bool retains;   /* holds more than the floor */
    int64_t load;   /* its quotas in all other topics, and the floor in this */
    uint32_t hash;  /* of topic and id */
    const char *id; /* equal hashes are told apart by it */
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

/* Whose extra comes first? */
static int assign_compare(const void *left, const void *right)
{
    const struct assign_candidate *a = left;
    const struct assign_candidate *b = right;
    int64_t a_load = a->load * b->weight;
    int64_t b_load = b->load * a->weight;

    if (a->retains != b->retains) {
        return a->retains ? -1 : 1;
    }
    if (a_load != b_load) {
        return a_load < b_load ? -1 : 1;
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

/* held[i]: the slots granted to member i, without those being revoked. */
static void assign_count(const struct assign_topic *topic, int32_t *held, size_t count)
{
    memset(held, 0, count * sizeof(*held));
    for (int32_t i = 0; i < topic->slot_count; i++) {
        uint16_t entry = topic->slots[i];

        if (entry != 0 && (entry & ASSIGNMENT_REVOKING) == 0) {
            held[entry - 1]++;
        }
    }
}

/* First quotas of one topic; adds them to `loads`. */
static void assign_quotas(struct assign_topic *topic, const char *const *ids, size_t count,
                          const int32_t *held, int64_t *loads, struct assign_candidate *candidates)
{
    int64_t sum = assign_weight(topic, count);
    int64_t extras = sum > 0 ? topic->slot_count : 0;
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        int64_t share = sum > 0 ? (int64_t) topic->slot_count * topic->weights[i] : 0;

        topic->quotas[i] = sum > 0 ? (int32_t) (share / sum) : 0;
        extras -= topic->quotas[i];
        loads[i] += topic->quotas[i];
        if (sum > 0 && share % sum != 0) {
            candidates[found++] =
                (struct assign_candidate){.member = i,
                                          .weight = topic->weights[i],
                                          .retains = held[i] > topic->quotas[i],
                                          .load = loads[i],
                                          .hash = assign_hash(topic->name, ids[i]),
                                          .id = ids[i]};
        }
    }
    qsort(candidates, found, sizeof(*candidates), assign_compare);
    for (size_t i = 0; i < (size_t) extras && i < found; i++) {
        topic->quotas[candidates[i].member]++;
        loads[candidates[i].member]++;
    }
}

/* Does moving an extra from a to b make the totals more even? */
static bool assign_improves(const struct assign_topic *topic, const int64_t *loads, size_t a,
                            size_t b)
{
    return (loads[a] - 1) * topic->weights[b] >= (loads[b] + 1) * topic->weights[a];
}

/* Is member i more loaded than member j? */
static bool assign_heavier(const struct assign_topic *topic, const int64_t *loads,
                           const char *const *ids, size_t i, size_t j)
{
    int64_t left = loads[i] * topic->weights[j];
    int64_t right = loads[j] * topic->weights[i];

    return left != right ? left > right : strcmp(ids[i], ids[j]) > 0;
}

/* Move one extra of this topic from who has most to who has least; false: it would not help. */
static bool assign_even(struct assign_topic *topic, const char *const *ids, size_t count,
                        int64_t *loads)
{
    int64_t sum = assign_weight(topic, count);
    size_t from = count;
    size_t to = count;

    for (size_t i = 0; i < count; i++) {
        int64_t share = (int64_t) topic->slot_count * topic->weights[i];

        if (topic->weights[i] == 0 || share % sum == 0) {
            continue;
        }
        if (topic->quotas[i] > share / sum) {
            from = from == count || assign_heavier(topic, loads, ids, i, from) ? i : from;
        } else {
            to = to == count || assign_heavier(topic, loads, ids, to, i) ? i : to;
        }
    }
    if (from == count || to == count || !assign_improves(topic, loads, from, to)) {
        return false;
    }
    topic->quotas[from]--;
    topic->quotas[to]++;
    loads[from]--;
    loads[to]++;
    return true;
}

/* Revoke from who has more than its quota; the slots with the highest numbers go. */
static void assign_revoke(struct assign_topic *topic, int32_t *held)
{
    for (int32_t i = topic->slot_count - 1; i >= 0; i--) {
        uint16_t entry = topic->slots[i];

        if (entry != 0 && (entry & ASSIGNMENT_REVOKING) == 0 &&
            held[entry - 1] > topic->quotas[entry - 1]) {
            topic->slots[i] = entry | ASSIGNMENT_REVOKING;
            held[entry - 1]--;
        }
    }
}

/* A hole, and who fills it: each member in turn, in runs, by the order of `turns`. */
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

    /* load: what is still missing; the emptiest first */
    if (a->load != b->load) {
        return a->load > b->load ? -1 : 1;
    }
    return assign_compare_hash(a, b);
}

static void assign_apply(struct assign_topic *topic, const char *const *ids, size_t count,
                         int32_t *held, struct assign_candidate *turns)
{
    assign_count(topic, held, count);
    assign_revoke(topic, held);
    for (size_t i = 0; i < count; i++) {
        turns[i] = (struct assign_candidate){.member = i,
                                             .load = topic->quotas[i] - held[i],
                                             .hash = assign_hash(topic->name, ids[i]),
                                             .id = ids[i]};
    }
    qsort(turns, count, sizeof(*turns), assign_compare_turn);
    assign_fill(topic, held, turns, count);
}

void assign(struct assign_topic *topics, size_t topic_count, const char *const *ids, size_t count)
{
    int64_t *loads = memory_new((count + 1) * sizeof(*loads));
    int32_t *held = memory_new((count + 1) * sizeof(*held));
    struct assign_candidate *candidates = memory_new((count + 1) * sizeof(*candidates));
    bool moved = true;

    for (size_t i = 0; i < topic_count; i++) {
        assign_count(&topics[i], held, count);
        assign_quotas(&topics[i], ids, count, held, loads, candidates);
    }
    while (moved) {
        moved = false;
        for (size_t i = 0; i < topic_count; i++) {
            moved = assign_even(&topics[i], ids, count, loads) || moved;
        }
    }
    for (size_t i = 0; i < topic_count; i++) {
        assign_apply(&topics[i], ids, count, held, candidates);
    }
    free(loads);
    free(held);
    free(candidates);
}
