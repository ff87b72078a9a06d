/* slot_walk.c - reading the stats of the slots of a topic, many at once.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/fail.h"
#include "admin/slot_walk.h"
#include "base/memory.h"
#include "base/status.h"

enum { CHUNK_SLOTS = 1024, LOOK_TRIES = 10 };

static void slot_walk_send(struct store_call *call, int32_t index, void *user)
{
    const struct slot_walk *walk = user;
    struct store_slot slot;

    store_slot_fill(&slot, &walk->topic, walk->first + index);
    store_inspect(call, walk->core->redis, &slot, 0);
}

/* Is the slot unreachable or damaged, so that the others can still be read?  A missing right is
 * that of the user, and none of the slot. */
static bool slot_walk_is_fault(const struct store_result *result)
{
    if (result->status == SMQ_DENIED) {
        return false;
    }
    switch (result->outcome) {
    case STORE_NO_TOPIC:
    case STORE_STALE:
    case STORE_PARTLY:
    case STORE_UNKNOWN:
        return true;
    case STORE_NOT_DONE:
        return result->status == SMQ_UNAVAILABLE || result->status == SMQ_TIMED_OUT;
    case STORE_OK:
    case STORE_FENCED:
    case STORE_REFUSED:
        break;
    }
    return false;
}

static void slot_walk_fault_set(struct slot_walk_fault *fault, const struct slot_walk *walk,
                                int32_t slot, const struct store_result *result)
{
    bool away = result->outcome == STORE_NOT_DONE || result->outcome == STORE_UNKNOWN;

    fault->status = away ? result->status : SMQ_DAMAGED;
    if (away) {
        snprintf(fault->text, sizeof(fault->text), "slot %" PRId32 " of topic %.60s: %.80s", slot,
                 walk->topic.name, result->text);
    } else {
        snprintf(fault->text, sizeof(fault->text),
                 "Redis has lost a part of slot %" PRId32
                 " of topic %.40s: run slotmq topic repair "
                 "%.40s",
                 slot, walk->topic.name, walk->topic.name);
    }
}

static enum fanout_next slot_walk_done(const struct store_result *result, int32_t index, void *user,
                                       smq_error *err)
{
    struct slot_walk *walk = user;
    struct slot_walk_fault *fault = &walk->faults[index];

    fault->status = SMQ_OK;
    if (result->outcome == STORE_OK &&
        store_inspect_read(&walk->looks[index], result, walk->topic.lease_ms)) {
        walk->good++;
        return FANOUT_DONE;
    }
    if (!slot_walk_is_fault(result)) {
        return admin_fail(err, &walk->topic, walk->first + index, result);
    }
    walk->looks[index] = (struct store_inspected){.stats = SMQ_STATS_INIT};
    slot_walk_fault_set(fault, walk, walk->first + index, result);
    walk->refused += result->outcome == STORE_NO_TOPIC || result->outcome == STORE_STALE ? 1 : 0;
    return FANOUT_DONE;
}

static smq_status slot_walk_once(struct slot_walk *walk, smq_error *err)
{
    if (walk->begun) {
        walk->begun = false;
        return walk->begun_err.status == SMQ_OK ? SMQ_OK : status_copy(err, &walk->begun_err);
    }
    walk->refused = 0;
    walk->good = 0;
    return fanout_many(walk->core, walk->count, slot_walk_send, slot_walk_done, walk, err);
}

/* Walks that are read together.  Call number i is for slot i - first[w] of the last walk w whose
 * first[w] is not larger than i. */
struct slot_walk_group {
    struct slot_walk *walks;
    int32_t *first;
    int32_t count;
    struct slot_walk_masters *masters;
};

static struct slot_walk *slot_walk_of(const struct slot_walk_group *group, int32_t *index)
{
    int32_t low = 0;
    int32_t high = group->count;

    while (high - low > 1) {
        int32_t middle = low + (high - low) / 2;

        if (group->first[middle] <= *index) {
            low = middle;
        } else {
            high = middle;
        }
    }
    *index -= group->first[low];
    return &group->walks[low];
}

