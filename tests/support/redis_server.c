/* redis_server.c - a Redis server, and how several become one Redis Cluster. */
#include "support/server.h"

#include "support/wait.h"

#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <hiredis/hiredis.h>

enum { HASH_SLOTS = 16384, ID_LEN = 40 };

/* When a node is judged to have failed.  Without replicas nobody gains by it: the whole cluster is
 * down for seconds because one node stood still on a machine with too much to do. */
enum { FAILOVER_NODE_TIMEOUT_MS = 2000, NODE_TIMEOUT_MS = 15000 };

static bool write_configuration(const struct server *server, const struct servers_options *options)
{
    char path[PATH_MAX + 16];

    snprintf(path, sizeof(path), "%s/redis.conf", server->folder);
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        perror(path);
        return false;
    }
    fprintf(file, "bind 127.0.0.1\nport %d\n", server->port.number);
    fprintf(file, "daemonize no\nsave \"\"\nappendonly no\nenable-debug-command yes\n");
    fprintf(file, "repl-diskless-sync-delay 0\nshutdown-timeout 0\n");
    fprintf(file, "repl-ping-replica-period 1\n"); /* before it a new replica is not listed */
    if (options->redis == REDIS_CLUSTER) {
        int timeout_ms = options->replicas > 0 ? FAILOVER_NODE_TIMEOUT_MS : NODE_TIMEOUT_MS;
        fprintf(file, "cluster-enabled yes\ncluster-config-file nodes.conf\n");
        fprintf(file, "cluster-port %d\n", server->port.number + PORT_BUS_OFFSET);
        fprintf(file, "cluster-node-timeout %d\n",
                options->node_timeout_ms > 0 ? options->node_timeout_ms : timeout_ms);
        fprintf(file, "cluster-allow-replica-migration no\n");
    }
    if (server->tls.number != 0) {
        fprintf(file, "tls-port %d\ntls-ca-cert-file %s/ca.crt\n", server->tls.number,
                options->tls_folder);
        fprintf(file, "tls-cert-file %s/server.crt\ntls-key-file %s/server.key\n",
                options->tls_folder, options->tls_folder);
        /* Redis 7.0 names its port for TLS to clients only if the bus has TLS, too. */
        fprintf(file, "tls-replication yes\ntls-cluster %s\n",
                options->redis == REDIS_CLUSTER ? "yes" : "no");
    }
    const char *const *line = options->redis_config;
    for (; line != NULL && *line != NULL; line++) {
        fprintf(file, "%s\n", *line);
    }
    return fclose(file) == 0;
}

static redisContext *connect_to(const struct server *server)
{
    const struct timeval timeout = {.tv_sec = 2};
    redisContext *context = redisConnectWithTimeout("127.0.0.1", server->port.number, timeout);

    if (context != NULL && context->err == 0 && redisSetTimeout(context, timeout) == REDIS_OK) {
        return context;
    }
    redisFree(context);
    return NULL;
}

/* One command on a connection of its own; NULL when it got no reply.  Words are separated by
 * single spaces. */
static redisReply *ask(const struct server *server, const char *command)
{
    redisReply *reply = NULL;
    redisContext *context = connect_to(server);

    if (context != NULL) {
        reply = redisCommand(context, command);
    }
    redisFree(context);
    return reply;
}

static bool is_text(const redisReply *reply)
{
    return reply != NULL &&
           (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS);
}

static bool tell(const struct server *server, const char *command)
{
    redisReply *reply = ask(server, command);
    bool done = reply != NULL && reply->type == REDIS_REPLY_STATUS && strcmp(reply->str, "OK") == 0;

    if (!done) {
        server_fail(server, "%s: %s", command,
                    reply != NULL && reply->type == REDIS_REPLY_ERROR ? reply->str : "no answer");
    }
    freeReplyObject(reply);
    return done;
}

/* Does the text that `command` answers hold every one of these? */
static bool says(const struct server *server, const char *command, const char *const *wanted)
{
    redisReply *reply = ask(server, command);
    bool all = is_text(reply);

    for (; all && *wanted != NULL; wanted++) {
        all = strstr(reply->str, *wanted) != NULL;
    }
    freeReplyObject(reply);
    return all;
}

/* With a password configured it answers NOAUTH: it serves. */
static bool serves(const struct server *server)
{
    redisReply *reply = ask(server, "PING");
    bool yes = is_text(reply) ||
               (reply != NULL && reply->type == REDIS_REPLY_ERROR &&
                (strncmp(reply->str, "NOAUTH", 6) == 0 || strncmp(reply->str, "NOPERM", 6) == 0));

    freeReplyObject(reply);
    return yes;
}

bool redis_server_prepare(struct server *server, const struct servers_options *options)
{
    server->argv[0] = "redis-server";
    server->argv[1] = "redis.conf";
    server->argv[2] = NULL;
    server->name = "redis-server";
    server->answers = serves;
    return write_configuration(server, options);
}

/* === Forming a cluster ================================================== */

static bool give_slots(const struct server *server, int number, int masters)
{
    char command[96];
    int first = number * HASH_SLOTS / masters;
    int last = (number + 1) * HASH_SLOTS / masters - 1;

    snprintf(command, sizeof(command), "CLUSTER ADDSLOTSRANGE %d %d", first, last);
    return tell(server, command);
}

static bool meet(const struct server *server, const struct server *other)
{
    char command[96];

    snprintf(command, sizeof(command), "CLUSTER MEET 127.0.0.1 %d %d", other->port.number,
             other->port.number + PORT_BUS_OFFSET);
    return tell(server, command);
}

