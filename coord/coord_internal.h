/* coord_internal.h - the thread smq:coord, the commands that reach it, and the listener.
 *
 * Below: coord.h.  Thread: smq:coord, except where a function says otherwise. */
#ifndef COORD_COORD_INTERNAL_H
#define COORD_COORD_INTERNAL_H

#include "base/loop.h"
#include "coord/coord.h"

enum coord_command_kind {
    COORD_JOIN,
    COORD_LEAVE,
    COORD_ANSWERED,
    COORD_CHECKED,
    COORD_RAISED,
    COORD_SURPASSED,
    COORD_EXPLAIN,
    COORD_FINGERPRINT,
    COORD_REACHABLE
};

/* A call of another thread, posted to smq:coord.  It owns its strings and frees itself. */
struct coord_command {
    struct loop_task task;
    struct coord *coord;
    enum coord_command_kind kind;
    struct coord_topic topic; /* JOIN: all of it; RAISED: name, generation; others: name */
    enum coord_answer answer; /* ANSWERED, as slot and token */
    int32_t slot;
    struct token token; /* SURPASSED, too */
    smq_status status;  /* CHECKED */
    char *text;
    struct fingerprint fingerprint; /* FINGERPRINT */
    bool reachable;                 /* REACHABLE */
};

/* What the fleet does (zookeeper.c), which is above this file. */
struct coord_calls {
    void (*run)(struct coord *coord, const struct coord_command *command);
    void (*binding)(struct coord *coord, char out[COORD_BINDING_MAX]); /* any thread */
    int64_t (*reign)(struct coord *coord);                             /* any thread */
    void (*stop)(struct coord *coord); /* close all handles; this is the last call on the loop */
    void (*free)(struct coord *coord); /* after the loop has ended */
};

/* Invariant: the listener is not called once `stopping` is true. */
struct coord {
    const struct coord_calls *calls;
    struct zookeeper *self;
    struct loop *loop;
    struct coord_options options; /* its strings are copies */
    struct loop_task stop;
    bool stopping;
};

/* Make the common part, without `self`; its thread runs.  Fails: NO_MEMORY. */
smq_status coord_new(struct coord **out, const struct coord_calls *calls,
                     const struct coord_options *options, smq_error *err);

/* Call the listener; these do nothing once coord_free() has begun. */
void coord_call_granted(struct coord *coord, const char *topic, const struct coord_grant *grants,
                        size_t count);
void coord_call_revoked(struct coord *coord, const char *topic, const int32_t *slots, size_t count);
void coord_call_lost(struct coord *coord, const char *topic, const int32_t *slots, size_t count);
void coord_call_failed(struct coord *coord, const char *topic, smq_status status, const char *text);
void coord_call_check(struct coord *coord, const char *topic, const char *binding);
void coord_call_left(struct coord *coord, const char *topic);
void coord_call_leased(struct coord *coord, int64_t until_ms, int64_t lease_ms);
void coord_call_not_released(struct coord *coord, size_t slots);
void coord_call_explained(struct coord *coord, const char *topic, enum coord_no_slot why);

#endif
