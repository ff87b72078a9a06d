/* redis.h - commands to a Redis Cluster, or to a single server: routing, pipelining, redirects,
 * repeats.
 *
 * Knows nothing of queues.  hiredis reads replies, libuv is the transport; commands are rendered
 * here as they are built (decision 0006).
 *
 * Thread: the loop given to redis_new(), smq:io, unless a function says otherwise. */
#ifndef REDIS_REDIS_H
#define REDIS_REDIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <hiredis/hiredis.h>

#include <slotmq/core.h>

#include "base/buf.h"
#include "base/event.h"
#include "base/loop.h"
#include "base/script.h"
#include "model/marks.h"

struct redis;
struct redis_command;
struct node;

/* What is known about a command that has ended.  Never guess between them. */
enum redis_outcome {
    REDIS_DONE,     /* executed; `reply` is what it answered, never an error reply */
    REDIS_NOT_DONE, /* not executed: no server in time, closed before it was written, or refused */
    REDIS_PARTLY,   /* a script raised an error: some of its writes may have been kept */
    REDIS_UNKNOWN   /* written, but no reply came */
};

/* Valid during the callback. */
struct redis_result {
    enum redis_outcome outcome;
    smq_status status; /* OK, UNAVAILABLE, FULL (OOM), DENIED, BAD_SERVER, INTERNAL (an error that
                          should not be), UNKNOWN, CLOSED; PARTLY: INTERNAL or DENIED */
    const redisReply *reply; /* DONE only */
    const char *text;        /* one line: what failed, with the server's name; "" when done */
};

typedef void redis_done_fn(const struct redis_result *result, void *user);

/* Any node will do: commands without a key. */
enum { REDIS_ANY_NODE = -1 };

/* One command.  Owned by the client from redis_send() until just before `done` is called, exactly
 * once; then by its maker again, who may send it again or free it.  Commands of one hash slot are
 * executed in the order in which they were sent, also across redirects and repeats: one of them is
 * in flight at a time, while those of different hash slots share the pipeline of their node.
 * Commands with `replicas` go over connections of their own, and have an order of their own. */
struct redis_command {
    const struct script *script; /* NULL: args name the command */
    int keys;                    /* of a script: how many of args are keys */
    int32_t hash_slot;           /* 0 .. 16383, or REDIS_ANY_NODE */
    size_t max_elements; /* most elements of an array in the reply, at any level; default 64 */
    int64_t timeout_ms;  /* from redis_send() to the end, repeats included; 0: request_timeout_ms */
    bool once;           /* do not wait for a server that is away or not ready: fail at once */
    int replicas;        /* over 0: redis_await() waits until this many have what it wrote, ... */
    int64_t until_ms;    /* ... until then, by clock_now_ms() */
    redis_done_fn *done;
    void *user;
    struct redis_args {   /* keys, then arguments */
        struct buf bytes; /* rendered, behind room for the head of the command */
        size_t count;
    } args;
    struct node *by;                   /* private: the server that executed it; valid in `done` */
    struct redis_command_state *state; /* private; NULL while its maker owns it */
};

void redis_command_init(struct redis_command *command, const struct script *script,
                        int32_t hash_slot, redis_done_fn *done, void *user);
void redis_command_fini(struct redis_command *command);
void redis_command_clear(struct redis_command *command); /* args only; memory is kept */
void redis_arg(struct redis_command *command, const void *data, size_t len);
void redis_arg_string(struct redis_command *command, const char *string);
void redis_arg_int(struct redis_command *command, int64_t value);

/* The whole command as it is sent, in memory of the command; valid until the command is changed. */
const char *redis_command_render(const struct redis_command *command, size_t *len);

struct redis_options {
    const char *servers;        /* "host:port,host:port" or "redis://user:password@host:port,..." */
    int64_t connect_timeout_ms; /* one connection */
    int64_t request_timeout_ms; /* default time-out of a command */
};

/* Check and split `servers`.  Thread: any.  Fails: INVALID (never shows the password). */
smq_status redis_check_servers(const char *servers, smq_error *err);

