/* servers.h - the one starter of real servers, for tests, demo, bench and sandbox: a Redis server
 * or a Redis Cluster, and a ZooKeeper server, on free ports of 127.0.0.1 and in a folder of their
 * own.
 *
 * What fails is printed on stderr, with the end of the log of the server concerned.  The servers
 * die with the thread that started them (process.h), so start them from the main thread.
 *
 * Thread: one at a time for what one servers_start() has made. */
#ifndef SUPPORT_SERVERS_H
#define SUPPORT_SERVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum redis_kind {
    REDIS_NONE,
    REDIS_SINGLE, /* one server without cluster mode */
    REDIS_CLUSTER
};

struct servers_options {
    enum redis_kind redis;
    int masters;                     /* of the cluster; default 3; hash slots evenly spread       */
    int replicas;                    /* of each master; default 0                                 */
    const char *const *redis_config; /* lines of redis.conf for every node, NULL-terminated       */
    const char *tls_folder;          /* if not NULL Redis also speaks TLS, to clients that have a
                                        certificate by ca.crt, with server.crt and server.key */
    int node_timeout_ms;             /* cluster-node-timeout; default 15000, with replicas 2000   */
    bool zookeeper;
    int tick_ms;        /* ZooKeeper's; default 200.  Sessions last 2 to 300 ticks                */
    const char *folder; /* must not exist yet; default a new one in TMPDIR or /tmp                */
    bool detached;      /* the servers outlive us; servers_free() leaves them alone               */
};

struct servers;

/* Start them and wait until all work: every node knows the whole cluster, each master took a
 * write, the replicas are in sync, ZooKeeper serves.  NULL when that cannot be. */
struct servers *servers_start(const struct servers_options *options);

/* Stop them, wait for their end, remove the folder.  NULL: nothing. */
void servers_free(struct servers *servers);

/* "127.0.0.1:7000,127.0.0.1:7001": all Redis nodes.  "127.0.0.1:2181": ZooKeeper.  Valid until
 * servers_free(). */
const char *servers_redis(const struct servers *servers);
const char *servers_redis_tls(const struct servers *servers); /* "rediss://127.0.0.1:7002,..." */
const char *servers_zookeeper(const struct servers *servers);
const char *servers_folder(const struct servers *servers);

/* One server.  Nodes are numbered: the masters first, then the replicas, of which number
 * masters + i belongs to master i % masters. */
struct server;

size_t servers_count(const struct servers *servers); /* Redis nodes */
struct server *servers_node(const struct servers *servers, size_t number);
struct server *servers_zookeeper_server(const struct servers *servers);

/* The node that holds `key` now, as the nodes tell; NULL when nobody says so. */
struct server *servers_node_of(const struct servers *servers, const char *key);

/* Wait until every node that runs sees a whole cluster, as after a failover or a restart. */
bool servers_wait(const struct servers *servers, int64_t timeout_ms);

const char *server_address(const struct server *server); /* "127.0.0.1:7000" */
int server_port(const struct server *server);
pid_t server_pid(const struct server *server); /* 0 while it does not run */

void server_kill(struct server *server);   /* SIGKILL                                         */
void server_stop(struct server *server);   /* SIGTERM, and SIGKILL if that takes too long     */
void server_pause(struct server *server);  /* SIGSTOP                                         */
void server_resume(struct server *server); /* SIGCONT                                         */

/* Start it again on its port, with the data of its folder (Redis keeps none, a cluster node knows
 * its cluster), and wait until it answers. */
bool server_restart(struct server *server);

/* The two halves of server_restart(): start it; wait until it answers. */
bool server_launch(struct server *server);
bool server_await(struct server *server);

/* Remove what a ZooKeeper server that does not run has stored: it starts again as a new one. */
void server_wipe(const struct server *server);

/* What a ZooKeeper server answers to a word of four letters: srvr, mntr, ruok.  false: nothing. */
bool zookeeper_server_ask(const struct server *server, const char *word, char *answer, size_t size);

/* The last lines of its log. */
void server_print_log(const struct server *server, FILE *out);

#endif
