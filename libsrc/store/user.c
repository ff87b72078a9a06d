/* user.c - what users of Redis may do, as ACL says.
 *
 * Thread: smq:io. */
#include <stdio.h>
#include <string.h>

#include "store/call.h"
#include "store/server.h"

enum { USERS_MAX = 10000, USER_WORDS_MAX = 4 };

/* Whose name or pattern a question has behind its command. */
enum user_target { USER_NONE, USER_STORE, USER_WAKE, USER_TREE, USER_CHANGES };

/* A command of which a user is asked; `right` is what it lacks without it: NULL if the question
 * only says who may send or consume. */
static const struct user_row {
    const char *words[USER_WORDS_MAX]; /* the command, "" in place of its target */
    enum user_target target;
    const char *right;
} user_rows[STORE_USER_QUESTIONS] = {
    [STORE_USER_RUNS] = {{"EVALSHA", "none", "0"}, USER_NONE, NULL},
    [STORE_USER_WRITES] = {{"ZADD", "", "0", "m"}, USER_STORE, NULL},
    [STORE_USER_PUBLISHES] = {{"SPUBLISH", "", "m"}, USER_WAKE, "+spublish"},
    [STORE_USER_COUNTS] = {{"PUBSUB", "SHARDNUMSUB", ""}, USER_WAKE, "+pubsub|shardnumsub"},
    [STORE_USER_CONSUMES] = {{"SSUBSCRIBE", ""}, USER_WAKE, NULL},
    [STORE_USER_ASKS] = {{"INFO", "replication"}, USER_NONE, "+info"},
    [STORE_USER_TIMES] = {{"TIME"}, USER_NONE, "+time"},
    [STORE_USER_GETS] = {{"HGET", "", "f"}, USER_TREE, "+hget"},
    [STORE_USER_SETS] = {{"HSET", "", "f", "v"}, USER_TREE, "+hset"},
    [STORE_USER_DELETES] = {{"HDEL", "", "f"}, USER_TREE, "+hdel"},
    [STORE_USER_LISTS] = {{"HKEYS", ""}, USER_TREE, "+hkeys"},
    [STORE_USER_FINDS] = {{"HEXISTS", "", "f"}, USER_TREE, "+hexists"},
    [STORE_USER_TELLS] = {{"SPUBLISH", "", "m"}, USER_CHANGES, "+spublish"},
    [STORE_USER_HEARS] = {{"SSUBSCRIBE", ""}, USER_CHANGES, "+ssubscribe"},
};

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
    const struct user_row *row = &user_rows[question];
    char changes[STORE_TREE_KEY_MAX + 2];
    const char *const targets[] = {[USER_NONE] = "",
                                   [USER_STORE] = keys->slot.keys.store,
                                   [USER_WAKE] = keys->slot.keys.wake,
                                   [USER_TREE] = keys->tree.key,
                                   [USER_CHANGES] = changes};

    store_tree_channel(changes, sizeof(changes), &keys->tree, "");
    call_begin(call, NULL, REDIS_ANY_NODE);
    redis_arg_string(&call->command, "ACL");
    redis_arg_string(&call->command, question == STORE_USER_ON ? "GETUSER" : "DRYRUN");
    redis_arg_string(&call->command, user);
    for (size_t i = 0; i < USER_WORDS_MAX && row->words[i] != NULL; i++) {
        redis_arg_string(&call->command,
                         row->words[i][0] != '\0' ? row->words[i] : targets[row->target]);
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

/* The text names the command, or else it is its key or channel that the user may not use. */
static void user_name_right(char *right, const struct store_user_keys *keys,
                            enum store_user_question question, const char *denial)
{
    const struct user_row *row = &user_rows[question];
    const bool command = strstr(denial, " no permissions to run the '") != NULL;

    right[0] = '\0';
    if (row->right == NULL) {
        return;
    }
    if (command || row->target == USER_NONE || question == STORE_USER_COUNTS) {
        (void) snprintf(right, STORE_USER_RIGHT_MAX, "%s", row->right);
    } else if (row->target == USER_WAKE) {
        slot_channels_right(right, keys->slot.keys.wake, strlen(keys->slot.keys.wake));
    } else {
        (void) snprintf(right, STORE_USER_RIGHT_MAX, row->target == USER_TREE ? "~%s" : "&%s:*",
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
