/* reach.h - does any node answer this client?
 *
 * Every byte that comes over any connection is an answer, also of a node that refuses commands.
 * While reach is watched idle connections are asked with PING: each one after a while; when nothing
 * has come from any node one of them sooner, and if that does not answer all.  So a client without
 * work notices that a node is lost, and says that no node answers only after it has asked all of
 * them.
 *
 * Thread: smq:io. */
#ifndef REDIS_REACH_H
#define REDIS_REACH_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "redis/context.h"
#include "redis/topology.h"

/* Milliseconds; tests make them shorter. */
struct reach_timings {
    int64_t tick;  /* between two looks at the clock */
    int64_t quiet; /* one node is asked when none has said anything for this long, then all */
    int64_t idle;  /* a node is asked when it has said nothing for this long */
    int64_t lost;  /* none is reached when those that are asked have not answered for this long */
};

/* Used by clients that begin to watch after it was changed. */
extern struct reach_timings reach_timings;

/* What is known of all nodes together; a zeroed one begins.  Times are those of clock_now_ms().
 * Invariant: while `lost`, `asked_ms` is not 0. */
struct reach_count {
    int64_t ticked_ms; /* 0: not yet */
    int64_t asked_ms;  /* since when nodes are asked and none has answered; 0: they are not */
    bool lost;
};

/* TRY: ask one node.  ASK: ask all nodes.  LOST: ask them, and report that none is reached.  BACK:
 * report that one is. */
enum reach_step { REACH_NONE, REACH_TRY, REACH_ASK, REACH_LOST, REACH_BACK };

/* What to do at `now_ms` when the last answer came at `heard_ms`.  A step that comes late, as after
 * the process was stopped or the machine slept, begins the count again, because nobody was asked in
 * the meantime.  Pure. */
enum reach_step reach_count_step(struct reach_count *count, const struct reach_timings *timings,
                                 int64_t heard_ms, int64_t now_ms);

struct reach {
    struct context *context;
    struct topology *topology;
    struct reach_timings timings;
    struct reach_count count;
    redis_reach_fn *changed; /* NULL: nothing watches */
    void *user;
    uv_timer_t timer;
};

void reach_init(struct reach *reach, struct context *context, struct topology *topology);

/* As redis_watch_reach(). */
void reach_watch(struct reach *reach, redis_reach_fn *changed, void *user);

#endif
