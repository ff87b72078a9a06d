/* tree.c - the script of the tree of a fleet.
 *
 * Thread: smq:io. */
#include "store/tree.h"

#include <stdio.h>
#include <string.h>

#include "model/slot.h"
#include "scripts.h"
#include "store/call.h"

void store_tree_fill(struct store_tree *out, const char *root)
{
    (void) snprintf(out->key, sizeof(out->key), "tree{slotmq:%s}", root);
    out->hash_slot = (uint16_t) slot_hash(out->key, strlen(out->key));
}

void store_tree_channel(char *out, size_t size, const struct store_tree *tree, const char *channel)
{
    (void) snprintf(out, size, "%s:%s", tree->key, channel);
}

void store_tree_begin(struct store_call *call, const struct store_tree *tree)
{
    call_begin(call, &script_tree, tree->hash_slot);
    redis_arg_string(&call->command, tree->key);
}

void store_tree_add(struct store_call *call, const char *data, size_t len)
{
    redis_arg(&call->command, data, len);
}

void store_tree_call(struct store_call *call, struct redis *redis, int64_t timeout_ms)
{
    call_submit(call, redis, STORE_TREE_WORDS_MAX, timeout_ms);
}

void store_tree_touch(struct store_call *call, struct redis *redis, const struct store_tree *tree,
                      int64_t timeout_ms)
{
    call_begin(call, NULL, tree->hash_slot);
    redis_arg_string(&call->command, "HSET");
    redis_arg_string(&call->command, tree->key);
    redis_arg_string(&call->command, "");
    redis_arg_string(&call->command, "");
    call_submit(call, redis, 1, timeout_ms);
}

size_t store_tree_count(const struct store_result *result)
{
    return result->reply->elements - 1;
}

bool store_tree_word(const char **data, size_t *len, const struct store_result *result,
                     size_t index)
{
    return reply_string(data, len, result->reply, index + 1);
}
