/* server.h - one server process; what servers.c, redis_server.c and zookeeper_server.c share.
 *
 * Thread: as servers.h. */
#ifndef SUPPORT_SERVER_H
#define SUPPORT_SERVER_H

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "support/port.h"
#include "support/servers.h"

enum {
    SERVER_START_TIMEOUT_MS = 60000, /* generous: only a broken server needs it */
    SERVER_STOP_TIMEOUT_MS = 10000
};

/* Invariant: `pid` is 0 or our child that was not waited for. */
struct server {
    bool (*answers)(const struct server *server); /* does it serve? */
    const char *argv[32];                         /* what starts it; in part our `arguments` */
    char *arguments[8];
    const char *name;      /* "redis-server" */
    struct port port, tls; /* tls.number 0: it does not speak TLS */
    pid_t pid;
    bool detached;
    char address[32];
    char folder[PATH_MAX]; /* its working directory: configuration, data, log */
    char log[PATH_MAX];
};

/* Redis: write its configuration into server->folder and set argv and answers. */
bool redis_server_prepare(struct server *server, const struct servers_options *options);

/* Make one cluster of `count` running nodes. */
bool redis_cluster_form(struct server *const *nodes, size_t count,
                        const struct servers_options *options);

/* Does every node that runs see a whole cluster, with its master in reach if it is a replica? */
bool redis_cluster_whole(struct server *const *nodes, size_t count);

/* The port of the node which holds `key`, asked from this one; 0 when it does not say. */
int redis_server_find(const struct server *server, const char *key);

/* ZooKeeper: the same as redis_server_prepare(). */
bool zookeeper_server_prepare(struct server *server, const struct servers_options *options);

/* Remove a folder with all it holds; "": nothing. */
void folder_remove(const char *folder);

/* SIGTERM, without waiting; server_stop() waits. */
void server_tell_stop(const struct server *server);

/* One line on stderr about this server, then the end of its log.  Returns false. */
bool server_fail(const struct server *server, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
