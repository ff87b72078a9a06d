/* zk_words.c - asking ZooKeeper servers for their version with the word "srvr", which needs no
 * session.
 *
 * All are asked at once, each over a connection of its own, until they have answered or time is
 * over.  What a server answers is untrusted text.
 *
 * Thread: the caller's. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "coord/coord.h"
#include "coord/zk_words.h"

enum { ZK_WORDS_ANSWER_MAX = 4096 };

static const char zk_words_question[] = "srvr";

/* Invariant: the addresses of servers[0 .. count) point into `hosts`. */
struct coord_words {
    char *hosts;
    struct zk_words_server *servers;
    size_t count;
};

/* One server.  Invariant: `fd` is -1 once it has answered or failed. */
struct zk_words_server {
    const char *address; /* "host:port" */
    int fd;
    bool asked;
    char why[128]; /* it cannot be reached */
    char answer[ZK_WORDS_ANSWER_MAX];
    size_t len;
};

static void zk_words_end(struct zk_words_server *server, const char *why)
{
    if (server->fd >= 0) {
        (void) close(server->fd);
        server->fd = -1;
    }
    if (why != NULL) {
        (void) snprintf(server->why, sizeof(server->why), "%s", why);
    }
}

/* "[::1]:2181" and "host:2181" as host and port. */
static void zk_words_split(char *host, size_t size, const char **port, const char *address)
{
    const char *colon = strrchr(address, ':');
    const bool bracket = address[0] == '[' && colon != NULL && colon[-1] == ']';
    const size_t skip = bracket ? 1 : 0;

    *port = colon + 1;
    (void) snprintf(host, size, "%.*s", (int) ((size_t) (colon - address) - 2 * skip),
                    address + skip);
}

static void zk_words_connect(struct zk_words_server *server)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    const char *port = NULL;
    char host[256];
    int failed;

    zk_words_split(host, sizeof(host), &port, server->address);
    failed = getaddrinfo(host, port, &hints, &found);
    if (failed != 0) {
        zk_words_end(server, gai_strerror(failed));
        return;
    }
    server->fd = socket(found->ai_family, found->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                        found->ai_protocol);
    if (server->fd < 0 ||
        (connect(server->fd, found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS)) {
        zk_words_end(server, strerror(errno));
    }
    freeaddrinfo(found);
}

