/* slot_stats.c - what topics and slots hold and have done.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/admin.h"
#include "admin/fail.h"
#include "admin/slot_stats.h"
#include "base/memory.h"
#include "base/status.h"

enum { CHUNK_SLOTS = 1024, LOOK_TRIES = 10 };

static void look_send(struct store_call *call, int32_t index, void *user)
{
    const struct looking *looking = user;
    struct store_slot slot;

    store_slot_fill(&slot, &looking->topic, looking->first + index);
    store_inspect(call, looking->core->redis, &slot, 0);
}

/* Away for a while, or damaged: the others can be looked at. */
static bool is_fault(const struct store_result *result)
{
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

static void fault_set(struct look_fault *fault, const struct looking *looking, int32_t slot,
                      const struct store_result *result)
{
    bool away = result->outcome == STORE_NOT_DONE || result->outcome == STORE_UNKNOWN;

    fault->status = away ? result->status : SMQ_DAMAGED;
    if (away) {
        snprintf(fault->text, sizeof(fault->text), "slot %" PRId32 " of topic %.60s: %.80s", slot,
                 looking->topic.name, result->text);
    } else {
        snprintf(fault->text, sizeof(fault->text),
                 "Redis has lost a part of slot %" PRId32
                 " of topic %.40s: run slotmq topic repair "
                 "%.40s",
                 slot, looking->topic.name, looking->topic.name);
    }
}

static enum calls_next look_done(const struct store_result *result, int32_t index, void *user,
                                 smq_error *err)
{
    struct looking *looking = user;
    struct look_fault *fault = &looking->faults[index];

    fault->status = SMQ_OK;
    if (result->outcome == STORE_OK && store_inspect_read(&looking->looks[index], result)) {
        looking->good++;
        return CALLS_DONE;
    }
    if (!is_fault(result)) {
        return admin_fail(err, &looking->topic, looking->first + index, result);
    }
    memset(&looking->looks[index], 0, sizeof(looking->looks[index]));
    looking->looks[index].oldest_due_ms = looking->looks[index].next_due_ms = -1;
    fault_set(fault, looking, looking->first + index, result);
    looking->refused += result->outcome == STORE_NO_TOPIC || result->outcome == STORE_STALE ? 1 : 0;
    return CALLS_DONE;
}

static smq_status look_once(struct looking *looking, smq_error *err)
{
    looking->refused = 0;
    looking->good = 0;
    return calls_run(
        looking->core,
        &(struct calls_job){
            .count = looking->count, .user = looking, .send = look_send, .done = look_done},
        err);
}

/* Slots that refuse the definition may know a newer one, or none any more.  Refused before and
 * after a read that finds the same one: they are damaged. */
static smq_status look_surely(struct looking *looking, smq_error *err)
{
    char before[TOPIC_STAMP_MAX], after[TOPIC_STAMP_MAX];
    bool same = false;
    smq_status status = look_once(looking, err);

    for (int i = 0; i < LOOK_TRIES && status == SMQ_OK && looking->refused > 0 && !same; i++) {
        struct topic stored;

        topic_stamp(before, &looking->topic);
        status = calls_definition(&stored, looking->core, looking->topic.name, err);
        if (status != SMQ_OK) {
            return status;
        }
        if (strcmp(stored.nonce, looking->topic.nonce) != 0) {
            return status_set(err, SMQ_NO_TOPIC, "topic %s was deleted meanwhile", stored.name);
        }
        looking->topic = stored;
        topic_stamp(after, &stored);
        same = strcmp(before, after) == 0;
        status = look_once(looking, err);
    }
    return status;
}

smq_status looking_faults(const struct looking *looking, smq_error *err)
{
    char more[40] = "";

    if (looking->broken == 0) {
        return SMQ_OK;
    }
    if (looking->broken > 1) {
        snprintf(more, sizeof(more), "; and %" PRId32 " more slots", looking->broken - 1);
    }
    return status_set(err, looking->why.status, "%s%s (all others were looked at)",
                      looking->why.text, more);
}

smq_status looking_run(struct looking *looking, int32_t first, int32_t end, smq_error *err)
{
    smq_status status;

    looking->first = first;
    looking->count = end - first < CHUNK_SLOTS ? end - first : CHUNK_SLOTS;
    status = look_surely(looking, err);
    for (int32_t i = 0; i < looking->count && status == SMQ_OK; i++) {
        const struct look_fault *fault = &looking->faults[i];

        if (fault->status != SMQ_OK && looking->broken++ == 0) {
            (void) status_set(&looking->why, fault->status, "%s", fault->text);
        }
    }
    if (status == SMQ_OK && looking->good == 0 && looking->count > 0 &&
        looking->faults[0].status != SMQ_DAMAGED) {
        return status_copy(err, &looking->why);
    }
    return status;
}

smq_status looking_begin(struct looking *looking, struct core *core, const char *topic,
                         smq_error *err)
{
    smq_status status = topic_check_name(topic, err);

    *looking = (struct looking){.core = core};
    if (status == SMQ_OK) {
        status = calls_definition(&looking->topic, core, topic, err);
    }
    if (status == SMQ_OK) {
        int32_t slots = looking->topic.slots;

        looking->looks = memory_new((size_t) (slots < CHUNK_SLOTS ? slots : CHUNK_SLOTS) *
                                    sizeof(*looking->looks));
        looking->faults = memory_new((size_t) (slots < CHUNK_SLOTS ? slots : CHUNK_SLOTS) *
                                     sizeof(*looking->faults));
    }
    return status;
}

void looking_end(struct looking *looking)
{
    free(looking->looks);
    free(looking->faults);
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

static void stats_fault(smq_stats *stats, const struct look_fault *fault)
{
    stats->slots_damaged += fault->status == SMQ_DAMAGED ? 1 : 0;
    stats->slots_silent += fault->status != SMQ_OK && fault->status != SMQ_DAMAGED ? 1 : 0;
}

static smq_status stats_each(const struct looking *looking, int32_t index, bool *more, void *user,
                             smq_error *err)
{
    (void) more;
    (void) err;
    stats_add(user, &looking->looks[index]);
    stats_fault(user, &looking->faults[index]);
    return SMQ_OK;
}

smq_status admin_stats(smq_stats *out, struct core *core, const char *topic, smq_error *err)
{
    smq_stats stats = SMQ_STATS_INIT;
    struct looking looking;
    smq_status status = looking_begin(&looking, core, topic, err);

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
    stats_fault(&info.stats, &looking->faults[index]);
    info.status = looking->faults[index].status;
    info.why = info.status != SMQ_OK ? looking->faults[index].text : "";
    *more = visit->visit(&info, visit->user);
    return SMQ_OK;
}

smq_status admin_slots(struct core *core, const char *topic, smq_slot_fn *visit, void *user,
                       smq_error *err)
{
    struct slots_visit slots = {.visit = visit, .user = user};
    struct looking looking;
    smq_status status = looking_begin(&looking, core, topic, err);

    if (status == SMQ_OK) {
        status = looking_visit(&looking, 0, looking.topic.slots, slots_each, &slots, err);
    }
    looking_end(&looking);
    return status;
}