/* Epochs of their own spare the nodes a long negotiation, and meeting everybody the gossip. */
static bool introduce(struct server *const *nodes, size_t count)
{
    char command[96];

    for (size_t i = 0; i < count; i++) {
        snprintf(command, sizeof(command), "CLUSTER SET-CONFIG-EPOCH %zu", i + 1);
        if (!tell(nodes[i], command)) {
            return false;
        }
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i + 1; j < count; j++) {
            if (!meet(nodes[i], nodes[j])) {
                return false;
            }
        }
    }
    return true;
}

struct attachment {
    const struct server *replica;
    char command[64];
};

/* The replica must have heard of its master first. */
static bool attached(void *arg)
{
    const struct attachment *attachment = arg;
    redisReply *reply = ask(attachment->replica, attachment->command);
    bool done = reply != NULL && reply->type == REDIS_REPLY_STATUS;

    freeReplyObject(reply);
    return done;
}

static bool attach(const struct server *replica, const struct server *master)
{
    struct attachment attachment = {.replica = replica};
    redisReply *id = ask(master, "CLUSTER MYID");
    bool known = is_text(id);

    if (known) {
        snprintf(attachment.command, sizeof(attachment.command), "CLUSTER REPLICATE %.*s", ID_LEN,
                 id->str);
    }
    freeReplyObject(id);
    return (known && wait_until(attached, &attachment, SERVER_START_TIMEOUT_MS)) ||
           server_fail(replica, "does not become the replica of %s", master->address);
}

struct cluster {
    struct server *const *nodes;
    size_t count;
};

static bool node_whole(const struct server *node, const char *known)
{
    static const char *const in_step[] = {"master_link_status:up", NULL};
    static const char *const leads[] = {"role:master", NULL};
    const char *const whole[] = {"cluster_state:ok", "cluster_slots_ok:16384", known, NULL};

    return says(node, "CLUSTER INFO", whole) &&
           (says(node, "INFO replication", leads) || says(node, "INFO replication", in_step));
}

bool redis_cluster_whole(struct server *const *nodes, size_t count)
{
    char known[48];

    snprintf(known, sizeof(known), "cluster_known_nodes:%zu\r\n", count);
    for (size_t i = 0; i < count; i++) {
        if (nodes[i]->pid != 0 && !node_whole(nodes[i], known)) {
            return false;
        }
    }
    return true;
}

/* Every node must also see every replica in its place: CLUSTER SLOTS shows a master and its
 * replicas a range. */
static bool sees_all(const struct server *node, const struct cluster *cluster)
{
    redisReply *ranges = ask(node, "CLUSTER SLOTS");
    size_t seen = 0;

    if (ranges != NULL && ranges->type == REDIS_REPLY_ARRAY) {
        for (size_t i = 0; i < ranges->elements; i++) {
            seen += ranges->element[i]->elements - 2; /* first, last, node, node, ... */
        }
    }
    freeReplyObject(ranges);
    return seen == cluster->count;
}

static bool complete(void *arg)
{
    const struct cluster *cluster = arg;

    for (size_t i = 0; i < cluster->count; i++) {
        if (!sees_all(cluster->nodes[i], cluster)) {
            return false;
        }
    }
    return redis_cluster_whole(cluster->nodes, cluster->count);
}

/* Try keys until one is this master's own. */
static bool takes_write(const struct server *master)
{
    char command[32];
    bool done = false;

    for (int i = 0; i < 1000 && !done; i++) {
        snprintf(command, sizeof(command), "SET probe%d 1", i);
        redisReply *reply = ask(master, command);
        done = reply != NULL && reply->type == REDIS_REPLY_STATUS;
        freeReplyObject(reply);
        if (done) {
            snprintf(command, sizeof(command), "DEL probe%d", i);
            freeReplyObject(ask(master, command));
        }
    }
    return done || server_fail(master, "takes no write");
}

bool redis_cluster_form(struct server *const *nodes, size_t count,
                        const struct servers_options *options)
{
    size_t masters = (size_t) options->masters;
    struct cluster cluster = {.nodes = nodes, .count = count};

    if (!introduce(nodes, count)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (i < masters ? !give_slots(nodes[i], (int) i, (int) masters)
                        : !attach(nodes[i], nodes[i % masters])) {
            return false;
        }
    }
    if (!wait_until(complete, &cluster, SERVER_START_TIMEOUT_MS)) {
        return server_fail(nodes[0], "the cluster of %zu nodes does not become whole", count);
    }
    for (size_t i = 0; i < masters; i++) {
        if (!takes_write(nodes[i])) {
            return false;
        }
    }
    return true;
}

/* === Finding a key ====================================================== */

static long long hash_slot_of(redisContext *context, const char *key)
{
    redisReply *reply = redisCommand(context, "CLUSTER KEYSLOT %s", key);
    long long slot = reply != NULL && reply->type == REDIS_REPLY_INTEGER ? reply->integer : -1;

    freeReplyObject(reply);
    return slot;
}

static int port_of_slot(redisContext *context, long long slot)
{
    redisReply *ranges = redisCommand(context, "CLUSTER SLOTS");
    int port = 0;

    for (size_t i = 0; ranges != NULL && i < ranges->elements; i++) {
        redisReply **range = ranges->element[i]->element; /* first, last, {host, port, id} */
        if (range[0]->integer <= slot && slot <= range[1]->integer) {
            port = (int) range[2]->element[1]->integer;
        }
    }
    freeReplyObject(ranges);
    return port;
}

int redis_server_find(const struct server *server, const char *key)
{
    redisContext *context = connect_to(server);
    long long slot = context != NULL ? hash_slot_of(context, key) : -1;
    int port = slot >= 0 ? port_of_slot(context, slot) : 0;

    redisFree(context);
    return port;
}
