/* edit.c - removing, requeueing and rescheduling messages.
 *
 * Thread: smq:io. */
#include "scripts.h"
#include "store/call.h"
#include "store/message.h"

static void edit_begin_edit(struct store_call *call, const struct store_slot *slot, const char *op)
{
    call_begin_slot(call, &script_edit, slot);
    call_kind(call, SCRIPT_EDIT_ARGV_KIND, slot);
    redis_arg_string(call_argv(call, SCRIPT_EDIT_ARGV_CHANNEL), slot->keys.wake);
    redis_arg_string(call_argv(call, SCRIPT_EDIT_ARGV_VERB), op);
}

void store_remove_begin(struct store_call *call, const struct store_slot *slot, smq_state state,
                        bool scheduled)
{
    edit_begin_edit(call, slot, "remove");
    call_state(call, SCRIPT_EDIT_ARGV_OPERANDS, state, scheduled);
}

void store_requeue_begin(struct store_call *call, const struct store_slot *slot)
{
    edit_begin_edit(call, slot, "requeue");
}

void store_edit_add(struct store_call *call, const void *name, size_t len)
{
    redis_arg(&call->command, name, len);
}

void store_edit(struct store_call *call, struct redis *redis, int64_t timeout_ms)
{
    call_submit_publishing(call, redis, 8, timeout_ms);
}

void store_reschedule(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                      const void *member, size_t len, const char *when, int64_t timeout_ms)
{
    edit_begin_edit(call, slot, "reschedule");
    redis_arg(call_argv(call, SCRIPT_EDIT_ARGV_OPERANDS), member, len);
    redis_arg_string(&call->command, when);
    store_edit(call, redis, timeout_ms);
}

bool store_edit_read(const char **results, const struct store_result *result, size_t count)
{
    return reply_results(results, result->reply, 1, count, "01");
}
