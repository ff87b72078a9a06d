/* node.h - the servers of one client: connecting to them, losing them, freeing them.
 *
 * Thread: smq:io. */
#ifndef REDIS_NODE_H
#define REDIS_NODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <uv.h>

#include "base/episode.h"
#include "base/hash.h"
#include "redis/connection.h"
#include "redis/context.h"
#include "redis/hash_queues.h"
#include "redis/slotmap.h"
#include "redis/states.h"

struct replicas_set;

/* The part of a node that belongs to replicas.c; used only if commands wait for replicas there.
 *
 * Invariants: `state` changes in replicas_enter() alone.  Commands are written in OPEN and WRITTEN
 * only, so the reply to WAIT is about all of them.  In ASKED and WAITING a reply is due, until
 * `due_ms`; `awaits` is empty in all but WAITING and FEW.  UNKNOWN while the node is not UP. */
struct replicas {
    struct replicas_set *set; /* NULL until the node was UP first */
    enum replicas_state state;
    int64_t due_ms;
    int64_t until_ms; /* WRITTEN: the earliest of its commands */
    int acknowledged; /* WAITING, FEW: by the last reply to WAIT; -1: there was none */
    TAILQ_HEAD(await_list, redis_await) awaits;
    struct exchange may_wait, info, wait;
};

enum { NODE_NAME_MAX = SERVER_TEXT_MAX + 24, NODE_SCRIPTS_MAX = 64 };

/* One server: a seed, or one that the cluster named; or a further connection to it, for commands
 * that wait for replicas, or for those that go alone.
 *
 * Invariants: `state` changes in node_enter() alone.  `connection` is NULL exactly when DOWN or
 * BAD.  `stalled` is empty when UP, unless replicas are waited for, or the command before.  A node
 * is kept while it is a seed, in the slot map, or has commands. */
struct node {
    struct node_set *all;
    struct server_address address;
    char name[NODE_NAME_MAX];
    int replicas_wanted; /* 0: this is the connection for commands without replicas */
    bool alone;          /* this is the connection for commands that go alone, one at a time */
    bool occupied;       /* alone: one of them is in flight */
    struct replicas replicas;
    enum node_state state;
    struct connection *connection;
    struct hash_queue_list stalled;        /* the queues that wait until commands can be written */
    bool wanted;                           /* connect as soon as `retry_ms` has come */
    uint64_t failures;                     /* failures since commands could last be written */
    bool known;                            /* it was UP before */
    enum greeting_mode mode;               /* as INFO said when it was connected last */
    const void *scripts[NODE_SCRIPTS_MAX]; /* that were loaded over the connection */
    size_t script_count;
    bool probing; /* a PING is in flight */
    struct exchange probe;
    int64_t retry_ms;  /* DOWN, BAD: do not connect before */
    smq_status status; /* why it is DOWN or BAD */
    char why[512];     /* why commands cannot be written, or last could not; "": they can */
    struct {
        bool lasts;    /* no write was taken since the last one */
        char why[256]; /* the last one, in the words of Redis */
        int64_t last_ms;
        struct episode episode;
    } refusal; /* of writes */
    UT_hash_handle hh;
};

struct node_listener {
    void (*up)(struct node *node, void *user);   /* connected, authenticated and checked */
    void (*down)(struct node *node, void *user); /* DOWN or BAD; `status` and `why` are set */
    void *user;
};

struct node_set {
    struct context *context;
    struct node_listener listener;
    struct node *by_name;
    uv_timer_t retry_timer; /* ticks while a node is `wanted` */
};

void node_set_init(struct node_set *nodes, struct context *context,
                   const struct node_listener *listener);

/* End all connections; nodes stay until node_set_fini(). */
void node_set_stop(struct node_set *nodes);
void node_set_fini(struct node_set *nodes);

/* The node at an address, made if there is none. */
struct node *node_set_get(struct node_set *nodes, const struct server_address *address);

/* The node at an address; NULL: there is none. */
const struct node *node_set_find(const struct node_set *nodes,
                                 const struct server_address *address);

/* The connection to an address for commands that `replicas` replicas must acknowledge, 0: none, and
 * that go alone, or not. */
struct node *node_set_get_with(struct node_set *nodes, const struct server_address *address,
                               int replicas, bool alone);

/* Any node that is UP, each as likely as the others, but `avoid` (may be NULL) only if it is the
 * only one; NULL: none is. */
struct node *node_set_any_up(struct node_set *nodes, const struct node *avoid);

/* Free nodes that are neither in `map` nor seeds, and have nothing to do. */
void node_set_sweep(struct node_set *nodes, const struct slotmap *map);

/* Connect, now or as soon as the back-off allows. */
void node_connect(struct node *node);

/* Has this script been loaded over the node's connection?  A script is known by its address. */
bool node_knows(const struct node *node, const void *script);
void node_learn(struct node *node, const void *script);
void node_forget(struct node *node, const void *script);

/* Ask a node that is UP for a sign of life, unless a reply is due anyway. */
void node_probe(struct node *node);

/* Send a command of these words. */
void node_ask(struct node *node, struct exchange *exchange, int count, const char **words);

/* Has a node that is UP said nothing for `patience_ms` since it was asked for a sign of life? */
bool node_probe_failed(const struct node *node, int64_t patience_ms);

/* Commands can be written: reset the back-off, and send those that wait. */
void node_mark_writable(struct node *node);

/* The server has refused a command because it takes no writes now, with this error.  An event says
 * so once. */
void node_refuses_writes(struct node *node, const char *why);

/* A script that may write has run. */
void node_takes_writes(struct node *node);

/* Why the server refuses writes, as it said a short time ago; NULL: it does not, for all that is
 * known. */
const char *node_refusal(const struct node *node);

/* Close the connection, if there is one. */
void node_disconnect(struct node *node, smq_status status, const char *why);

#endif
