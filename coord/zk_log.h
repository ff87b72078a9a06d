/* zk_log.h - the log of the ZooKeeper client library.
 *
 * Below: nothing of this folder.  Thread: any. */
#ifndef COORD_ZK_LOG_H
#define COORD_ZK_LOG_H

#include <zookeeper/zookeeper.h>

/* The client library logs a line for each failed attempt to connect, up to ten per second.  These
 * lines are dropped, because the events of slotmq report each change once. */
static inline void zk_log_nothing(const char *message)
{
    (void) message;
}

#endif