/* Connect to the servers, check them (version, eviction), learn the topology; `ready` is called
 * once, within connect_timeout_ms: with SMQ_OK, or why the first attempt failed (UNAVAILABLE,
 * DENIED, BAD_SERVER; CLOSED: redis_close() came first).  A master that is away is no failure.
 * `options` is copied. */
typedef void redis_ready_fn(smq_status status, const char *text, void *user);
struct redis *redis_new(struct loop *loop, const struct redis_options *options,
                        struct events *events, redis_ready_fn *ready, void *user);

void redis_send(struct redis *redis, struct redis_command *command);

/* Counts since redis_new().  Thread: any. */
struct redis_counts {
    uint64_t redirects;  /* MOVED and ASK that were followed */
    uint64_t reconnects; /* connections that were ready once more, to the same node */
};
struct redis_counts redis_counts(const struct redis *redis);

/* "host:port" of the server that has this hash slot, as far as the client knows; "" when it does
 * not.  `out` has REDIS_SERVER_MAX bytes. */
enum { REDIS_SERVER_MAX = 264 };
void redis_server_of(char *out, const struct redis *redis, int32_t hash_slot);

/* A hash slot of each master that the client knows of: how many there are.  `out` has room for
 * REDIS_MASTERS_MAX. */
enum { REDIS_MASTERS_MAX = 1000 };
size_t redis_masters(int32_t *out, const struct redis *redis);

/* Watch what tells the cluster from others: marks of the ids of all nodes that it names, masters
 * and replicas; a single server has none.  `changed` is called with the marks as soon as they are
 * known, perhaps before this returns, and whenever they differ, until redis_close() or until it is
 * NULL. */
typedef void redis_marks_fn(const struct marks *marks, void *user);
void redis_watch_marks(struct redis *redis, redis_marks_fn *changed, void *user);

/* End everything: commands not yet written end NOT_DONE / CLOSED, others UNKNOWN; then sockets are
 * closed and memory is freed. `closed` (may be NULL) is called last. */
void redis_close(struct redis *redis, void (*closed)(void *user), void *user);

/* --- Replicas -----------------------------------------------------------------------------------
 *
 * A command with `replicas` is sent only while its node has that many replicas in step, and not
 * while an earlier one is still awaited: so what replicas cannot have is not stored either. */

/* Waits until replicas have what a command wrote.  Owned by the client from redis_await() until
 * just before `done` is called, exactly once. */
struct redis_await {
    int64_t until_ms; /* by clock_now_ms(); of the command, at first */
    /* DONE: enough replicas have it.  NOT_DONE / TIMED_OUT: fewer had it in time; the master keeps
     * it.  UNKNOWN: the connection ended; a failover may have lost what was written.  No reply. */
    redis_done_fn *done;
    void *user;
    struct node *node; /* private */
    TAILQ_ENTRY(redis_await) link;
};

/* Only in the callback of a command with `replicas` that was DONE. */
void redis_await(struct redis_await *await, const struct redis_command *command);

/* Continue until another `until_ms`.  Only in the callback of the await, when it was NOT_DONE. */
void redis_await_again(struct redis_await *await);

/* --- Sharded pub/sub ---------------------------------------------------------------------------
 */

enum redis_notice {
    REDIS_NOTICE_SUBSCRIBED, /* (again) subscribed: messages may have been missed before */
    REDIS_NOTICE_MESSAGE,
    REDIS_NOTICE_REFUSED /* the server refuses it, which was logged; it is tried again */
};

/* One SSUBSCRIBE that is kept through reconnects, failovers and moves of hash slots until
 * redis_unsubscribe(); several may share a channel.  Owned by the client between redis_subscribe()
 * and redis_unsubscribe(), which both return at once; no notice comes after the latter. */
struct redis_subscription {
    const char *channel; /* must outlive the subscription */
    uint16_t hash_slot;
    void (*notice)(enum redis_notice notice, void *user);
    void *user;
    struct redis_subscription_state *state; /* private */
};

void redis_subscribe(struct redis *redis, struct redis_subscription *subscription);
void redis_unsubscribe(struct redis *redis, struct redis_subscription *subscription);

#endif
