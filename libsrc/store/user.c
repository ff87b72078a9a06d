/* user.c - what users of Redis may do, as ACL says.
 *
 * Thread: smq:io. */
#include <stdio.h>
#include <string.h>

#include "store/call.h"
#include "store/server.h"

enum { USERS_MAX = 10000, USER_WORDS_MAX = 5 };

void store_users(struct store_call *call, struct redis *redis, bool all, int64_t timeout_ms)
{
    call_begin(call, NULL, REDIS_ANY_NODE);
    redis_arg_string(&call->command, "ACL");
    redis_arg_string(&call->command, all ? "USERS" : "WHOAMI");
    call_submit(call, redis, USERS_MAX, timeout_ms);
}

size_t store_users_count(const struct store_result *result)
{
    return result->reply->type == REDIS_REPLY_ARRAY ? result->reply->elements : 1;
}

bool store_users_read(const char **user, const struct store_result *result, size_t index)
{
    const redisReply *reply = result->reply;
    size_t len;

    if (reply->type == REDIS_REPLY_ARRAY) {
        return reply_string(user, &len, reply, index) && strlen(*user) == len;
    }
    *user = reply->str;
    return index == 0 && reply->type == REDIS_REPLY_STRING && strlen(*user) == reply->len;
}

void store_user_ask(struct store_call *call, struct redis *redis,
                    const struct store_user_keys *keys, const char *user,
                    enum store_user_question question, int64_t timeout_ms)
{
    const struct slot_keys *slot = &keys->slot.keys;
    char changes[STORE_TREE_KEY_MAX + 2];
    const char *const words[STORE_USER_QUESTIONS][USER_WORDS_MAX] = {
        [STORE_USER_ON] = {NULL},
        [STORE_USER_RUNS] = {"EVALSHA", "none", "0"},
        [STORE_USER_WRITES] = {"ZADD", slot->store, "0", "m"},
        [STORE_USER_PUBLISHES] = {"SPUBLISH", slot->wake, ""},
        [STORE_USER_COUNTS] = {"PUBSUB", "SHARDNUMSUB", slot->wake},
        [STORE_USER_CONSUMES] = {"SSUBSCRIBE", slot->wake},
        [STORE_USER_ASKS] = {"INFO", "replication"},
        [STORE_USER_TREE] = {"HSET", keys->tree.key, "f", "v"},
        [STORE_USER_HEARS] = {"SSUBSCRIBE", changes},
    };

    store_tree_channel(changes, sizeof(changes), &keys->tree, "");
    call_begin(call, NULL, REDIS_ANY_NODE);
    redis_arg_string(&call->command, "ACL");
    redis_arg_string(&call->command, question == STORE_USER_ON ? "GETUSER" : "DRYRUN");
    redis_arg_string(&call->command, user);
    for (size_t i = 0; i < USER_WORDS_MAX && words[question][i] != NULL; i++) {
        redis_arg_string(&call->command, words[question][i]);
    }
    call_submit(call, redis, USERS_MAX, timeout_ms);
}

/* "flags", ["on", ...], ... */
static bool user_read_on(bool *on, const redisReply *reply)
{
    const redisReply *flags =
        reply->type == REDIS_REPLY_ARRAY && reply->elements > 1 ? reply->element[1] : NULL;
    const char *flag;
    size_t len;

    if (flags == NULL || flags->type != REDIS_REPLY_ARRAY) {
        return false;
    }
    *on = false;
    for (size_t i = 0; i < flags->elements; i++) {
        *on = *on || (reply_string(&flag, &len, flags, i) && strcmp(flag, "on") == 0);
    }
    return true;
}

/* The text names the command, or the channel that the user may not use with it. */
static void user_name_right(char *right, const struct store_user_keys *keys,
                            enum store_user_question question, const char *denial)
{
    bool command = strstr(denial, " no permissions to run the '") != NULL;

    right[0] = '\0';
    if (question == STORE_USER_COUNTS) {
        (void) snprintf(right, STORE_USER_RIGHT_MAX, "+pubsub|shardnumsub");
    } else if (question == STORE_USER_PUBLISHES && command) {
        (void) snprintf(right, STORE_USER_RIGHT_MAX, "+spublish");
    } else if (question == STORE_USER_PUBLISHES) {
        slot_channels_right(right, keys->slot.keys.wake, strlen(keys->slot.keys.wake));
    } else if (question == STORE_USER_ASKS) {
        (void) snprintf(right, STORE_USER_RIGHT_MAX, "+info");
    } else if (question == STORE_USER_TREE) {
        (void) snprintf(right, STORE_USER_RIGHT_MAX, command ? "+@hash" : "~%s", keys->tree.key);
    } else if (question == STORE_USER_HEARS) {
        (void) snprintf(right, STORE_USER_RIGHT_MAX, command ? "+ssubscribe" : "&%s:*",
                        keys->tree.key);
    }
}

bool store_user_read(bool *may, char *right, const struct store_user_keys *keys,
                     enum store_user_question question, const struct store_result *result)
{
    const redisReply *reply = result->reply;

    right[0] = '\0';
    if (question == STORE_USER_ON) {
        return user_read_on(may, reply);
    }
    *may = reply->type == REDIS_REPLY_STATUS;
    if (*may || reply->type != REDIS_REPLY_STRING) {
        return *may;
    }
    user_name_right(right, keys, question, reply->str);
    return true;
}
