/* zk_log.h - the log of the ZooKeeper client library, as events.
 *
 * The words of the library are kept.  A line is reported at a lower level than the library has it,
 * at most INFO, because what the library calls an error is mostly an attempt to connect, which it
 * repeats.  At most ZK_LOG_LINES lines are reported in one minute; then follows one line that says
 * how many were left out.  Lines below the level of the client's events do not count.
 *
 * The library calls a function for each line, on any of its threads, and does not tell which handle
 * the line is about.  So each log has a function of its own.  There are ZK_LOG_FUNCTIONS of them; a
 * log that gets none reports nothing but that.
 *
 * Below: nothing of this folder.  Thread: smq:coord, except where a function says otherwise. */
#ifndef COORD_ZK_LOG_H
#define COORD_ZK_LOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <zookeeper/zookeeper.h>

#include "base/event.h"
#include "base/loop.h"

enum { ZK_LOG_LINES = 10, ZK_LOG_FUNCTIONS = 16 };

/* In which ZK_LOG_LINES are reported.  Tests make it shorter, for logs that begin later. */
extern int64_t zk_log_span_ms;

/* How many lines were reported and left out since the first one of a span.  Zeroed, but for
 * `span_ms`, it has seen no line. */
struct zk_log_limit {
    int64_t span_ms, since_ms;
    int lines;
    uint64_t left_out;
    smq_level level; /* the most severe one of the lines that were left out */
};

/* A log.  It is started once; its loop must end before it is freed. */
struct zk_log {
    /* immutable between zk_log_begin() and zk_log_end() */
    struct loop *loop;
    struct events *events;
    int function; /* -1: there is none */

    /* any thread */
    struct loop_task full; /* the first line of a span was left out */

    /* smq:coord */
    uv_timer_t timer; /* to the end of a span in which lines were left out */
    bool ended;

    /* guarded by lock */
    pthread_mutex_t lock;
    struct zk_log_limit limit;
};

/* Report the lines of handles from now on to `events`, which may be NULL. */
void zk_log_begin(struct zk_log *log, struct loop *loop, struct events *events);

/* All handles with the function of this log are closed. */
void zk_log_end(struct zk_log *log);

/* The function for zookeeper_init2(). */
log_callback_fn zk_log_function(const struct zk_log *log);

/* The level at which a line of the library is reported, and in *words its part from the name of the
 * function on.  Pure. */
smq_level zk_log_read(const char **words, const char *line);

/* If the span has ended at `now_ms`, move what was counted to *before, and begin a new one;
 * otherwise *before is zeroed.  Pure. */
void zk_log_limit_turn(struct zk_log_limit *limit, struct zk_log_limit *before, int64_t now_ms);

/* May a line of this level be reported in the present span?  It counts.  Pure. */
bool zk_log_limit_pass(struct zk_log_limit *limit, smq_level level);

#endif
