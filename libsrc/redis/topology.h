/* topology.h - learning which node serves which hash slot: at the start, and when the map may have
 * changed.
 *
 * One CLUSTER SLOTS is in flight at a time, at most one per second; seeds are kept until the end.
 * A node may answer before it has learned of the change itself, so the map is learned twice.
 *
 * Thread: smq:io. */
#ifndef REDIS_TOPOLOGY_H
#define REDIS_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include "redis/connection.h"
#include "redis/context.h"
#include "redis/node.h"
#include "redis/slotmap.h"

struct topology {
    struct context *context;
    struct node_set *nodes;
    void (*changed)(void *user); /* a slot map was learned */
    void *changed_user;
    struct slotmap map;
    redis_ready_fn *ready; /* NULL once called */
    void *ready_user;
    bool known;                          /* a map was learned */
    int wanted;                          /* maps that are still to be learned */
    bool asking;                         /* a question is in flight */
    bool early;                          /* it was asked before the last sign of a change */
    bool single;                         /* the only server is not in cluster mode */
    redis_fingerprint_fn *fingerprinted; /* NULL: nothing watches the fingerprint */
    void *fingerprinted_user;
    struct fingerprint reported; /* what was last reported to `fingerprinted` */
    int64_t asked_ms;            /* when CLUSTER SLOTS was sent last */
    size_t next_seed;
    char why[512]; /* why the last reply was no map */
    struct exchange exchange;
    struct node *asked;
    uv_timer_t timer;
    uv_timer_t start_timer; /* runs until `ready` must be called */
};

void topology_init(struct topology *topology, struct context *context, struct node_set *nodes,
                   void (*changed)(void *user), void *user);

/* Learn the first map; `ready` as in redis_new(). */
void topology_start(struct topology *topology, redis_ready_fn *ready, void *user);

/* Learn nothing more; `ready` is called if it was not. */
void topology_stop(struct topology *topology);
void topology_fini(struct topology *topology);

/* There is a sign that the map is out of date: learn it again, soon. */
void topology_refresh(struct topology *topology);

/* As redis_watch_fingerprint(). */
void topology_watch_fingerprint(struct topology *topology, redis_fingerprint_fn *changed,
                                void *user);

/* A node came up, or went down. */
void topology_node_up(struct topology *topology);
void topology_node_down(struct topology *topology, const struct node *node);

#endif
