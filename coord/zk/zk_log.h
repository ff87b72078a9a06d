/* zk_log.h - the log of the ZooKeeper client library, as events of level DEBUG.
 *
 * The level of the library stays in the text, because what the library calls an error is mostly an
 * attempt to connect, which it repeats.  The library does not tell which handle a line is about, so
 * each log of the process gets the lines of all handles.
 *
 * Below: nothing of this folder.  Thread: any. */
#ifndef COORD_ZK_ZK_LOG_H
#define COORD_ZK_ZK_LOG_H

#include <sys/queue.h>

#include "base/event.h"

struct zk_log {
    struct events *events;
    LIST_ENTRY(zk_log) link; /* guarded by the lock of zk_log.c */
};

/* Report lines to `events`, which may be NULL, until zk_log_end(). */
void zk_log_begin(struct zk_log *log, struct events *events);
void zk_log_end(struct zk_log *log);

/* Takes a line of the library: the log_callback_fn of zookeeper_init2().  Without one, the library
 * would write to standard error. */
void zk_log_line(const char *line);

#endif
