/* tree_watch.h - which nodes are watched, and the channels on which their changes are published.
 *
 * A watch fires once: then the node is read again, and watched again.  A publication may be lost.
 * Each names the one before it, so the next one shows that, and the store says what the last one of
 * a channel was when it is asked.
 *
 * Below: tree_text.h, port.h.  Thread: smq:coord. */
#ifndef COORD_TREE_TREE_WATCH_H
#define COORD_TREE_TREE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "coord/port.h"
#include "coord/tree/tree_text.h"

struct tree_watch;

/* Invariant: it is subscribed. */
struct tree_channel {
    UT_hash_handle hh; /* by `name` */
    int64_t seen;      /* the last change that is known */
    bool doubted;      /* its last change must be asked for */
    int64_t unused_ms; /* since when messages come that nothing watches; 0: something does */
    char name[];
};

struct tree_watches {
    const struct coord_port *port;
    void (*changed)(void *user, const char *path);
    void *user;
    struct tree_watch *watches;
    struct tree_channel *channels;
};

/* Watch a node, or its list of children; the caller has seen the change `last`. */
void tree_watches_add(struct tree_watches *watches, const char *path, bool list, int64_t last);

/* The node does not exist: it is not watched. */
void tree_watches_remove(struct tree_watches *watches, const char *path);

/* A message has come.  A channel that nothing watches for `unused_ms` is unsubscribed. */
void tree_watches_hear(struct tree_watches *watches, const char *channel, const char *data,
                       size_t len, int64_t unused_ms);

/* The last change of a channel, or of all (NULL), must be asked for. */
void tree_watches_doubt(struct tree_watches *watches, const char *channel);

/* The last change of a channel is `change`; if it is another one, something was missed. */
void tree_watches_compare(struct tree_watches *watches, const char *channel, int64_t change);

/* Fire all watches. */
void tree_watches_fire(struct tree_watches *watches);

/* Forget all watches and channels. */
void tree_watches_clear(struct tree_watches *watches);

#endif
