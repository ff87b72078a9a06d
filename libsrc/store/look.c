/* look.c - the stats of a slot.
 *
 * Thread: smq:io. */
#include <string.h>

#include "model/overdue.h"
#include "model/statistic.h"
#include "scripts.h"
#include "store/call.h"
#include "store/slot.h"

enum { LOOK_COUNTERS = 18 }; /* where the counters begin in the reply */

void store_inspect(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                   int64_t timeout_ms)
{
    call_begin_slot(call, &script_inspect, slot);
    call_kind(call, SCRIPT_INSPECT_ARGV_KIND, slot);
    call_counters(call, SCRIPT_INSPECT_ARGV_COUNTERS);
    redis_arg_string(&call->command, "tick"); /* when the first of its schedules is due */
    call_submit(call, redis, LOOK_COUNTERS + statistic_count, timeout_ms);
}

static bool look_read_oldest(struct store_inspected *out, const redisReply *reply)
{
    struct store_note note;

    if (!reply_note(&note, reply, 16) || note.entry_len > STORE_OLDEST_MAX) {
        return false;
    }
    out->oldest.since_ms = note.since_ms;
    memcpy(out->oldest.owner, note.owner, sizeof(note.owner));
    out->oldest.entry_len = note.entry_len;
    memcpy(out->oldest.entry, note.entry, note.entry_len);
    return true;
}

static bool look_read_attempts(struct store_inspected *out, const redisReply *reply)
{
    uint64_t attempts;

    if (!reply_count(&attempts, reply, 17) || attempts > 2 * TOPIC_RETRIES_MAX + 1) {
        return false;
    }
    out->oldest.retries = (int32_t) attempts / 2;
    return true;
}

/* What waits and is due, and the claims: model/overdue.h says what that means. */
static bool look_read_overdue(struct store_inspected *out, const redisReply *reply,
                              int64_t lease_ms)
{
    struct overdue_look look = {
        .now_ms = out->now_ms, .claimed = out->stats.claimed, .lease_ms = lease_ms};

    if (!reply_count(&look.waiting_due, reply, 3) ||
        !reply_time(&look.waiting_since_ms, reply, 7) || !reply_count(&look.stalled, reply, 13) ||
        !reply_time(&look.first_end_ms, reply, 14) ||
        !reply_time(&look.stalled_since_ms, reply, 15) || !look_read_oldest(out, reply) ||
        !look_read_attempts(out, reply) || look.stalled > look.claimed) {
        return false;
    }
    look.noted_ms = out->oldest.since_ms;
    overdue_count(&out->stats, &look);
    return true;
}

static bool look_read_gauges(struct store_inspected *out, const redisReply *reply)
{
    smq_stats *stats = &out->stats;
    int64_t next;

    if (!reply_number(&out->now_ms, reply, 1) || !reply_count(&stats->waiting, reply, 2) ||
        !reply_count(&stats->claimed, reply, 4) || !reply_count(&stats->resting, reply, 5) ||
        !reply_count(&stats->dead, reply, 6) || !reply_time(&next, reply, 8) ||
        !reply_count(&stats->slots_paused, reply, 11) || stats->slots_paused > 1 ||
        !reply_count(&out->scheduled, reply, 12)) {
        return false;
    }
    stats->next_due_at_ms = next < 0 ? 0 : next;
    return true;
}

static bool look_read_counters(struct store_inspected *out, const redisReply *reply)
{
    size_t place = LOOK_COUNTERS;
    int64_t tick_ms;

    for (size_t i = 0; i < statistic_count; i++) {
        uint64_t count;

        if (statistic_table[i].info.kind != SMQ_NUMBER_COUNTER) {
            continue;
        }
        if (!reply_count(&count, reply, place++)) {
            return false;
        }
        statistic_set(&statistic_table[i], &out->stats, (int64_t) count);
    }
    if (!reply_number(&tick_ms, reply, place)) {
        return false;
    }
    if (tick_ms > 0 && tick_ms < out->now_ms && out->stats.slots_paused == 0) {
        out->stats.tick_late_ms = out->now_ms - tick_ms;
    }
    return true;
}

bool store_inspect_read(struct store_inspected *out, const struct store_result *result,
                        int64_t lease_ms)
{
    const redisReply *reply = result->reply;

    *out = (struct store_inspected){.stats = SMQ_STATS_INIT};
    return look_read_gauges(out, reply) && look_read_overdue(out, reply, lease_ms) &&
           look_read_counters(out, reply) && reply_text(out->owner, sizeof(out->owner), reply, 9) &&
           reply_token(out->token, reply, 10);
}
