/* send.c - the script `send`.
 *
 * Thread: smq:io. */
#include "scripts.h"
#include "store/call.h"

void store_send_begin(struct store_call *call, const struct store_slot *slot, const char *producer,
                      uint64_t sequence)
{
    call_begin(call, &script_send, slot->keys.hash_slot);
    call->command.apart = true; /* sends keep their order, and consume calls theirs */
    redis_arg_string(&call->command, slot->keys.store);
    redis_arg_string(&call->command, slot->keys.prepare);
    redis_arg_string(&call->command, slot->keys.slot);
    call_body(call, slot);
    redis_arg_string(call_argv(call, SCRIPT_SEND_ARGV_DEF), slot->stamp);
    call_kind(call, SCRIPT_SEND_ARGV_KIND, slot);
    redis_arg_string(call_argv(call, SCRIPT_SEND_ARGV_CHANNEL), slot->keys.wake);
    redis_arg_int(call_argv(call, SCRIPT_SEND_ARGV_MAX_WAITING), slot->max_waiting);
    redis_arg_int(call_argv(call, SCRIPT_SEND_ARGV_DEBOUNCE_MS), slot->debounce_ms);
    redis_arg_string(call_argv(call, SCRIPT_SEND_ARGV_PRODUCER), producer != NULL ? producer : "-");
    redis_arg_int(call_argv(call, SCRIPT_SEND_ARGV_SEQUENCE), (int64_t) sequence);
}

/* Add a number, or an empty argument for a negative one. */
static void send_arg_optional(struct store_call *call, int64_t value)
{
    if (value < 0) {
        redis_arg_string(&call->command, "");
    } else {
        redis_arg_int(&call->command, value);
    }
}

void store_send_add(struct store_call *call, const struct store_slot *slot,
                    const struct store_message *message)
{
    redis_arg(&call->command, message->member, message->member_len);
    redis_arg_string(&call->command, message->when);
    if (slot->keyed) {
        redis_arg(&call->command, message->body, message->body_len);
        send_arg_optional(call, message->max_retries);
        send_arg_optional(call, message->ttl_ms);
    }
}

void store_send(struct store_call *call, struct redis *redis, int64_t timeout_ms)
{
    call_submit(call, redis, 8, timeout_ms);
}

bool store_send_read(const char **results, const struct store_result *result, size_t count)
{
    return reply_results(results, result->reply, 1, count, "amfu");
}
