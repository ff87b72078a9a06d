/* replicas.h - connections for commands that replicas must acknowledge, too.
 *
 * WAIT blocks a connection, so these commands have a connection of their own for each number of
 * replicas.  WAIT counts the replicas that have all writes of its connection, so one WAIT after the
 * commands of a turn covers all of them; nothing is written until its reply has come.
 *
 * Thread: smq:io. */
#ifndef REDIS_REPLICAS_H
#define REDIS_REPLICAS_H

#include <stdbool.h>

#include <uv.h>

#include "redis/context.h"
#include "redis/node.h"

struct replicas_set {
    struct context *context;
    struct node_set *nodes;
    bool written;     /* a node is in REPLICAS_WRITTEN */
    uv_timer_t timer; /* ticks while a node is ASKED, FEW or WAITING */
};

void replicas_init(struct replicas_set *set, struct context *context, struct node_set *nodes);

/* The client closes: end all awaits. */
void replicas_stop(struct replicas_set *set);

/* A node with `replicas_wanted` is UP: ask whether it has enough, and make it writable then. */
void replicas_node_up(struct replicas_set *set, struct node *node);

/* A node is not UP any more: end its awaits. */
void replicas_node_down(struct node *node);

/* May a command be written to this node, which is UP, now? */
bool replicas_may_write(const struct node *node);

/* A command was written to this node. */
void replicas_wrote(struct node *node, const struct redis_command *command);

/* The turn ends: send WAIT after the commands that were written in it. */
void replicas_turn(struct replicas_set *set);

#endif
