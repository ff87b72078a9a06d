/* route.h - the node for a command.
 *
 * Thread: smq:io. */
#ifndef REDIS_ROUTE_H
#define REDIS_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/node.h"
#include "redis/topology.h"

/* What decides about the node of a command. */
struct route {
    int32_t hash_slot;                /* or REDIS_ANY_NODE */
    int replicas;                     /* of the command; 0: none */
    const struct server_address *ask; /* where an ASK led; NULL: nowhere */
    bool once;                        /* the command must not wait for a server that is away */
};

/* The node, made if there is none at its address; NULL: no node is known to serve the hash slot. */
struct node *route_find(struct topology *topology, const struct route *route);

/* Must the command end now, because this node, which cannot be written to, is not connected to? */
bool route_is_hopeless(const struct route *route, const struct node *node);

#endif
