/* server.h - a server itself, the master of a hash slot, and its users.
 *
 * Thread: smq:io. */
#ifndef STORE_SERVER_H
#define STORE_SERVER_H

#include "model/server_facts.h"
#include "store/store.h"
#include "store/tree.h"

/* --- a server itself: the master of a hash slot --- */

enum store_server_question {
    STORE_SERVER_INFO,
    STORE_SERVER_TIME,
    STORE_SERVER_CONFIG,
    STORE_SERVER_CLUSTER,
    STORE_SERVER_NODES,
    STORE_SERVER_WRITES, /* it writes nothing, and is refused where a send would be */
    STORE_SERVER_QUESTIONS
};
void store_server(struct store_call *call, struct redis *redis, int32_t hash_slot,
                  enum store_server_question question, int64_t timeout_ms);
/* All but TIME and WRITES: add what the reply says. */
bool store_server_read(struct server_facts *facts, enum store_server_question question,
                       const struct store_result *result);
bool store_server_time_read(int64_t *now_ms, const struct store_result *result);

/* --- users of Redis --- */

/* The names of all users, or of that of the client. */
void store_users(struct store_call *call, struct redis *redis, bool all, int64_t timeout_ms);
size_t store_users_count(const struct store_result *result);
bool store_users_read(const char **user, const struct store_result *result, size_t index);

/* What is asked of a user.  The reply to all but ON is a yes or what the user lacks. */
enum store_user_question {
    STORE_USER_ON,        /* may it log in? */
    STORE_USER_RUNS,      /* may it run scripts, */
    STORE_USER_WRITES,    /* write to this slot, */
    STORE_USER_PUBLISHES, /* wake its owner, */
    STORE_USER_COUNTS,    /* see whether the owner hears it, */
    STORE_USER_CONSUMES,  /* listen as the owner does, */
    STORE_USER_ASKS,      /* and of a fleet in Redis: see which life of its master the tree has, */
    STORE_USER_TIMES,     /* and what time it is there, */
    STORE_USER_GETS,      /* run each command of the tree with it, */
    STORE_USER_SETS,
    STORE_USER_DELETES,
    STORE_USER_LISTS,
    STORE_USER_FINDS,
    STORE_USER_TELLS, /* tell its changes, */
    STORE_USER_HEARS, /* and hear of them? */
    STORE_USER_QUESTIONS
};

/* What users may use: a slot, and the tree that the questions from ASKS on are about. */
struct store_user_keys {
    struct store_slot slot;
    struct store_tree tree;
};
void store_user_ask(struct store_call *call, struct redis *redis,
                    const struct store_user_keys *keys, const char *user,
                    enum store_user_question question, int64_t timeout_ms);

/* false: the answer cannot be read.  `right` is what the user lacks: "" if `may`, and for the
 * questions that only say who may send or consume; it has STORE_USER_RIGHT_MAX bytes. */
enum { STORE_USER_RIGHT_MAX = STORE_TREE_KEY_MAX + 4 };
bool store_user_read(bool *may, char *right, const struct store_user_keys *keys,
                     enum store_user_question question, const struct store_result *result);

#endif
