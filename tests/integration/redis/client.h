/* client.h - a Redis client under test, driven from the test's own thread.
 *
 * Thread: main; the client lives on a loop of its own. */
#ifndef TEST_REDIS_CLIENT_H
#define TEST_REDIS_CLIENT_H

#include "base/loop.h"
#include "redis/redis.h"

struct client {
    struct loop *loop;
    struct redis *redis;
    smq_status ready;
    char ready_text[512];
};

/* Connect, and wait until the client says that it is ready or why not (client->ready). */
void client_start(struct client *client, const char *servers, int64_t timeout_ms);
void client_stop(struct client *client);

/* The same with options; events to `events` (may be NULL). */
void client_start_with(struct client *client, const struct redis_options *options,
                       struct events *events);

/* One command after its end; `text` holds the reply if it was a string or a number. */
struct outcome {
    enum redis_outcome outcome;
    smq_status status;
    char text[512];
    size_t elements;
};

/* The reply was this; or it ended so, for a reason that is printed. */
void outcome_assert_done(struct outcome outcome, const char *text);
void outcome_assert_ended(struct outcome outcome, enum redis_outcome expected, smq_status status);

/* Run a plain command ("GET", "x", NULL) for a key and wait for its end. */
struct outcome client_run(struct client *client, const char *key, const char *const *words);

/* Run a script with one key. */
struct outcome client_eval(struct client *client, const struct script *script, const char *key,
                           const char *argument, int64_t timeout_ms);

/* The same without waiting: `outcome` is filled, then *ended counts up.  The caller sets `ended`,
 * and may set command.apart. */
struct pending {
    struct redis_command command;
    struct outcome outcome;
    struct client *client;
    struct loop_task task;
    atomic_int *ended;
};
void client_post_eval(struct client *client, struct pending *pending, const struct script *script,
                      const char *key, const char *argument, int64_t timeout_ms);

/* Run `act(arg)` on the client's loop and wait for it. */
void client_call(struct client *client, void (*act)(void *arg), void *arg);

#endif
