/* fake_redis.h - stands in for libsrc/redis: a function of the test answers each command, holds it
 * back, or loses it.  One client at a time.
 *
 * Thread: any, unless a function says more. */
#ifndef FAKE_REDIS_H
#define FAKE_REDIS_H

#include "redis/redis.h"

/* What a command comes to. */
struct fake_answer {
    enum redis_outcome outcome;
    smq_status status;
    redisReply *reply; /* DONE; freed by the fake */
};

/* Answer a command; false: hold it until fake_resume().  Thread: smq:io. */
typedef bool fake_server_fn(const struct redis_command *command, struct fake_answer *answer,
                            void *user);
void fake_serve(fake_server_fn *server, void *user);

/* The same for those who wait for replicas; without it these have everything at once.  An answer
 * has no reply. */
typedef bool fake_replicas_fn(const struct redis_await *await, struct fake_answer *answer,
                              void *user);
void fake_replicate(fake_replicas_fn *replicas, void *user);

/* What redis_new() comes to; the default is SMQ_OK.  SMQ_TIMED_OUT: nothing is ever said. */
void fake_connects(smq_status status);

/* A client of what `server` answers; `event` may be NULL.  The caller frees it. */
smq_client *fake_client(fake_server_fn *server, smq_event_fn *event);

/* Clients that were made and are not closed yet. */
int fake_clients(void);

/* Commands and awaits that are held back, and asking about them again. */
size_t fake_held(void);
void fake_resume(void);

/* Of the call of a script: the index of the argument at `place`, SCRIPT_..._ARGV_... of scripts.h,
 * and how many there are from it on. */
size_t fake_argv(const struct redis_command *command, int place);
size_t fake_argv_count(const struct redis_command *command, int place);

/* Argument `index` of a command. */
const char *fake_arg(const struct redis_command *command, size_t index, size_t *len);
bool fake_arg_is(const struct redis_command *command, size_t index, const char *text);

/* Replies; an array takes its elements over. */
redisReply *fake_string(const char *data, size_t len);
redisReply *fake_text(const char *text);
redisReply *fake_integer(int64_t value);
redisReply *fake_array(size_t count);
void fake_put(redisReply *array, size_t index, redisReply *element);

/* What slot_read answers of a slot that holds so many messages, without a definition. */
redisReply *fake_slot_notes(uint64_t messages);

#endif
