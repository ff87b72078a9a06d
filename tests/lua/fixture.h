/* fixture.h - a real Redis server with the scripts loaded, their clock in the test's hands, and one
 * slot, "x", of a topic.
 *
 * Thread: main. */
#ifndef TESTS_LUA_FIXTURE_H
#define TESTS_LUA_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

#include "base/buf.h"
#include "base/script.h"
#include "support/servers.h"

enum { FIXTURE_ARGS_MAX = 600 };

/* The keys of slot "x" in the order of every contract, then the topic's own, and the list of those
 * that expire. */
enum fixture_key {
    KEY_STORE,
    KEY_PREPARE,
    KEY_DEAD,
    KEY_WHY,
    KEY_SLOT,
    KEY_BODY,
    KEY_DONE,
    KEY_TOPIC,
    KEY_EXPIRING,
    KEY_SCHEDULE,
    KEYS_COUNT
};
extern const char *const fixture_keys[KEYS_COUNT];

struct fixture {
    struct servers *servers;
    redisContext *redis;
    redisContext *listener; /* subscribed to wake{x} and some callers'; NULL: none */
    bool keyed;             /* scripts get the keys of layout keyed too */
    bool any;               /* consume_any is called in the place of consume */
    const char *called;     /* the script that gave the last reply of fixture_call() */
};

/* Arguments of one call, owned copies. */
struct args {
    size_t count;
    char *data[FIXTURE_ARGS_MAX];
    size_t lens[FIXTURE_ARGS_MAX];
};
void args_add(struct args *args, const char *text);
void args_add_bytes(struct args *args, const void *data, size_t len);

/* A name in which ! stands for a NUL byte. */
void args_add_name(struct args *args, const char *name);
void args_add_int(struct args *args, int64_t value);
void args_clear(struct args *args);

/* For cmocka groups: *state is a struct fixture. */
/* A connection by a socket of the file system: the network of the kernel costs more than a call. */
redisContext *fixture_connect(struct fixture *fixture);

int fixture_setup(void **state);
int fixture_teardown(void **state);

enum { SHA1_SIZE = 41 };

/* Load a script; a test may have changed its text.  `sha1` gets its name for EVALSHA. */
void fixture_load(struct fixture *fixture, const char *text, char sha1[SHA1_SIZE]);

/* Run a script on its keys; the caller frees the reply.  Errors are replies.  A consume that
 * answers that it is not ordinary is called again as consume_any, as the library does. */
redisReply *fixture_call(struct fixture *fixture, const struct script *script,
                         const struct args *args);

/* The two halves of that, for several in one round trip; `sha1` may be of a changed text. */
void fixture_append(struct fixture *fixture, const struct script *script, const char *sha1,
                    const struct args *args);
redisReply *fixture_reply(struct fixture *fixture);

/* Does consume answer that consume_any is to be called? */
bool fixture_is_any(const redisReply *reply);

/* Any command, words separated by spaces. */
redisReply *fixture_redis(struct fixture *fixture, const char *command);

/* Empty the server. */
void fixture_flush(struct fixture *fixture);

/* What the scripts take for the time. */
void fixture_set_time(struct fixture *fixture, int64_t now_ms);

/* Redis stores hashes with long fields as compactly as others, in which one HSCAN sees every field.
 * Only so it is certain which old records of producers a send forgets. */
void fixture_store_compactly(struct fixture *fixture);

/* Begin or end to listen on wake{x}. */
void fixture_listen(struct fixture *fixture, bool listen);
/* How many wake-ups came since the last look; exact, without waiting. */
int fixture_woken(struct fixture *fixture);
/* The same; `out` gets what was published, separated by spaces, '' for an empty one. */
int fixture_hear(struct fixture *fixture, struct buf *out);

/* The script of that name; fails the test when there is none. */
const struct script *fixture_script(const char *name);

/* A reply as one line: elements separated by spaces, '' for an empty one, ERROR and its text. */
void reply_format(struct buf *out, const redisReply *reply);

/* A text of a reply: '' for an empty one, ! for a NUL byte. */
void text_format(struct buf *out, const char *data, size_t len);

/* Do two replies say the same?  Words that are numbers are compared as such: Redis 7 prints a
 * double with 17 digits, Redis 8 and Valkey 9 with as many as tell it from others. */
bool reply_same(const char *one, const char *other);

/* A score as a line shows it: 1000, 1000~2 with two retries used, 1000~2s when suspect. */
void score_format(struct buf *out, const char *score);

#endif
