/* zk_log.h - what becomes of the log of the ZooKeeper client library.
 *
 * Below: nothing of this folder.  Thread: any. */
#ifndef COORD_ZK_LOG_H
#define COORD_ZK_LOG_H

#include <zookeeper/zookeeper.h>

/* The library logs a line for each failed attempt to connect, up to ten a second.  They are
 * dropped: the events of slotmq report each change once. */
static inline void zk_log_nothing(const char *message)
{
    (void) message;
}

#endif
