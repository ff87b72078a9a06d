/* tree_port.h - how the tree of a fleet reaches Redis: its calls and subscriptions are posted to
 * smq:io, and done there.
 *
 * Thread: any, but smq:io where it says so. */
#ifndef CORE_TREE_PORT_H
#define CORE_TREE_PORT_H

#include "base/loop.h"
#include "coord/port.h"

struct redis;
struct tree_port;

/* A port to the tree of `root`.  `io` and `redis` must live until the task that tree_port_free()
 * posts to `io` has run. */
struct tree_port *tree_port_new(struct loop *io, struct redis *redis, const char *root);

/* The functions that coordination calls; valid until tree_port_free(). */
const struct coord_port *tree_port_door(struct tree_port *port);

/* Free a port that is closed, or was never opened. */
void tree_port_free(struct tree_port *port);

#endif
