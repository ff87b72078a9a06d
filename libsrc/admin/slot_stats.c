/* slot_stats.c - the stats of topics and slots.
 *
 * Thread: the caller's. */
#include <stdlib.h>
#include <string.h>

#include "admin/admin.h"
#include "admin/slot_walk.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"
#include "model/statistic.h"

/* --- stats --- */

static void slot_stats_fault(smq_stats *stats, const struct slot_walk_fault *fault)
{
    stats->slots_damaged += fault->status == SMQ_DAMAGED ? 1 : 0;
    stats->slots_silent += fault->status != SMQ_OK && fault->status != SMQ_DAMAGED ? 1 : 0;
}

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
};

static void slot_stats_add_owner(struct slot_sums *sums, const struct store_inspected *look)
{
    struct slot_owner *owner = NULL;

    if (look->owner[0] == '\0') {
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

static smq_status slot_stats_each(const struct slot_walk *walk, int32_t index, bool *more,
                                  void *user, smq_error *err)
{
    struct slot_sums *sums = user;

    (void) more;
    (void) err;
    statistic_add_slot(&sums->stats, &walk->looks[index].stats);
    slot_stats_fault(&sums->stats, &walk->faults[index]);
    if (walk->faults[index].status == SMQ_OK) {
        slot_stats_add_owner(sums, &walk->looks[index]);
    }
    return SMQ_OK;
}

/* `owners` may be NULL. */
static smq_status slot_stats_sum(smq_stats *out, struct metrics_owners *owners,
                                 struct slot_walk *walk, smq_error *err)
{
    struct slot_sums sums = {.stats = SMQ_STATS_INIT};
    smq_status status = slot_walk_visit(walk, 0, walk->topic.slots, slot_stats_each, &sums, err);

    if (status == SMQ_OK) {
        *out = sums.stats;
    }
    if (status == SMQ_OK && owners != NULL) {
        *owners = (struct metrics_owners){.known = !walk->topic.shared,
                                          .owners = HASH_COUNT(sums.owners),
                                          .slots_unowned = sums.unowned};
    }
    slot_stats_free_owners(&sums);
    return status;
}

smq_status admin_stats(smq_stats *out, struct core *core, const char *topic, smq_error *err)
{
    struct slot_walk walk;
    smq_status status = slot_walk_begin(&walk, core, topic, err);

    if (status == SMQ_OK) {
        status = slot_stats_sum(out, NULL, &walk, err);
    }
    slot_walk_end(&walk);
    return status;
}

/* --- stats of many topics --- */

enum { TOPICS_AT_ONCE = 256 };

/* Read up to TOPICS_AT_ONCE of them. */
static void slot_stats_read(struct admin_stats *all, size_t count, struct core *core)
{
    struct fanout_definition *definitions = memory_new(count * sizeof(*definitions));
    struct slot_walk *walks = memory_new(count * sizeof(*walks));
    int32_t found = 0;

    for (size_t i = 0; i < count; i++) {
        definitions[i].name = all[i].topic;
    }
    fanout_definitions(definitions, count, core);
    for (size_t i = 0; i < count; i++) {
        all[i].err = definitions[i].err;
        if (all[i].err.status == SMQ_OK) {
            (void) topic_check_holds(&definitions[i].topic, &all[i].err);
        }
        if (all[i].err.status == SMQ_OK) {
            slot_walk_init(&walks[found++], core, &definitions[i].topic);
        }
    }
    slot_walk_read_first(walks, found, core);
    for (size_t i = 0, next = 0; i < count; i++) {
        if (all[i].err.status == SMQ_OK) {
            (void) slot_stats_sum(&all[i].stats, &all[i].owners, &walks[next], &all[i].err);
            slot_walk_end(&walks[next++]);
        }
    }
    free(walks);
    free(definitions);
}

void admin_stats_many(struct admin_stats *all, size_t count, struct core *core)
{
    for (size_t i = 0; i < count; i += TOPICS_AT_ONCE) {
        slot_stats_read(all + i, count - i < TOPICS_AT_ONCE ? count - i : TOPICS_AT_ONCE, core);
    }
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
    const struct store_inspected *look = &walk->looks[index];
    smq_slot_info info = {.struct_size = sizeof(info),
                          .topic = walk->topic.name,
                          .slot = walk->first + index,
                          .owner = look->owner,
                          .token = look->token,
                          .stats = look->stats};

    (void) err;
    slot_stats_fault(&info.stats, &walk->faults[index]);
    info.status = walk->faults[index].status;
    info.why = info.status != SMQ_OK ? walk->faults[index].text : "";
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
