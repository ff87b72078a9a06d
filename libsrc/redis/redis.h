/* redis.h - commands to a Redis Cluster, or to a single server: routing, pipelining, redirects,
 * repeats.
 *
 * It knows nothing of queues.  hiredis reads replies, libuv is the transport; commands are rendered
 * here as they are built (decision 0006).
 *
 * Thread: the loop given to redis_new(), smq:io, except where a function says otherwise. */
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
#include "model/fingerprint.h"

struct redis;
struct redis_command;
struct node;

/* What is known about a command that has ended; it is never guessed. */
enum redis_outcome {
    REDIS_DONE,     /* executed; `reply` is its reply, never an error */
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
    bool cut;                /* UNKNOWN: the server ended the connection before it replied */
    const char *text;        /* one line: what failed, with the server's name; "" when done */
};

typedef void redis_done_fn(const struct redis_result *result, void *user);

/* The hash slot of commands without a key, which any node can execute. */
enum { REDIS_ANY_NODE = -1 };

/* One command.  The client owns it from redis_send() until just before it calls `done`, exactly
 * once; then it belongs to its maker again, who may send it again or free it.  Commands of one hash
 * slot are executed in the order in which they were sent, also across redirects and repeats: one of
 * them is in flight at a time, while those of different hash slots share the pipeline of their
 * node.  Commands that are `apart` have an order of their own; so have those with `replicas`, which
 * also use connections of their own. */
