/* context.h - what all parts of one Redis client share.
 *
 *   servers.c      addresses of servers
 *   reply.c        replies, read into an arena
 *   redirect.c     what a reply means for its command
 *   slotmap.c      which node serves which hash slot
 *   greeting.c     whether a server may be used
 *   states.c       which state may follow which
 *   command.c      commands, rendered as they are built
 *   resolve.c      addresses of a server's name
 *   tls.c          TLS, from bytes to bytes
 *   credentials.c  what connections authenticate with
 *   connection.c   one pipelined connection to one server
 *   context.c      what all parts below share: options, libuv handles, counts
 *   deadlines.c    the time-outs of requests
 *   hash_queues.c  the requests of one hash slot, in their order
 *   node.c         servers: connecting to them, losing them, freeing them
 *   replicas.c     connections on which WAIT is sent after commands
 *   topology.c     learning the slot map
 *   reach.c        whether any node answers
 *   request.c      one command, from redis_send() until its end is reported
 *   pubsub.c       subscriptions
 *   rights.c       rights that scripts did without
 *   redis.c        the client's life, and the functions of redis.h
 *
 * Each of them calls those above it only.  What a file has to report to one below it goes through
 * its listener (struct node_listener, hash_queues_listener, `changed` of the topology, `passed` of
 * deadlines), which redis_new() sets once.
 *
 * Thread: smq:io. */
#ifndef REDIS_CONTEXT_H
#define REDIS_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "base/event.h"
#include "base/loop.h"
#include "redis/credentials.h"
#include "redis/redis.h"
#include "redis/servers.h"

struct tls;

enum { CONTEXT_HANDLES_MAX = 10 };

/* Invariant: `open_handles` counts the `handles` that have not been closed. */
struct context {
    struct loop *loop;
    struct events *events;
    struct server_list seeds;
    struct tls *tls; /* NULL: plaintext */
    struct credentials credentials;
    int64_t connect_timeout_ms, request_timeout_ms;
    bool closing;     /* redis_close() was called */
    int64_t heard_ms; /* when a byte last came from any server */
    uv_handle_t *handles[CONTEXT_HANDLES_MAX];
    int open_handles;
    void (*drained)(struct context *context); /* the last handle was closed */
    struct {
        _Atomic uint64_t redirects, reconnects, unreachable;
    } counts;
};

/* `options` is copied; its servers must have passed redis_check_options(). */
void context_init(struct context *context, struct loop *loop, const struct redis_options *options,
                  struct events *events, void (*drained)(struct context *context));
void context_fini(struct context *context);

/* Make a handle of the client's loop, which context_close_handles() closes. */
void context_init_timer(struct context *context, uv_timer_t *timer);
void context_init_idle(struct context *context, uv_idle_t *idle);

/* Close all handles, and call drained() in a later turn of the loop. */
void context_close_handles(struct context *context);

/* Count a MOVED or an ASK that is followed. */
void context_count_redirect(struct context *context);

/* Count a connection that is ready again; `known` says whether it was ready before, and is set. */
void context_count_ready(struct context *context, bool *known);

/* Does any node answer?  At first it does. */
void context_set_reached(struct context *context, bool reached);
bool context_is_reached(const struct context *context);

/* The counts so far.  Thread: any. */
struct redis_counts context_counts(const struct context *context);

#endif
