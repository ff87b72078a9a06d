/* schedule.c - the scripts `schedule_read`, `schedule_put` and `schedule_tick`.
 *
 * Thread: smq:io. */
#include "store/schedule.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "scripts.h"
#include "store/call.h"

enum { HEAD = 3, WIDTH = 3, LIST_COUNT = 200, ELEMENTS_MAX = 1 << 20 };

/* Begin to read; `due`: by the times when they are due, under a key that most slots do not have. */
static void schedule_begin_read(struct store_call *call, const struct store_slot *slot,
                                const char *verb, bool due)
{
    call_begin(call, &script_schedule_read, slot->keys.hash_slot);
    redis_arg_string(&call->command, slot->keys.slot);
    if (due) {
        redis_arg_string(&call->command, slot->keys.schedule);
    } else {
        call->command.keys -= script_schedule_read.optional;
    }
    redis_arg_string(call_argv(call, SCRIPT_SCHEDULE_READ_ARGV_DEF), slot->stamp);
    redis_arg_string(call_argv(call, SCRIPT_SCHEDULE_READ_ARGV_VERB), verb);
}

void store_schedule_get(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                        const char *id, int64_t timeout_ms)
{
    schedule_begin_read(call, slot, "get", false);
    redis_arg_string(call_argv(call, SCRIPT_SCHEDULE_READ_ARGV_OPERANDS), id);
    call_submit(call, redis, HEAD + WIDTH, timeout_ms);
}

void store_schedule_list(struct store_call *call, struct redis *redis,
                         const struct store_slot *slot, uint64_t cursor, int64_t timeout_ms)
{
    char text[24];

    (void) snprintf(text, sizeof(text), "%" PRIu64, cursor);
    schedule_begin_read(call, slot, "list", false);
    redis_arg_string(call_argv(call, SCRIPT_SCHEDULE_READ_ARGV_OPERANDS), text);
    redis_arg_int(&call->command, LIST_COUNT);
    call_submit(call, redis, ELEMENTS_MAX, timeout_ms);
}

void store_schedule_due(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                        size_t skip, int64_t timeout_ms)
{
    schedule_begin_read(call, slot, "due", true);
    redis_arg_int(call_argv(call, SCRIPT_SCHEDULE_READ_ARGV_OPERANDS), STORE_SCHEDULES_DUE);
    redis_arg_int(&call->command, (int64_t) skip);
    call_submit(call, redis, HEAD + WIDTH * STORE_SCHEDULES_DUE, timeout_ms);
}

bool store_schedules_read(struct store_schedules *out, const struct store_result *result)
{
    const redisReply *reply = result->reply;
    const char *cursor;
    size_t len;
    int64_t zero;

    if (!reply_number(&out->now_ms, reply, 1) || reply->elements < HEAD ||
        (reply->elements - HEAD) % WIDTH != 0) {
        return false;
    }
    out->count = (reply->elements - HEAD) / WIDTH;
    if (reply_string(&cursor, &len, reply, 2)) {
        out->cursor = strtoull(cursor, NULL, 10);
        return true;
    }
    out->cursor = 0;
    return reply_number(&zero, reply, 2) && zero == 0;
}

bool store_schedule_read(struct store_schedule *out, const struct store_result *result,
                         size_t index)
{
    const size_t at = HEAD + WIDTH * index;
    const char *state;
    size_t id_len, len;

    if (!reply_string(&out->id, &id_len, result->reply, at) || strlen(out->id) != id_len ||
        !reply_string(&state, &len, result->reply, at + 1) ||
        !reply_string(&out->definition, &out->definition_len, result->reply, at + 2)) {
        return false;
    }
    out->there = len > 0;
    return !out->there || schedule_parse_state(&out->state, state);
}