/* The master of a slot of this walk; NULL: there are too many. */
static struct slot_walk_master *slot_walk_master_of(struct slot_walk_masters *masters,
                                                    const struct slot_walk *walk, int32_t index)
{
    char address[REDIS_SERVER_MAX];
    struct slot_keys keys;

    slot_keys_fill(&keys, walk->topic.name, walk->first + index);
    redis_server_of(address, walk->core->redis, keys.hash_slot);
    for (size_t i = 0; i < masters->count; i++) {
        if (strcmp(masters->all[i].address, address) == 0) {
            return &masters->all[i];
        }
    }
    if (masters->count == SLOT_WALK_MASTERS_MAX) {
        return NULL;
    }
    masters->all[masters->count] = (struct slot_walk_master){.address = memory_string(address)};
    return &masters->all[masters->count++];
}

void slot_walk_masters_fini(struct slot_walk_masters *masters)
{
    for (size_t i = 0; i < masters->count; i++) {
        free(masters->all[i].address);
    }
    masters->count = 0;
}

static bool slot_walk_master_lacks(const struct slot_walk_master *master)
{
    return master != NULL && master->silent && !master->answered;
}

bool slot_walk_masters_lack(const struct slot_walk_masters *masters)
{
    for (size_t i = 0; i < masters->count; i++) {
        if (slot_walk_master_lacks(&masters->all[i])) {
            return true;
        }
    }
    return false;
}

static bool slot_walk_group_skip(int32_t index, void *user)
{
    const struct slot_walk_group *group = user;
    struct slot_walk *walk = slot_walk_of(group, &index);
    const struct slot_walk_master *master;

    if (!slot_walk_masters_lack(group->masters)) {
        return false;
    }
    master = slot_walk_master_of(group->masters, walk, index);
    if (!slot_walk_master_lacks(master)) {
        return false;
    }
    walk->looks[index] = (struct store_inspected){.stats = SMQ_STATS_INIT};
    walk->faults[index].status = SMQ_UNAVAILABLE;
    snprintf(walk->faults[index].text, sizeof(walk->faults[index].text),
             "slot %" PRId32 " of topic %.60s: %.60s does not reply", walk->first + index,
             walk->topic.name, master->address);
    return true;
}

static void slot_walk_group_send(struct store_call *call, int32_t index, void *user)
{
    struct slot_walk *walk = slot_walk_of(user, &index);

    slot_walk_send(call, index, walk);
}

/* A result that ends one walk does not end the others. */
static enum fanout_next slot_walk_group_done(const struct store_result *result, int32_t index,
                                             void *user, smq_error *err)
{
    const struct slot_walk_group *group = user;
    struct slot_walk *walk = slot_walk_of(group, &index);
    struct slot_walk_master *master = slot_walk_master_of(group->masters, walk, index);
    bool silent = result->outcome == STORE_UNKNOWN || result->status == SMQ_UNAVAILABLE ||
                  result->status == SMQ_TIMED_OUT;

    (void) err;
    (void) slot_walk_done(result, index, walk, &walk->begun_err);
    if (master != NULL) {
        master->silent = master->silent || silent;
        master->answered = master->answered || !silent;
    }
    return FANOUT_DONE;
}

void slot_walk_read_first(struct slot_walk *walks, int32_t count, struct core *core,
                          struct slot_walk_masters *masters)
{
    struct slot_walk_group group = {.walks = walks, .count = count, .masters = masters};
    int32_t slots = 0;

    group.first = memory_new((size_t) (count + 1) * sizeof(*group.first));
    for (int32_t i = 0; i < count; i++) {
        struct slot_walk *walk = &walks[i];

        group.first[i] = slots;
        walk->count = walk->topic.slots < CHUNK_SLOTS ? walk->topic.slots : CHUNK_SLOTS;
        walk->begun = true;
        slots += walk->count;
    }
    (void) fanout_some(core, slots, slot_walk_group_skip, slot_walk_group_send,
                       slot_walk_group_done, &group, NULL);
    free(group.first);
}

