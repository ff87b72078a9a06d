/* servers.c - all the servers of one program: their folder, start and end. */
#include "support/servers.h"

#include "support/process.h"
#include "support/server.h"
#include "support/wait.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEFAULT_MASTERS = 3, MOST_SERVERS = 64, ADDRESS_SIZE = 32 };

/* Invariant: nodes[0..count) are made, from `folder` on; what runs among them has a pid.  The
 * remover waits until no process has the other end of its pipe, which is `life`, and then removes
 * `folder`: a test that is killed, or fails in its midst, cannot do so itself. */
struct servers {
    struct servers_options options;
    struct server *nodes[MOST_SERVERS];
    size_t count;
    struct server *zookeeper;
    char redis[MOST_SERVERS * ADDRESS_SIZE], redis_tls[MOST_SERVERS * ADDRESS_SIZE];
    char folder[PATH_MAX / 2];
    pid_t remover; /* 0: none */
    int life;
};

static bool make_folder(struct servers *servers)
{
    const char *parent = getenv("TMPDIR");

    if (servers->options.folder != NULL) {
        snprintf(servers->folder, sizeof(servers->folder), "%s", servers->options.folder);
        if (mkdir(servers->folder, 0700) == 0) {
            return true;
        }
    } else {
        snprintf(servers->folder, sizeof(servers->folder), "%s/slotmq-servers-XXXXXX",
                 parent != NULL ? parent : "/tmp");
        if (mkdtemp(servers->folder) != NULL) {
            return true;
        }
    }
    fprintf(stderr, "cannot make the folder %s: %s\n", servers->folder, strerror(errno));
    servers->folder[0] = '\0';
    return false;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void) status;
    (void) type;
    (void) walk;
    return remove(path);
}

void folder_remove(const char *folder)
{
    if (folder[0] != '\0') {
        nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    }
}

static void server_free(struct server *server)
{
    if (server != NULL) {
        port_release(&server->port);
        if (server->tls.number != 0) {
            port_release(&server->tls);
        }
        free(server);
    }
}

/* A server that does not run yet, with its port and folder. */
static struct server *server_new(const struct servers *servers, const char *name, bool with_bus)
{
    struct server *server = calloc(1, sizeof(*server));

    if (server == NULL || !port_reserve(&server->port, with_bus)) {
        free(server);
        return NULL;
    }
    server->detached = servers->options.detached;
    snprintf(server->address, sizeof(server->address), "127.0.0.1:%d", server->port.number);
    snprintf(server->folder, sizeof(server->folder), "%s/%s-%d", servers->folder, name,
             server->port.number);
    snprintf(server->log, sizeof(server->log), "%.*s/log", (int) sizeof(servers->folder) + 64,
             server->folder);
    if (mkdir(server->folder, 0700) != 0) {
        perror(server->folder);
        server_free(server);
        return NULL;
    }
    return server;
}

static bool add_tls_port(struct servers *servers, struct server *server)
{
    size_t used = strlen(servers->redis_tls);

    if (!port_reserve(&server->tls, false)) {
        return false;
    }
    snprintf(servers->redis_tls + used, sizeof(servers->redis_tls) - used, "%s127.0.0.1:%d",
             used > 0 ? "," : "rediss://", server->tls.number);
    return true;
}

static bool add_node(struct servers *servers)
{
    struct server *server = server_new(servers, "redis", servers->options.redis == REDIS_CLUSTER);

    if (server == NULL) {
        return false;
    }
    servers->nodes[servers->count++] = server;
    if (servers->options.tls_folder != NULL && !add_tls_port(servers, server)) {
        return false;
    }
    size_t used = strlen(servers->redis);
    snprintf(servers->redis + used, sizeof(servers->redis) - used, "%s%s", used > 0 ? "," : "",
             server->address);
    return redis_server_prepare(server, &servers->options) && server_launch(server);
}

static bool add_zookeeper(struct servers *servers)
{
    servers->zookeeper = server_new(servers, "zookeeper", false);
    return servers->zookeeper != NULL &&
           zookeeper_server_prepare(servers->zookeeper, &servers->options) &&
           server_launch(servers->zookeeper);
}

static size_t wanted_nodes(const struct servers_options *options)
{
    if (options->redis != REDIS_CLUSTER) {
        return options->redis == REDIS_SINGLE ? 1 : 0;
    }
    return (size_t) options->masters * (size_t) (1 + options->replicas);
}

