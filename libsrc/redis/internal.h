/* internal.h - what the files of the Redis client share.
 *
 *   cluster.c   requests and lanes: who waits for what, and where it goes
 *   node.c      servers: connecting to them, losing them, letting them go
 *   replicas.c  connections behind which WAIT is written
 *   topology.c  learning the slot map
 *   pubsub.c    subscriptions
 *
 * Thread: smq:io. */
#ifndef REDIS_INTERNAL_H
#define REDIS_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <uv.h>

#include "base/hash.h"
#include "redis/connection.h"
#include "redis/redirect.h"
#include "redis/redis.h"
#include "redis/slotmap.h"

struct request;
struct lane;
struct pubsub_link;
struct pubsub_channel;

TAILQ_HEAD(lane_list, lane);

/* Of a node whose commands replicas must have, too.
 *
 * UNKNOWN: are there enough?  ASKED: that was asked.  FEW: no, or fewer acknowledged; again at
 * `due_ms`.  OPEN: yes.  WRITTEN: commands were written in this turn.  WAITING: WAIT is behind
 * them.
 *
 * Invariants: commands are written in OPEN and WRITTEN only, so the reply to WAIT speaks of all of
 * them.  ASKED and WAITING have a reply to come, until `due_ms`; `awaits` is empty in all but
 * WAITING and FEW.  UNKNOWN while the node is not UP. */
struct replicas {
    int wanted; /* 0: a node for everything else, of which nothing below is used */
    enum replicas_state {
        REPLICAS_UNKNOWN,
        REPLICAS_ASKED,
        REPLICAS_FEW,
        REPLICAS_OPEN,
        REPLICAS_WRITTEN,
        REPLICAS_WAITING
    } state;
    int64_t due_ms;
    int64_t until_ms; /* WRITTEN: the earliest of its commands */
    int acknowledged; /* WAITING, FEW: so many did when WAIT came back last; -1: it did not yet */
    TAILQ_HEAD(await_list, redis_await) awaits;
    struct exchange may_wait, info, wait;
};

enum { NODE_NAME_MAX = SERVER_TEXT_MAX + 16 };

/* One server: a seed, or one that was named by the cluster; or the second connection to it.
 *
 * Invariants: `connection` is NULL exactly when DOWN or BAD.  `stalled` is empty when UP, unless
 * replicas are waited for.  It stays while it is a seed, in the slot map, or has commands. */
struct node {
    struct redis *redis;
    struct server_address address;
    char name[NODE_NAME_MAX];
    struct replicas replicas;
    enum node_state { NODE_DOWN, NODE_CONNECTING, NODE_UP, NODE_BAD } state;
    struct connection *connection;
    struct lane_list stalled; /* wait for it to come up */
    bool wanted;              /* to be connected to as soon as `retry_ms` has come */
    uint64_t failures;        /* since commands could be written to it */
    bool known;               /* it was up before */
    int64_t retry_ms;         /* DOWN, BAD: not before */
    smq_status status;        /* why it is DOWN or BAD */
    char why[512];            /* commands cannot be written to it, or could not be, last; or "" */
    UT_hash_handle hh;
};

enum { WHEEL_SLOTS = 256, WHEEL_TICK_MS = 16 };

struct redis {
    struct loop *loop;
    struct events *events;
    struct server_list seeds;
    int64_t connect_timeout_ms, request_timeout_ms;
    struct {
        _Atomic uint64_t redirects, reconnects;
    } counts;
    bool closing;
    int open_handles;
    void (*closed)(void *user);
    void *closed_user;

