/* admin_look.c - what topics and slots hold and have done.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "queue/admin.h"
#include "queue/admin_fail.h"
#include "queue/admin_look.h"

enum { CHUNK_SLOTS = 1024 };

static void look_send(struct store_call *call, int32_t index, void *user)
{
    const struct looking *looking = user;
    struct store_slot slot;

    store_slot_fill(&slot, &looking->topic, looking->first + index);
    store_inspect(call, looking->hub->redis, &slot, 0);
}

static enum calls_next look_done(const struct store_result *result, int32_t index, void *user,
                                 smq_error *err)
{
    struct looking *looking = user;

    if (result->outcome == STORE_OK && store_inspect_read(&looking->looks[index], result)) {
        return CALLS_DONE;
    }
    return admin_fail(err, &looking->topic, looking->first + index, result);
}

smq_status looking_run(struct looking *looking, int32_t first, int32_t end, smq_error *err)
{
    looking->first = first;
    looking->count = end - first < CHUNK_SLOTS ? end - first : CHUNK_SLOTS;
    return calls_run(
        looking->hub,
        &(struct calls_job){
            .count = looking->count, .user = looking, .send = look_send, .done = look_done},
        err);
}

smq_status looking_begin(struct looking *looking, struct hub *hub, const char *topic,
                         smq_error *err)
{
    smq_status status = topic_check_name(topic, err);

    *looking = (struct looking){.hub = hub};
    if (status == SMQ_OK) {
        status = calls_definition(&looking->topic, hub, topic, err);
    }
    if (status == SMQ_OK) {
        int32_t slots = looking->topic.slots;

        looking->looks = memory_new((size_t) (slots < CHUNK_SLOTS ? slots : CHUNK_SLOTS) *
                                    sizeof(*looking->looks));
    }
    return status;
}

void looking_end(struct looking *looking)
{
    free(looking->looks);
}

smq_status looking_visit(struct looking *looking, int32_t first, int32_t end, looking_fn *each,
                         void *user, smq_error *err)
{
    bool more = true;

    while (first < end && more) {
        smq_status status = looking_run(looking, first, end, err);

        for (int32_t i = 0; i < looking->count && more && status == SMQ_OK; i++) {
            status = each(looking, i, &more, user, err);
        }
        if (status != SMQ_OK) {
            return status;
        }
        first += looking->count;
    }
    return SMQ_OK;
}

/* --- stats --- */

/* How long the oldest due message of a slot has been due. */
static int64_t age_of(const struct store_look *look)
{
    if (look->due == 0) {
        return 0;
    }
    return look->oldest_due_ms < 0 ? SMQ_AGE_UNKNOWN : look->now_ms - look->oldest_due_ms;
}

/* One that is not known makes the whole unknown. */
static int64_t older(int64_t a, int64_t b)
{
    if (a == SMQ_AGE_UNKNOWN || b == SMQ_AGE_UNKNOWN) {
        return SMQ_AGE_UNKNOWN;
    }
    return a > b ? a : b;
}

static void stats_add(smq_stats *stats, const struct store_look *look)
{
    stats->waiting += look->waiting;
    stats->due += look->due;
    stats->claimed += look->claimed;
    stats->resting += look->resting;
    stats->dead += look->dead;
    stats->oldest_due_age_ms = older(stats->oldest_due_age_ms, age_of(look));
    if (look->next_due_ms >= 0 &&
        (stats->next_due_at_ms == 0 || look->next_due_ms < stats->next_due_at_ms)) {
        stats->next_due_at_ms = look->next_due_ms;
    }
    stats->sent += look->sent;
    stats->merged += look->merged;
    stats->done += look->done;
    stats->retried += look->retried;
    stats->rejected += look->rejected;
    stats->expired += look->expired;
    stats->released += look->released;
    stats->lease_lost += look->lease_lost;
    stats->slots_paused += look->paused;
}

static smq_status stats_each(const struct looking *looking, int32_t index, bool *more, void *user,
                             smq_error *err)
{
    (void) more;
    (void) err;
    stats_add(user, &looking->looks[index]);
    return SMQ_OK;
}

smq_status admin_stats(smq_stats *out, struct hub *hub, const char *topic, smq_error *err)
{
    smq_stats stats = SMQ_STATS_INIT;
    struct looking looking;
    smq_status status = looking_begin(&looking, hub, topic, err);

    if (status == SMQ_OK) {
        status = looking_visit(&looking, 0, looking.topic.slots, stats_each, &stats, err);
    }
    if (status == SMQ_OK) {
        *out = stats;
    }
    looking_end(&looking);
    return status;
}

/* --- slots --- */

struct slots_visit {
    smq_slot_fn *visit;
    void *user;
};

static smq_status slots_each(const struct looking *looking, int32_t index, bool *more, void *user,
                             smq_error *err)
{
    const struct slots_visit *visit = user;
    const struct store_look *look = &looking->looks[index];
    smq_slot_info info = {.struct_size = sizeof(info),
                          .topic = looking->topic.name,
                          .slot = looking->first + index,
                          .owner = look->owner,
                          .token = look->token,
                          .stats = SMQ_STATS_INIT};

    (void) err;
    stats_add(&info.stats, look);
    *more = visit->visit(&info, visit->user);
    return SMQ_OK;
}

smq_status admin_slots(struct hub *hub, const char *topic, smq_slot_fn *visit, void *user,
                       smq_error *err)
{
    struct slots_visit slots = {.visit = visit, .user = user};
    struct looking looking;
    smq_status status = looking_begin(&looking, hub, topic, err);

    if (status == SMQ_OK) {
        status = looking_visit(&looking, 0, looking.topic.slots, slots_each, &slots, err);
    }
    looking_end(&looking);
    return status;
}