/* The socket can be written to: it is connected, or that has failed. */
static void zk_words_ask(struct zk_words_server *server)
{
    const size_t len = strlen(zk_words_question);
    int error = 0;
    socklen_t size = sizeof(error);

    if (getsockopt(server->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
        zk_words_end(server, strerror(error != 0 ? error : errno));
    } else if (send(server->fd, zk_words_question, len, MSG_NOSIGNAL) != (ssize_t) len) {
        zk_words_end(server, strerror(errno));
    } else {
        server->asked = true;
    }
}

static void zk_words_read(struct zk_words_server *server)
{
    const size_t room = sizeof(server->answer) - 1 - server->len;
    const ssize_t got = read(server->fd, server->answer + server->len, room);

    if (got > 0 && (size_t) got < room) {
        server->len += (size_t) got;
    } else if (got >= 0) {
        zk_words_end(server, NULL);
    } else if (errno != EAGAIN && errno != EINTR) {
        zk_words_end(server, strerror(errno));
    }
}

static void zk_words_wait(struct zk_words_server *servers, size_t count, int64_t timeout_ms)
{
    struct pollfd *ready = memory_new((count + 1) * sizeof(*ready));
    const int64_t until_ms = clock_now_ms() + timeout_ms;

    for (int64_t left_ms = timeout_ms; left_ms > 0; left_ms = until_ms - clock_now_ms()) {
        bool open = false;

        for (size_t i = 0; i < count; i++) {
            ready[i] =
                (struct pollfd){.fd = servers[i].fd, .events = servers[i].asked ? POLLIN : POLLOUT};
            open = open || servers[i].fd >= 0;
        }
        if (!open || (poll(ready, count, (int) left_ms) < 0 && errno != EINTR)) {
            break;
        }
        for (size_t i = 0; i < count; i++) {
            if (servers[i].fd >= 0 && ready[i].revents != 0) {
                (servers[i].asked ? zk_words_read : zk_words_ask)(&servers[i]);
            }
        }
    }
    free(ready);
}

/* --- what is shown --- */

/* What follows `name` in the answer, up to one of `stop`. */
static void zk_words_field(char *out, size_t size, const char *answer, const char *name,
                           const char *stop)
{
    const char *at = strstr(answer, name);

    out[0] = '\0';
    if (at != NULL) {
        at += strlen(name);
        (void) snprintf(out, size, "%.*s", (int) strcspn(at, stop), at);
    }
}

void zk_words_parse(struct zk_words_facts *out, const char *answer)
{
    zk_words_field(out->version, sizeof(out->version), answer, "Zookeeper version: ", "-, \r\n");
    zk_words_field(out->role, sizeof(out->role), answer, "Mode: ", "\r\n");
    out->version_why = "";
    if (out->version[0] == '\0') {
        out->version_why = strstr(answer, "whitelist") != NULL
                               ? "the word srvr is not in its 4lw.commands.whitelist"
                               : "it does not answer the word srvr";
    }
}

static bool zk_words_show(const struct zk_words_server *server, smq_server_fn *visit, void *user)
{
    struct zk_words_facts facts;
    smq_server_info shown = {.struct_size = sizeof(shown),
                             .kind = SMQ_SERVER_ZOOKEEPER,
                             .address = server->address,
                             .status = server->why[0] != '\0' ? SMQ_UNAVAILABLE : SMQ_OK,
                             .why = server->why,
                             .version = facts.version,
                             .role = facts.role,
                             .used_memory = SMQ_NONE,
                             .maxmemory = SMQ_NONE,
                             .maxmemory_policy = "",
                             .appendonly = SMQ_NONE,
                             .config_why = "",
                             .appendfsync = "",
                             .save = "",
                             .replicas = SMQ_NONE,
                             .replicas_known = SMQ_NONE,
                             .lag_bytes = SMQ_NONE,
                             .cluster_why = "",
                             .cluster_state = "",
                             .cluster_slots_ok = SMQ_NONE,
                             .migrations = SMQ_NONE,
                             .clock_why = "ZooKeeper does not tell its time"};

    zk_words_parse(&facts, server->answer);
    shown.version_why = facts.version_why;
    return visit(&shown, user);
}

struct coord_words *coord_words_ask(const char *servers, int64_t timeout_ms)
{
    struct coord_words *words = memory_new(sizeof(*words));
    struct zk_words_server *all = NULL;
    char *rest = NULL;
    size_t count = 0;

    words->hosts = coord_servers_hosts(servers);
    for (char *host = strtok_r(words->hosts, ",", &rest); host != NULL;
         host = strtok_r(NULL, ",", &rest)) {
        all = memory_grow(all, count + 1, sizeof(*all));
        memset(&all[count], 0, sizeof(*all));
        all[count].fd = -1;
        all[count++].address = host;
    }
    for (size_t i = 0; i < count; i++) {
        zk_words_connect(&all[i]);
    }
    zk_words_wait(all, count, timeout_ms);
    for (size_t i = 0; i < count; i++) {
        zk_words_end(&all[i], all[i].fd >= 0 ? "it does not answer in time" : NULL);
    }
    words->servers = all;
    words->count = count;
    return words;
}

void coord_words_show(const struct coord_words *words, smq_server_fn *visit, void *user)
{
    bool more = true;

    for (size_t i = 0; words != NULL && i < words->count && more; i++) {
        more = zk_words_show(&words->servers[i], visit, user);
    }
}

void coord_words_free(struct coord_words *words)
{
    if (words != NULL) {
        free(words->servers);
        free(words->hosts);
        free(words);
    }
}