    struct node *nodes; /* by name */
    struct slotmap map;
    struct lane *lanes;        /* by hash slot; exist while they have requests */
    struct lane_list fresh;    /* may go: looked at in the next turn of the loop */
    struct lane_list unrouted; /* wait for a slot map */
    struct lane_list paused;   /* wait for their moment */
    uint64_t next_any;         /* lanes of commands without a key get numbers of their own */
    uv_idle_t pump;            /* runs while there are fresh lanes */
    uv_timer_t pause_timer;    /* ticks while lanes are paused or nodes are to be tried again */
    uv_timer_t deadline_timer; /* ticks while there are requests */
    uv_timer_t replicas_timer; /* ticks while a node has something with a `due_ms` */
    bool written;              /* a node is in REPLICAS_WRITTEN */
    TAILQ_HEAD(request_list, request) wheel[WHEEL_SLOTS];
    int64_t wheel_ms; /* the tick that was looked at last */
    size_t requests;

    struct topology {
        redis_ready_fn *ready; /* NULL once called */
        void *ready_user;
        bool known;  /* a map was learned */
        bool wanted; /* it should be learned (again) */
        bool asking;
        bool single;            /* not a cluster */
        redis_marks_fn *marked; /* NULL: nobody wants to know */
        void *marked_user;
        struct marks told; /* to `marked`, last */
        int64_t asked_ms;  /* when, last */
        size_t next_seed;
        char why[512]; /* the last answer was no map, for this reason */
        struct exchange exchange;
        struct node *asked;
        uv_timer_t timer;
        uv_timer_t start_timer; /* until `ready` must be called */
    } topology;

    struct pubsub {
        struct pubsub_link *links;       /* by node name */
        struct pubsub_channel *channels; /* by channel */
        TAILQ_HEAD(, pubsub_channel) idle;
        uv_timer_t timer; /* pings, and what is to be tried again */
    } pubsub;
};

/* --- cluster.c --- */

/* The slot map has changed: send what waits for it. */
void redis_routes_changed(struct redis *redis);
/* Look again at lanes that wait in `list`, which is empty then. */
void redis_lanes_freshen(struct lane_list *list);
/* Look again, soon and until it is done, at what waits for its moment: lanes, nodes. */
void redis_retry_soon(struct redis *redis);
void redis_adopt(struct redis *redis, uv_handle_t *handle);

/* --- node.c --- */

struct node *redis_node(struct redis *redis, const struct server_address *address);
/* The connection for commands that so many replicas must have, too; 0: the usual one. */
struct node *redis_node_with(struct redis *redis, const struct server_address *address,
                             int replicas);
/* Any that is up; NULL: none is. */
struct node *redis_node_up(struct redis *redis);
void redis_node_connect(struct node *node);
/* Commands can be written to it: those that waited for that go on. */
void redis_node_good(struct node *node);
/* Give its connection up. */
void redis_node_down(struct node *node, smq_status status, const char *why);
/* Let go of servers that the cluster does not name any more. */
void redis_sweep_nodes(struct redis *redis);
/* A MOVED or ASK is followed. */
void redis_count_redirect(struct redis *redis);
/* A connection is ready; `known`, which is set: it was so before. */
void redis_count_ready(struct redis *redis, bool *known);

/* --- replicas.c --- */

void replicas_init(struct node *node, int wanted);
/* The node is up.  Its lanes go on when it has enough replicas. */
void replicas_node_up(struct node *node);
void replicas_node_down(struct node *node);
/* May a command be written now? */
bool replicas_may_write(const struct node *node);
/* One was written. */
void replicas_wrote(struct node *node, const struct redis_command *command);
/* The end of the turn: WAIT behind what was written. */
void replicas_turn(struct redis *redis);

/* --- topology.c --- */

void topology_start(struct redis *redis, redis_ready_fn *ready, void *user);
void topology_stop(struct redis *redis);
/* The map may be out of date: learn it again, soon. */
void topology_refresh(struct redis *redis);
void topology_node_up(struct node *node);
void topology_node_down(struct node *node);

/* --- pubsub.c --- */

void pubsub_start(struct redis *redis);
void pubsub_stop(struct redis *redis);
/* The slot map has changed: move subscriptions that are on the wrong node. */
void pubsub_routes_changed(struct redis *redis);

#endif
