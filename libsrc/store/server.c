/* server.c - what a server says of itself.
 *
 * Thread: smq:io. */
#include <string.h>

#include "scripts.h"
#include "store/call.h"
#include "store/server.h"

enum { SERVER_WORDS_MAX = 5 };

void store_server(struct store_call *call, struct redis *redis, int32_t hash_slot,
                  enum store_server_question question, int64_t timeout_ms)
{
    static const char *const words[STORE_SERVER_QUESTIONS][SERVER_WORDS_MAX] = {
        [STORE_SERVER_INFO] = {"INFO"},
        [STORE_SERVER_TIME] = {"TIME"},
        [STORE_SERVER_CONFIG] = {"CONFIG", "GET", "appendfsync", "save", "cluster-node-timeout"},
        [STORE_SERVER_CLUSTER] = {"CLUSTER", "INFO"},
        [STORE_SERVER_NODES] = {"CLUSTER", "NODES"},
        [STORE_SERVER_WRITES] = {"OK"},
    };
    const bool writes = question == STORE_SERVER_WRITES;

    call_begin(call, writes ? &script_writable : NULL, hash_slot);
    call->command.once = writes; /* how it is now, and not whether it is better a little later */
    for (size_t i = 0; i < SERVER_WORDS_MAX && words[question][i] != NULL; i++) {
        redis_arg_string(&call->command, words[question][i]);
    }
    call_submit(call, redis, 64, timeout_ms);
}

static bool server_read_settings(struct server_facts *facts, const redisReply *reply)
{
    const char *name, *value;
    size_t len;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements % 2 != 0) {
        return false;
    }
    for (size_t i = 0; i < reply->elements; i += 2) {
        if (!reply_string(&name, &len, reply, i) || !reply_string(&value, &len, reply, i + 1)) {
            return false;
        }
        server_facts_take_setting(facts, name, value);
    }
    return true;
}

bool store_server_read(struct server_facts *facts, enum store_server_question question,
                       const struct store_result *result)
{
    static void (*const take[STORE_SERVER_QUESTIONS])(struct server_facts *, const char *) = {
        [STORE_SERVER_INFO] = server_facts_take_info,
        [STORE_SERVER_CLUSTER] = server_facts_take_cluster,
        [STORE_SERVER_NODES] = server_facts_take_nodes,
    };
    const redisReply *reply = result->reply;

    if (question == STORE_SERVER_CONFIG) {
        return server_read_settings(facts, reply);
    }
    if (take[question] == NULL || reply->type != REDIS_REPLY_STRING) {
        return false;
    }
    take[question](facts, reply->str);
    return true;
}

bool store_server_time_read(int64_t *now_ms, const struct store_result *result)
{
    int64_t seconds, micros;

    if (!reply_number(&seconds, result->reply, 0) || !reply_number(&micros, result->reply, 1) ||
        seconds < 0 || seconds > INT64_MAX / 2000 || micros < 0 || micros > 999999) {
        return false;
    }
    *now_ms = seconds * 1000 + micros / 1000;
    return true;
}
