/* look.c - the stats of a slot.
 *
 * Thread: smq:io. */
#include "model/statistic.h"
#include "scripts.h"
#include "store/call.h"
#include "store/slot.h"

enum { LOOK_COUNTERS = 13 }; /* where the counters begin in the reply */

void store_inspect(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                   int64_t timeout_ms)
{
    call_begin_slot(call, &script_inspect, slot);
    call_kind(call, SCRIPT_INSPECT_ARGV_KIND, slot);
    call_counters(call, SCRIPT_INSPECT_ARGV_COUNTERS);
    call_submit(call, redis, LOOK_COUNTERS + statistic_count, timeout_ms);
}

/* The age of a due message, of which 0 is none; unknown if the script does not know its time. */
static bool look_read_times(smq_stats *out, int64_t now_ms, const redisReply *reply)
{
    int64_t oldest, next;

    if (!reply_time(&oldest, reply, 7) || !reply_time(&next, reply, 8)) {
        return false;
    }
    if (out->due > 0) {
        out->oldest_due_age_ms = oldest < 0 ? SMQ_AGE_UNKNOWN : now_ms - oldest;
    }
    out->next_due_at_ms = next < 0 ? 0 : next;
    return true;
}

static bool look_read_gauges(struct store_inspected *out, const redisReply *reply)
{
    smq_stats *stats = &out->stats;

    return reply_number(&out->now_ms, reply, 1) && reply_count(&stats->waiting, reply, 2) &&
           reply_count(&stats->due, reply, 3) && reply_count(&stats->claimed, reply, 4) &&
           reply_count(&stats->resting, reply, 5) && reply_count(&stats->dead, reply, 6) &&
           look_read_times(stats, out->now_ms, reply) &&
           reply_count(&stats->slots_paused, reply, 11) && stats->slots_paused <= 1 &&
           reply_count(&out->scheduled, reply, 12);
}

static bool look_read_counters(smq_stats *out, const redisReply *reply)
{
    size_t place = LOOK_COUNTERS;

    for (size_t i = 0; i < statistic_count; i++) {
        uint64_t count;

        if (statistic_table[i].info.kind != SMQ_NUMBER_COUNTER) {
            continue;
        }
        if (!reply_count(&count, reply, place++)) {
            return false;
        }
        statistic_set(&statistic_table[i], out, (int64_t) count);
    }
    return true;
}

bool store_inspect_read(struct store_inspected *out, const struct store_result *result)
{
    const redisReply *reply = result->reply;

    *out = (struct store_inspected){.stats = SMQ_STATS_INIT};
    return look_read_gauges(out, reply) && look_read_counters(&out->stats, reply) &&
           reply_text(out->owner, sizeof(out->owner), reply, 9) &&
           reply_token(out->token, reply, 10);
}