void store_schedule_put(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                        const struct store_schedule_put *put, int64_t timeout_ms)
{
    const struct schedule_state *state = put->state;
    struct buf text = {0};
    const bool is_due = state != NULL && !state->paused && state->due_ms >= 0;

    if (state != NULL) {
        schedule_format_state(&text, state);
    }
    call_begin(call, &script_schedule_put, slot->keys.hash_slot);
    redis_arg_string(&call->command, slot->keys.slot);
    redis_arg_string(&call->command, slot->keys.schedule);
    redis_arg_string(call_argv(call, SCRIPT_SCHEDULE_PUT_ARGV_DEF), slot->stamp);
    redis_arg_string(call_argv(call, SCRIPT_SCHEDULE_PUT_ARGV_CHANNEL), slot->keys.wake);
    redis_arg_string(call_argv(call, SCRIPT_SCHEDULE_PUT_ARGV_ID), put->id);
    redis_arg_int(call_argv(call, SCRIPT_SCHEDULE_PUT_ARGV_KNOWN), put->known);
    if (is_due) {
        redis_arg_int(call_argv(call, SCRIPT_SCHEDULE_PUT_ARGV_DUE), state->due_ms);
    } else {
        redis_arg_string(call_argv(call, SCRIPT_SCHEDULE_PUT_ARGV_DUE), "");
    }
    redis_arg(call_argv(call, SCRIPT_SCHEDULE_PUT_ARGV_STATE), state != NULL ? text.data : "",
              text.len);
    redis_arg(call_argv(call, SCRIPT_SCHEDULE_PUT_ARGV_DEFINITION),
              put->definition != NULL ? put->definition->data : "",
              put->definition != NULL ? put->definition->len : 0);
    buf_fini(&text);
    call_submit_publishing(call, redis, 8, timeout_ms);
}

void store_ticks_begin(struct store_call *call, const struct store_slot *slot)
{
    call_begin(call, &script_schedule_tick, slot->keys.hash_slot);
    redis_arg_string(&call->command, slot->keys.store);
    redis_arg_string(&call->command, slot->keys.prepare);
    redis_arg_string(&call->command, slot->keys.slot);
    redis_arg_string(&call->command, slot->keys.schedule);
    if (slot->keyed) {
        redis_arg_string(&call->command, slot->keys.body);
        redis_arg_string(&call->command, slot->keys.done);
    }
    call_drop_keyed(call, slot);
    redis_arg_string(call_argv(call, SCRIPT_SCHEDULE_TICK_ARGV_DEF), slot->stamp);
    call_kind(call, SCRIPT_SCHEDULE_TICK_ARGV_KIND, slot);
    redis_arg_string(call_argv(call, SCRIPT_SCHEDULE_TICK_ARGV_CHANNEL), slot->keys.wake);
    redis_arg_int(call_argv(call, SCRIPT_SCHEDULE_TICK_ARGV_MAX_WAITING), slot->max_waiting);
    redis_arg_int(call_argv(call, SCRIPT_SCHEDULE_TICK_ARGV_DEBOUNCE_MS), slot->debounce_ms);
    redis_arg_int(call_argv(call, SCRIPT_SCHEDULE_TICK_ARGV_DEDUP_MS), slot->dedup_ms);
    redis_arg_int(call_argv(call, SCRIPT_SCHEDULE_TICK_ARGV_FIELD_FROM), slot->field_from);
    if (slot->ttl_ms > 0) {
        redis_arg_int(call_argv(call, SCRIPT_SCHEDULE_TICK_ARGV_TTL_MS), slot->ttl_ms);
    } else {
        redis_arg_string(call_argv(call, SCRIPT_SCHEDULE_TICK_ARGV_TTL_MS), "");
    }
}

void store_ticks_add(struct store_call *call, const struct store_tick *tick)
{
    const char what = (char) tick->what;

    redis_arg_string(&call->command, tick->id);
    redis_arg_int(&call->command, tick->version);
    redis_arg_int(&call->command, tick->due_ms);
    if (tick->next_ms >= 0) {
        redis_arg_int(&call->command, tick->next_ms);
    } else {
        redis_arg_string(&call->command, "");
    }
    redis_arg(&call->command, &what, 1);
}

void store_ticks(struct store_call *call, struct redis *redis, int64_t timeout_ms)
{
    call_submit_publishing(call, redis, 8, timeout_ms);
}

bool store_ticks_read(const char **results, int64_t *tick_ms, const struct store_result *result,
                      size_t count)
{
    return reply_results(results, result->reply, 1, count, "amfduso") &&
           reply_time(tick_ms, result->reply, 2);
}