/* Slots that refuse the definition may have a newer one, or none any more.  If they refuse it
 * before and after a read that finds the same definition, they are damaged. */
static smq_status slot_walk_surely(struct slot_walk *walk, smq_error *err)
{
    char before[TOPIC_STAMP_MAX], after[TOPIC_STAMP_MAX];
    bool same = false;
    smq_status status = slot_walk_once(walk, err);

    for (int i = 0; i < LOOK_TRIES && status == SMQ_OK && walk->refused > 0 && !same; i++) {
        struct topic stored;

        topic_stamp(before, &walk->topic);
        status = fanout_definition(&stored, walk->core, walk->topic.name, err);
        if (status != SMQ_OK) {
            return status;
        }
        if (strcmp(stored.nonce, walk->topic.nonce) != 0) {
            return status_set(err, SMQ_NO_TOPIC, "topic %s was deleted during the call",
                              stored.name);
        }
        walk->topic = stored;
        topic_stamp(after, &stored);
        same = strcmp(before, after) == 0;
        status = slot_walk_once(walk, err);
    }
    return status;
}

smq_status slot_walk_faults(const struct slot_walk *walk, smq_error *err)
{
    char more[40] = "";

    if (walk->broken == 0) {
        return SMQ_OK;
    }
    if (walk->broken > 1) {
        snprintf(more, sizeof(more), "; and %" PRId32 " more slots", walk->broken - 1);
    }
    return status_set(err, walk->why.status, "%s%s (all others were read)", walk->why.text, more);
}

/* Read a range of slots that begins with `first` and ends before `end`.  Slots that are damaged or
 * do not reply get a fault.  Fails: NO_TOPIC; if no slot replies, with their status. */
static smq_status slot_walk_run(struct slot_walk *walk, int32_t first, int32_t end, smq_error *err)
{
    smq_status status;

    walk->first = first;
    walk->count = end - first < CHUNK_SLOTS ? end - first : CHUNK_SLOTS;
    status = slot_walk_surely(walk, err);
    for (int32_t i = 0; i < walk->count && status == SMQ_OK; i++) {
        const struct slot_walk_fault *fault = &walk->faults[i];

        if (fault->status != SMQ_OK && walk->broken++ == 0) {
            (void) status_set(&walk->why, fault->status, "%s", fault->text);
        }
    }
    if (status == SMQ_OK && walk->good == 0 && walk->count > 0 &&
        walk->faults[0].status != SMQ_DAMAGED) {
        return status_copy(err, &walk->why);
    }
    return status;
}

void slot_walk_init(struct slot_walk *walk, struct core *core, const struct topic *topic)
{
    const size_t slots = (size_t) (topic->slots < CHUNK_SLOTS ? topic->slots : CHUNK_SLOTS);

    *walk = (struct slot_walk){.core = core, .topic = *topic};
    walk->looks = memory_new(slots * sizeof(*walk->looks));
    walk->faults = memory_new(slots * sizeof(*walk->faults));
}

smq_status slot_walk_begin(struct slot_walk *walk, struct core *core, const char *topic,
                           smq_error *err)
{
    struct topic stored;
    smq_status status = fanout_holder(&stored, core, topic, err);

    *walk = (struct slot_walk){.core = core};
    if (status == SMQ_OK) {
        slot_walk_init(walk, core, &stored);
    }
    return status;
}

void slot_walk_end(struct slot_walk *walk)
{
    free(walk->looks);
    free(walk->faults);
}

smq_status slot_walk_visit(struct slot_walk *walk, int32_t first, int32_t end, slot_walk_fn *each,
                           void *user, smq_error *err)
{
    bool more = true;

    while (first < end && more) {
        smq_status status = slot_walk_run(walk, first, end, err);

        for (int32_t i = 0; i < walk->count && more && status == SMQ_OK; i++) {
            status = each(walk, i, &more, user, err);
        }
        if (status != SMQ_OK) {
            return status;
        }
        first += walk->count;
    }
    return SMQ_OK;
}
