/* look.c - the stats of a slot.
 *
 * Thread: smq:io. */
#include "scripts.h"
#include "store/call.h"
#include "store/slot.h"

void store_inspect(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                   int64_t timeout_ms)
{
    call_begin_slot(call, &script_inspect, slot);
    call_kind(call, SCRIPT_INSPECT_ARGV_KIND, slot);
    call_submit(call, redis, 32, timeout_ms);
}

static bool look_read_gauges(struct store_inspected *out, const redisReply *reply)
{
    return reply_number(&out->now_ms, reply, 1) && reply_count(&out->waiting, reply, 2) &&
           reply_count(&out->due, reply, 3) && reply_count(&out->claimed, reply, 4) &&
           reply_count(&out->resting, reply, 5) && reply_count(&out->dead, reply, 6) &&
           reply_time(&out->oldest_due_ms, reply, 7) && reply_time(&out->next_due_ms, reply, 8);
}

static bool look_read_counters(struct store_inspected *out, const redisReply *reply)
{
    return reply_count(&out->sent, reply, 11) && reply_count(&out->merged, reply, 12) &&
           reply_count(&out->done, reply, 13) && reply_count(&out->retried, reply, 14) &&
           reply_count(&out->rejected, reply, 15) && reply_count(&out->expired, reply, 16) &&
           reply_count(&out->released, reply, 17) && reply_count(&out->lease_lost, reply, 18);
}

static bool look_read_deaths(struct store_inspected *out, const redisReply *reply)
{
    return reply_count(&out->dead_rejected, reply, 20) &&
           reply_count(&out->dead_failed, reply, 21) &&
           reply_count(&out->dead_crashed, reply, 22) &&
           reply_count(&out->dead_timed_out, reply, 23) &&
           reply_count(&out->dead_expired, reply, 24) &&
           reply_count(&out->dead_bodiless, reply, 25);
}

static bool look_read_paused(bool *out, const redisReply *reply)
{
    uint64_t paused;

    if (!reply_count(&paused, reply, 19)) {
        return false;
    }
    *out = paused != 0;
    return true;
}

bool store_inspect_read(struct store_inspected *out, const struct store_result *result)
{
    const redisReply *reply = result->reply;

    if (!look_read_gauges(out, reply) || !look_read_counters(out, reply) ||
        !look_read_paused(&out->paused, reply) || !look_read_deaths(out, reply) ||
        !reply_count(&out->duplicates, reply, 26) || !reply_count(&out->scheduled, reply, 27) ||
        !reply_text(out->owner, sizeof(out->owner), reply, 9)) {
        return false;
    }
    return reply_token(out->token, reply, 10);
}
