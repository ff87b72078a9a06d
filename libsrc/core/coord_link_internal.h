/* coord_link_internal.h - what coord_link.c (the link, and the notices of coordination) and
 * coord_link_questions.c (what coordination asks of Redis) share.
 *
 * Below: coord_link.h.  Thread: as each function says. */
#ifndef CORE_COORD_LINK_INTERNAL_H
#define CORE_COORD_LINK_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "coord/coord.h"
#include "core/coord_link.h"

/* A topic that this client consumes, or has not left yet.  Invariant: `wanted` are the arguments
 * with which it was joined last or, while `rejoin` is set, with which it will be joined next;
 * `wanted` points to `name` and `wanted_nonce`.  Thread: smq:io. */
struct coord_link_topic {
    LIST_ENTRY(coord_link_topic) link;
    struct coord_link_listener listener;
    bool has_listener; /* without a listener the topic waits for `left` */
    bool joined;       /* coord_join() was called, and `left` was not called yet */
    bool rejoin;       /* a new listener waits for `left` */
    struct coord_topic wanted;
    char name[TOPIC_NAME_MAX + 1];
    char wanted_nonce[TOPIC_NONCE_LEN + 1];
    char nonce[TOPIC_NONCE_LEN + 1]; /* of the topic that coordination has joined */
};

/* References: one of its core, and one of each notice and question in progress. */
struct coord_link {
    /* immutable after coord_link_new() */
    struct core *core;
    struct membership *membership;

    /* any thread */
    atomic_int references;
    _Atomic int64_t leased_until_ms; /* of the session, by clock_now_ms(); 0: it has not begun */
    pthread_mutex_t opening;         /* held while coordination is opened */
    struct tree_port *tree;          /* guarded by `opening`: of a fleet in Redis, or NULL */

    /* smq:io */
    bool watching; /* the fingerprint and whether Redis answers are reported to coordination */
    LIST_HEAD(, coord_link_topic) topics;

    /* guarded by state.lock */
    struct {
        pthread_mutex_t lock;
        struct coord *coord; /* NULL: not opened yet, or closed */
    } state;
};

/* Drop a reference.  Any thread. */
void coord_link_unref(struct coord_link *link);

/* The topic of this name, or NULL.  Thread: smq:io. */
struct coord_link_topic *coord_link_topic_find(const struct coord_link *link, const char *name);

/* coord_link_questions.c: the listener's `check`.  `user` is the link, of which each question holds
 * a reference.  Thread: smq:coord. */
void coord_link_on_check(void *user, const char *topic, const char *binding);

#endif
