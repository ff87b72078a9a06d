/* zk_log.c - the log of the ZooKeeper client library, as events of level DEBUG.
 *
 * Thread: any; lines come on threads of the library. */
#include "coord/zk/zk_log.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t zk_log_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, zk_log) zk_logs = LIST_HEAD_INITIALIZER(zk_logs);

void zk_log_line(const char *line)
{
    const char *words = strstr(line, ":ZOO_"); /* time, process and thread come before */
    const struct zk_log *log = NULL;

    words = words != NULL ? words + 1 : line;
    pthread_mutex_lock(&zk_log_lock);
    LIST_FOREACH(log, &zk_logs, link)
    {
        events_log(log->events, SMQ_LEVEL_DEBUG, "ZooKeeper client: %s", words);
    }
    pthread_mutex_unlock(&zk_log_lock);
}

void zk_log_begin(struct zk_log *log, struct events *events)
{
    log->events = events;
    pthread_mutex_lock(&zk_log_lock);
    LIST_INSERT_HEAD(&zk_logs, log, link);
    pthread_mutex_unlock(&zk_log_lock);
}

void zk_log_end(struct zk_log *log)
{
    pthread_mutex_lock(&zk_log_lock);
    LIST_REMOVE(log, link);
    pthread_mutex_unlock(&zk_log_lock);
}