static bool start_remover(struct servers *servers)
{
    const char *const argv[] = {
        "sh", "-c", "read -r end; rm -rf \"$1\" || rm -rf \"$1\"", "sh", servers->folder, NULL};
    int pipe_ends[2];

    if (servers->options.detached) {
        return true;
    }
    if (pipe2(pipe_ends, O_CLOEXEC) != 0) {
        perror("pipe2");
        return false;
    }
    servers->remover = process_start(
        &(struct process_options){.argv = argv, .in = pipe_ends[0], .detached = true});
    servers->life = pipe_ends[1];
    close(pipe_ends[0]);
    return servers->remover != 0;
}

static void end_remover(struct servers *servers)
{
    if (servers->remover != 0) {
        process_kill(servers->remover);
        servers->remover = 0;
    }
    if (servers->life != 0) {
        close(servers->life);
        servers->life = 0;
    }
}

/* All start at once; ZooKeeper, the slowest, comes up while the cluster forms. */
static bool start_all(struct servers *servers)
{
    size_t wanted = wanted_nodes(&servers->options);

    if (wanted > MOST_SERVERS) {
        fprintf(stderr, "%zu Redis nodes are too many: at most %d\n", wanted, MOST_SERVERS);
        return false;
    }
    if (!make_folder(servers) || !start_remover(servers) ||
        (servers->options.zookeeper && !add_zookeeper(servers))) {
        return false;
    }
    while (servers->count < wanted) {
        if (!add_node(servers)) {
            return false;
        }
    }
    for (size_t i = 0; i < servers->count; i++) {
        if (!server_await(servers->nodes[i])) {
            return false;
        }
    }
    return (servers->options.redis != REDIS_CLUSTER ||
            redis_cluster_form(servers->nodes, servers->count, &servers->options)) &&
           (servers->zookeeper == NULL || server_await(servers->zookeeper));
}

struct servers *servers_start(const struct servers_options *options)
{
    struct servers *servers = calloc(1, sizeof(*servers));

    if (servers == NULL) {
        return NULL;
    }
    servers->options = *options;
    if (servers->options.masters <= 0) {
        servers->options.masters = DEFAULT_MASTERS;
    }
    if (!start_all(servers)) {
        servers->options.detached = false; /* nothing of it shall stay */
        servers_free(servers);
        return NULL;
    }
    return servers;
}

/* All get the signal to end before any is waited for. */
static void stop_all(struct servers *servers)
{
    for (size_t i = 0; i < servers->count; i++) {
        server_tell_stop(servers->nodes[i]);
    }
    if (servers->zookeeper != NULL) {
        server_stop(servers->zookeeper);
    }
    for (size_t i = 0; i < servers->count; i++) {
        server_stop(servers->nodes[i]);
    }
    folder_remove(servers->folder);
    end_remover(servers);
}

void servers_free(struct servers *servers)
{
    if (servers == NULL) {
        return;
    }
    if (!servers->options.detached) {
        stop_all(servers);
    }
    for (size_t i = 0; i < servers->count; i++) {
        server_free(servers->nodes[i]);
    }
    server_free(servers->zookeeper);
    free(servers);
}

const char *servers_redis(const struct servers *servers)
{
    return servers->redis;
}

const char *servers_redis_tls(const struct servers *servers)
{
    return servers->redis_tls;
}

const char *servers_zookeeper(const struct servers *servers)
{
    return servers->zookeeper != NULL ? servers->zookeeper->address : NULL;
}

const char *servers_folder(const struct servers *servers)
{
    return servers->folder;
}

size_t servers_count(const struct servers *servers)
{
    return servers->count;
}

struct server *servers_node(const struct servers *servers, size_t number)
{
    return number < servers->count ? servers->nodes[number] : NULL;
}

struct server *servers_zookeeper_server(const struct servers *servers)
{
    return servers->zookeeper;
}

static struct server *node_at(const struct servers *servers, int port)
{
    for (size_t i = 0; i < servers->count; i++) {
        if (servers->nodes[i]->port.number == port) {
            return servers->nodes[i];
        }
    }
    return NULL;
}

struct server *servers_node_of(const struct servers *servers, const char *key)
{
    if (servers->options.redis == REDIS_SINGLE) {
        return servers->nodes[0];
    }
    for (size_t i = 0; i < servers->count; i++) {
        int port = servers->nodes[i]->pid != 0 ? redis_server_find(servers->nodes[i], key) : 0;
        if (port != 0) {
            return node_at(servers, port);
        }
    }
    return NULL;
}

static bool all_whole(void *arg)
{
    const struct servers *servers = arg;

    return servers->options.redis != REDIS_CLUSTER ||
           redis_cluster_whole(servers->nodes, servers->count);
}

bool servers_wait(const struct servers *servers, int64_t timeout_ms)
{
    return wait_until(all_whole, (void *) servers, timeout_ms);
}
