/* real_cluster.h - a Redis Cluster of three masters for the tests of a program, and commands to one
 * server without the client.
 *
 * Thread: main. */
#ifndef TEST_REDIS_REAL_CLUSTER_H
#define TEST_REDIS_REAL_CLUSTER_H

#include <hiredis/hiredis.h>

#include "support/servers.h"

/* Between these two, which are group fixtures of cmocka. */
extern struct servers *real_cluster;
int real_cluster_start(void **state);
int real_cluster_stop(void **state);

/* A connection; the caller frees it. */
redisContext *real_cluster_connect(const struct server *server);

/* A command (format as redisCommand()), which the server must not refuse. */
void real_cluster_tell(const struct server *server, const char *format, ...);

#endif
