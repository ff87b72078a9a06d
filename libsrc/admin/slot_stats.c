/* slot_stats.c - the stats of topics and slots.
 *
 * Thread: the caller's. */
#include <stdlib.h>
#include <string.h>

#include "admin/admin.h"
#include "admin/slot_stats.h"
#include "base/hash.h"
#include "base/memory.h"
#include "model/entry.h"
#include "model/member.h"
#include "model/statistic.h"

/* --- stats --- */

/* A process that owns slots of a topic. */
struct slot_owner {
    char name[STORE_OWNER_MAX];
    UT_hash_handle hh;
};

/* The sums of a topic's slots. */
struct slot_sums {
    smq_stats stats;
    struct slot_owner *owners; /* owned; each once */
    uint64_t unowned;
    smq_slot_fn *visit; /* NULL: none */
    void *user;
};

/* Who has let the leases of all its claims end is no owner. */
static void slot_stats_add_owner(struct slot_sums *sums, const struct store_inspected *look)
{
    struct slot_owner *owner = NULL;

    if (look->owner[0] == '\0' ||
        (look->stats.stalled > 0 && look->stats.stalled == look->stats.claimed)) {
        sums->unowned++;
        return;
    }
    HASH_FIND_STR(sums->owners, look->owner, owner);
    if (owner == NULL) {
        owner = memory_new(sizeof(*owner));
        memcpy(owner->name, look->owner, sizeof(owner->name));
        HASH_ADD_STR(sums->owners, name, owner);
    }
}

static void slot_stats_free_owners(struct slot_sums *sums)
{
    struct slot_owner *owner, *next;

    HASH_ITER(hh, sums->owners, owner, next)
    {
        HASH_DEL(sums->owners, owner);
        free(owner);
    }
}

/* Describe the claim that its owner has noted. */
static void slot_stats_describe_claim(smq_slot_info *out, const struct store_inspected *look,
                                      smq_layout layout)
{
    struct member member = {.key = NULL};
    struct entry entry;

    if (look->oldest.since_ms < 0) {
        return;
    }
    out->claimed_by = look->oldest.owner;
    out->claimed_at_ms = look->oldest.since_ms;
    out->attempt = look->oldest.retries + 1;
    if (!entry_decode(&entry, look->oldest.entry, look->oldest.entry_len) ||
        !member_decode(&member, entry.member, entry.member_len)) {
        return; /* it is too long */
    }
    out->id = (smq_bytes){member.id, member.id_len};
    out->key = (smq_bytes){member.key, member.key_len};
    if (member.key == NULL && layout == SMQ_LAYOUT_KEYED) {
        out->key = out->id;
    }
}

/* Describe slot number `index` of the walk. */
static smq_slot_info slot_stats_info(const struct slot_walk *walk, int32_t index)
{
    const struct store_inspected *look = &walk->looks[index];
    const struct slot_walk_fault *fault = &walk->faults[index];
    smq_slot_info info = {.struct_size = sizeof(info),
                          .topic = walk->topic.name,
                          .slot = walk->first + index,
                          .owner = look->owner,
                          .token = look->token,
                          .stats = look->stats,
                          .status = fault->status,
                          .why = fault->status != SMQ_OK ? fault->text : "",
                          .claimed_by = ""};

    if (fault->status == SMQ_OK) {
        slot_stats_describe_claim(&info, look, walk->topic.layout);
    }
    info.stats.slots_damaged = fault->status == SMQ_DAMAGED ? 1 : 0;
    info.stats.slots_silent = fault->status != SMQ_OK && fault->status != SMQ_DAMAGED ? 1 : 0;
    return info;
}

static smq_status slot_stats_each(const struct slot_walk *walk, int32_t index, bool *more,
                                  void *user, smq_error *err)
{
    const smq_slot_info info = slot_stats_info(walk, index);
    struct slot_sums *sums = user;

    (void) more;
    (void) err;
    statistic_add_slot(&sums->stats, &info.stats);
    if (info.status == SMQ_OK) {
        slot_stats_add_owner(sums, &walk->looks[index]);
    }
    if (sums->visit != NULL) {
        (void) sums->visit(&info, sums->user);
    }
    return SMQ_OK;
}

smq_status slot_stats_sum(smq_survey_topic *out, struct slot_walk *walk, smq_slot_fn *visit,
                          void *user, smq_error *err)
{
    struct slot_sums sums = {.stats = SMQ_STATS_INIT, .visit = visit, .user = user};
    smq_status status = slot_walk_visit(walk, 0, walk->topic.slots, slot_stats_each, &sums, err);

    if (status == SMQ_OK) {
        out->stats = sums.stats;
        out->has_owners = !walk->topic.shared;
        out->owners = out->has_owners ? HASH_COUNT(sums.owners) : 0;
        out->slots_unowned = out->has_owners ? sums.unowned : 0;
    }
    slot_stats_free_owners(&sums);
    return status;
}

smq_status admin_stats(smq_stats *out, struct core *core, const char *topic, smq_error *err)
{
    smq_survey_topic read = SMQ_SURVEY_TOPIC_INIT;
    struct slot_walk walk;
    smq_status status = slot_walk_begin(&walk, core, topic, err);

    if (status == SMQ_OK) {
        status = slot_stats_sum(&read, &walk, NULL, NULL, err);
        *out = read.stats;
    }
    slot_walk_end(&walk);
    return status;
}

/* --- slots --- */

struct slot_stats_visit {
    smq_slot_fn *visit;
    void *user;
};

static smq_status slot_stats_show(const struct slot_walk *walk, int32_t index, bool *more,
                                  void *user, smq_error *err)
{
    const struct slot_stats_visit *visit = user;
    const smq_slot_info info = slot_stats_info(walk, index);

    (void) err;
    *more = visit->visit(&info, visit->user);
    return SMQ_OK;
}

smq_status admin_slots(struct core *core, const char *topic, smq_slot_fn *visit, void *user,
                       smq_error *err)
{
    struct slot_stats_visit slots = {.visit = visit, .user = user};
    struct slot_walk walk;
    smq_status status = slot_walk_begin(&walk, core, topic, err);

    if (status == SMQ_OK) {
        status = slot_walk_visit(&walk, 0, walk.topic.slots, slot_stats_show, &slots, err);
    }
    slot_walk_end(&walk);
    return status;
}
