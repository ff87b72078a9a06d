/* expiring.c - topics that expire: when each was used, and which are to be looked at.
 *
 * Thread: smq:io. */
#include <string.h>

#include "scripts.h"
#include "store/call.h"
#include "store/expiring.h"

/* Who has got topics to look at has that long; then another client gets them. */
enum { EXPIRING_AGAIN_MS = 60000 };

void store_topic_used(struct store_call *call, struct redis *redis, const char *topic,
                      const char *nonce, int64_t expires_ms, bool mark, int64_t timeout_ms)
{
    call_begin_topic(call, &script_topic, topic);
    redis_arg_string(call_argv(call, SCRIPT_TOPIC_ARGV_VERB), "used");
    redis_arg_string(call_argv(call, SCRIPT_TOPIC_ARGV_OPERANDS), nonce);
    redis_arg_int(&call->command, store_unused_ms(expires_ms));
    redis_arg_int(&call->command, 2 * store_use_ms(expires_ms));
    redis_arg_int(&call->command, mark);
    call_submit(call, redis, 2, timeout_ms);
}

bool store_topic_used_read(int64_t *left_ms, const struct store_result *result)
{
    return result->outcome == STORE_OK && reply_number(left_ms, result->reply, 1) && *left_ms >= 0;
}

static void expiring_begin(struct store_call *call, const struct script *script)
{
    call_begin(call, script, slot_hash(SLOT_EXPIRING_KEY, strlen(SLOT_EXPIRING_KEY)));
}

void store_expiring_note(struct store_call *call, struct redis *redis, const char *topic,
                         int64_t in_ms, int64_t timeout_ms)
{
    expiring_begin(call, &script_expiring);
    redis_arg_string(&call->command, SLOT_EXPIRING_KEY);
    redis_arg_string(call_argv(call, SCRIPT_EXPIRING_ARGV_VERB), "note");
    redis_arg_string(call_argv(call, SCRIPT_EXPIRING_ARGV_OPERANDS), topic);
    redis_arg_int(&call->command, in_ms);
    call_submit(call, redis, 1, timeout_ms);
}

void store_expiring_remove(struct store_call *call, struct redis *redis, const char *topic,
                           int64_t timeout_ms)
{
    expiring_begin(call, NULL);
    redis_arg_string(&call->command, "ZREM");
    redis_arg_string(&call->command, SLOT_EXPIRING_KEY);
    redis_arg_string(&call->command, topic);
    call_submit(call, redis, 1, timeout_ms);
}

void store_expiring_due(struct store_call *call, struct redis *redis, int64_t timeout_ms)
{
    expiring_begin(call, &script_expiring);
    redis_arg_string(&call->command, SLOT_EXPIRING_KEY);
    redis_arg_string(call_argv(call, SCRIPT_EXPIRING_ARGV_VERB), "due");
    redis_arg_int(call_argv(call, SCRIPT_EXPIRING_ARGV_OPERANDS), EXPIRING_AGAIN_MS);
    redis_arg_int(&call->command, STORE_DUE_MAX);
    call_submit(call, redis, STORE_DUE_MAX + 1, timeout_ms);
}

size_t store_expiring_due_read(char names[STORE_DUE_MAX][TOPIC_NAME_MAX + 1],
                               const struct store_result *result)
{
    size_t count = 0;

    if (result->outcome != STORE_OK) {
        return 0;
    }
    for (size_t i = 1; i < result->reply->elements && count < STORE_DUE_MAX; i++) {
        if (reply_text(names[count], TOPIC_NAME_MAX + 1, result->reply, i)) {
            count++;
        }
    }
    return count;
}