struct redis_command {
    const struct script *script; /* NULL: args name the command */
    int keys;                    /* of a script: how many of args are keys */
    int32_t hash_slot;           /* 0 .. 16383, or REDIS_ANY_NODE */
    size_t max_elements; /* most elements of an array in the reply, at any level; default 64 */
    int64_t timeout_ms;  /* from redis_send() to the end, repeats included; 0: request_timeout_ms */
    /* do not wait for a server that is unreachable or not ready: fail at once */
    bool once;
    /* it does not wait for commands of its hash slot that are not apart, nor they for it */
    bool apart;
    /* nothing else is in flight on its connection, which is one of its own */
    bool alone;
    /* if not 0, redis_await() waits until this many replicas have its writes */
    int replicas;
    int64_t until_ms; /* until when redis_await() waits, by clock_now_ms() */
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

/* How servers of the form rediss:// are spoken to.  NULL or "": not given. */
struct redis_tls {
    const char *ca;         /* file or folder of trusted certificates; else the system's */
    const char *cert, *key; /* files of the client's certificate and private key, if it has one */
    const char *name; /* what certificates must be for, and SNI; else the host of each server */
};

/* Where the password comes from, if the URI of the servers has none.  NULL: not given. */
struct redis_credentials {
    const char *file;        /* its first line */
    smq_credentials_fn *ask; /* a callback of the application */
    void *ask_user;
};

struct redis_options {
    /* "host:port,host:port", "redis://user:password@host:port,..." or, for TLS, "rediss://..." */
    const char *servers;
    struct redis_tls tls;
    struct redis_credentials credentials;
    int64_t connect_timeout_ms; /* one connection */
    int64_t request_timeout_ms; /* default time-out of a command */
};

/* Check the servers, and the files of TLS and of the password.  Thread: any.  Fails: INVALID (the
 * text never shows the password). */
smq_status redis_check_options(const struct redis_options *options, smq_error *err);

/* Connect to the servers, check them (version, eviction), and learn the topology.  `ready` is
 * called once, within connect_timeout_ms: with SMQ_OK, or with the reason why the first attempt
 * failed (UNAVAILABLE, DENIED, BAD_SERVER; CLOSED: redis_close() was called first).  An unreachable
 * master is no failure.  `options` is copied. */
typedef void redis_ready_fn(smq_status status, const char *text, void *user);
struct redis *redis_new(struct loop *loop, const struct redis_options *options,
                        struct events *events, redis_ready_fn *ready, void *user);

void redis_send(struct redis *redis, struct redis_command *command);

/* Counts since redis_new().  Thread: any. */
struct redis_counts {
    uint64_t redirects;   /* MOVED and ASK that were followed */
    uint64_t reconnects;  /* connections that became ready again, to the same node */
    uint64_t unreachable; /* 1 while redis_is_reached() is false, else 0 */
};
struct redis_counts redis_counts(const struct redis *redis);

/* "host:port" of the server of this hash slot; "": the client does not know it.  `out` has
 * REDIS_SERVER_MAX bytes. */
enum { REDIS_SERVER_MAX = 264 };
void redis_server_of(char *out, const struct redis *redis, int32_t hash_slot);

/* The number of the server of this hash slot, from 1 on, as long as the client knows the same
 * servers; 0: it does not know it.  At most REDIS_MASTERS_MAX. */
size_t redis_master_of(const struct redis *redis, int32_t hash_slot);

/* A hash slot of each master that the client knows of: how many there are.  `out` has room for
 * REDIS_MASTERS_MAX. */
enum { REDIS_MASTERS_MAX = 1000 };
size_t redis_masters(int32_t *out, const struct redis *redis);

/* Watch the fingerprint of the cluster: of the ids of all nodes that it names, masters and
 * replicas; a single server has none.  `changed` is called as soon as it is known, perhaps before
 * this returns, and whenever it changes, until redis_close() or until it is NULL. */
typedef void redis_fingerprint_fn(const struct fingerprint *fingerprint, void *user);
void redis_watch_fingerprint(struct redis *redis, redis_fingerprint_fn *changed, void *user);

/* Watch whether any node answers.  `changed` is called with false when all nodes that are known
 * were asked for 10 s and none has answered, and with true when one answers again; it is not called
 * before redis_watch_reach() returns, nor after redis_close() or while it is NULL.  While it is
 * watched idle connections are asked with PING, and closed when no reply comes in time. */
typedef void redis_reach_fn(bool reached, void *user);
void redis_watch_reach(struct redis *redis, redis_reach_fn *changed, void *user);

/* What `changed` was called with last; true before that, and while nothing watches. */
bool redis_is_reached(const struct redis *redis);

/* Whether commands can be written to the masters that the client knows. */
struct redis_health {
    int32_t masters;
    int32_t failed;    /* those whose connection failed, and those that cannot serve commands now */
    smq_status status; /* of one of the failed, and what is wrong with it; OK and "": none is */
    char why[512];
    int32_t refusing;  /* those that refuse writes, as they said a short time ago */
    char refusal[512]; /* of one of them, with its name, in the words of Redis */
};
void redis_health(struct redis_health *out, const struct redis *redis);

/* End everything: commands that were not written end with NOT_DONE / CLOSED, others with UNKNOWN;
 * then sockets are closed and memory is freed.  `closed` (may be NULL) is called last. */
void redis_close(struct redis *redis, void (*closed)(void *user), void *user);

/* --- Replicas -----------------------------------------------------------------------------------
 *
 * A command with `replicas` is sent only while its node has that many replicas in sync, and not
 * while an earlier one is still awaited: so what replicas cannot have is not stored either. */

/* Waits until replicas have the writes of a command.  The client owns it from redis_await() until
 * just before it calls `done`, exactly once. */
struct redis_await {
    int64_t until_ms; /* by clock_now_ms(); at first that of the command */
    /* DONE: enough replicas have the writes.  NOT_DONE / TIMED_OUT: fewer had them in time; the
     * master keeps them.  UNKNOWN: the connection ended, and a failover may have lost the writes.
     * There is no reply. */
    redis_done_fn *done;
    void *user;
    struct node *node; /* private */
    TAILQ_ENTRY(redis_await) link;
};

/* Only in the callback of a command with `replicas` that was DONE. */
void redis_await(struct redis_await *await, const struct redis_command *command);

/* Continue until another `until_ms`.  Only in the callback of the await, when it was NOT_DONE. */
void redis_await_again(struct redis_await *await);

/* A command of a script that failed, and without which the script went on. */
struct redis_lack {
    redisReply error;          /* what pcall() gave the script */
    const char *command_right; /* the right to the command, as in a rule of ACL SETUSER */
    const char *channel_right; /* the right to its channel */
    const char *follows;       /* what comes of it: the end of a sentence */
};

/* If the error says that a right is missing, report it by an event of level WARN, once for each
 * right.  Only in the callback of the command that ran the script, when it was DONE. */
void redis_report_lack(struct redis *redis, const struct redis_command *command,
                       const struct redis_lack *lack);

/* --- Sharded pub/sub
 * --------------------------------------------------------------------------- */

enum redis_notice {
    REDIS_NOTICE_SUBSCRIBED, /* subscribed (again): messages may have been missed before */
    REDIS_NOTICE_MESSAGE,
    REDIS_NOTICE_REFUSED /* the server denies it; it is tried again */
};

/* One SSUBSCRIBE that is kept through reconnects, failovers and moves of hash slots until
 * redis_unsubscribe(); several may share a channel.  Owned by the client between redis_subscribe()
 * and redis_unsubscribe(), which both return at once; no notice comes after the latter. */
struct redis_subscription {
    const char *channel; /* must outlive the subscription */
    uint16_t hash_slot;
    /* `data` is the payload of a MESSAGE, or the text of the error of a REFUSED, valid during the
     * call; of SUBSCRIBED it is empty. */
    void (*notice)(enum redis_notice notice, const char *data, size_t len, void *user);
    void *user;
    /* How many processes subscribe for the same work, this one included; 0: this one alone.  May
     * change at any time.  Redis is asked less often whether the connection lives when it is enough
     * that one of them notices soon. */
    uint64_t peers;
    struct redis_subscription_state *state; /* private */
};

void redis_subscribe(struct redis *redis, struct redis_subscription *subscription);
void redis_unsubscribe(struct redis *redis, struct redis_subscription *subscription);

#endif
