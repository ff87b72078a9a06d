/* edit.c - messages that are removed, requeued, rescheduled; topics that are altered and paused.
 *
 * Thread: smq:io. */
#include "scripts.h"
#include "store/call.h"

static void begin_edit(struct store_call *call, const struct store_slot *slot, const char *op)
{
    call_begin_slot(call, &script_edit, slot);
    call_kind(call, slot);
    redis_arg_string(&call->command, slot->keys.wake);
    redis_arg_string(&call->command, op);
}

void store_remove_begin(struct store_call *call, const struct store_slot *slot, smq_state state)
{
    begin_edit(call, slot, "remove");
    call_state(call, state);
}

void store_requeue_begin(struct store_call *call, const struct store_slot *slot)
{
    begin_edit(call, slot, "requeue");
}

void store_edit_add(struct store_call *call, const void *name, size_t len)
{
    redis_arg(&call->command, name, len);
}

void store_edit(struct store_call *call, struct redis *redis, int64_t timeout_ms)
{
    call_submit(call, redis, 8, timeout_ms);
}

void store_reschedule(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                      const void *member, size_t len, const char *when, int64_t timeout_ms)
{
    begin_edit(call, slot, "reschedule");
    redis_arg(&call->command, member, len);
    redis_arg_string(&call->command, when);
    store_edit(call, redis, timeout_ms);
}

bool store_edit_read(const char **results, const struct store_result *result, size_t count)
{
    return reply_results(results, result->reply, 1, count, "01");
}

/* --- topics --- */

void store_topic_alter(struct store_call *call, struct redis *redis, const struct topic *topic,
                       int64_t timeout_ms)
{
    struct buf definition = {0};

    topic_format(&definition, topic);
    call_begin_topic(call, &script_topic, topic->name);
    redis_arg_string(&call->command, "alter");
    redis_arg_string(&call->command, topic->nonce);
    redis_arg_int(&call->command, topic->version);
    redis_arg(&call->command, definition.data, definition.len);
    call_submit(call, redis, 8, timeout_ms);
    buf_fini(&definition);
}

bool store_topic_alter_read(uint32_t *version, const struct store_result *result)
{
    uint64_t number;

    if (!reply_count(&number, result->reply, 1) || number == 0 || number > UINT32_MAX) {
        return false;
    }
    *version = (uint32_t) number;
    return true;
}

void store_topic_pause(struct store_call *call, struct redis *redis, const struct topic *topic,
                       bool paused, int64_t timeout_ms)
{
    call_begin_topic(call, &script_topic, topic->name);
    redis_arg_string(&call->command, "pause");
    redis_arg_string(&call->command, topic->nonce);
    redis_arg_int(&call->command, paused);
    call_submit(call, redis, 8, timeout_ms);
}

static void begin_slot_hash(struct store_call *call, const struct script *script,
                            const struct store_slot *slot)
{
    call_begin(call, script, slot->keys.hash_slot);
    redis_arg_string(&call->command, slot->keys.slot);
    redis_arg_string(&call->command, slot->stamp);
    redis_arg_string(&call->command, slot->keys.wake);
}

void store_slot_alter(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                      int64_t timeout_ms)
{
    begin_slot_hash(call, &script_slot_alter, slot);
    call_submit(call, redis, 8, timeout_ms);
}

void store_slot_pause(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                      bool paused, int64_t timeout_ms)
{
    begin_slot_hash(call, &script_slot_pause, slot);
    redis_arg_int(&call->command, paused);
    call_submit(call, redis, 8, timeout_ms);
}
