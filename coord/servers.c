/* servers.c - checking "host:port,.../root".
 *
 * Pure. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/status.h"
#include "coord/coord.h"

enum { SERVERS_DEFAULT_PORT = 2181, SERVERS_ROOT_MAX = 255 };
static const char servers_default_root[] = "/slotmq";

/* The length of the host in text[0..len), without the colon and the port; `len`: there is no
 * port. */
static size_t servers_host_length(const char *text, size_t len)
{
    const char *bracket = memrchr(text, ']', len);
    const char *from = bracket != NULL ? bracket : text;
    const char *colon = memrchr(from, ':', len - (size_t) (from - text));

    return colon != NULL ? (size_t) (colon - text) : len;
}

/* Is text[0..len) a host name or address, perhaps followed by a colon and a port? */
static bool servers_check_one(const char *text, size_t len)
{
    const size_t host = len > 0 ? servers_host_length(text, len) : 0;
    long port = 0;

    if (host == 0 || host + 1 == len || len - host > 6) {
        return false;
    }
    for (size_t i = host + 1; i < len; i++) {
        if (!isdigit((unsigned char) text[i])) {
            return false;
        }
        port = port * 10 + (text[i] - '0');
    }
    for (size_t i = 0; i < host; i++) {
        if (!isalnum((unsigned char) text[i]) && strchr(".-_:[]", text[i]) == NULL) {
            return false;
        }
    }
    return host == len || (port >= 1 && port <= 65535);
}

/* Is the root absolute and printable, without parts that are empty, "." or "..", and not inside the
 * server's own "/zookeeper"? */
static bool servers_check_root(const char *root)
{
    const char *at = root;

    while (*at == '/') {
        size_t len = strcspn(at + 1, "/");

        if (len == 0 || (len == 1 && at[1] == '.') || (len == 2 && strncmp(at + 1, "..", 2) == 0)) {
            return false;
        }
        for (size_t i = 1; i <= len; i++) {
            if (!isgraph((unsigned char) at[i])) {
                return false;
            }
        }
        at += len + 1;
    }
    return *at == '\0' && strcmp(root, "/zookeeper") != 0 &&
           strncmp(root, "/zookeeper/", strlen("/zookeeper/")) != 0;
}

smq_status coord_check_root(const char *root, smq_error *err)
{
    if (root[0] != '/' || !servers_check_root(root) || strlen(root) > SERVERS_ROOT_MAX) {
        return status_set(err, SMQ_INVALID,
                          "root is \"%.64s\", and must be a path of 2 .. %d bytes such as /slotmq",
                          root, SERVERS_ROOT_MAX);
    }
    return SMQ_OK;
}

smq_status coord_check_servers(char *root, size_t size, const char *servers, smq_error *err)
{
    const char *slash = NULL;
    const char *at = servers;
    const char *end = NULL;
    const char *path = servers_default_root;

    if (servers == NULL || *servers == '\0') {
        return status_set(err, SMQ_INVALID, "there are no ZooKeeper servers: give HOST:PORT,...");
    }
    slash = strchr(servers, '/');
    end = slash != NULL ? slash : servers + strlen(servers);
    for (;;) {
        size_t len = strcspn(at, ",/");

        if (!servers_check_one(at, len)) {
            return status_set(err, SMQ_INVALID,
                              "ZooKeeper servers: \"%.*s\" is not HOST:PORT (1 .. 65535)",
                              (int) len, at);
        }
        at += len;
        if (at == end || at + 1 == end) { /* a comma may follow the last one */
            break;
        }
        at++;
    }
    if (slash != NULL && slash[1] != '\0') {
        path = slash;
    }
    if (!servers_check_root(path)) {
        return status_set(err, SMQ_INVALID, "ZooKeeper servers: \"%s\" is no valid path of a root",
                          path);
    }
    if (strlen(path) >= size) {
        return status_set(err, SMQ_INVALID, "ZooKeeper servers: the root \"%s\" is too long", path);
    }
    memcpy(root, path, strlen(path) + 1);
    return SMQ_OK;
}

char *coord_servers_hosts(const char *servers)
{
    struct buf hosts = {.len = 0};
    size_t end = strcspn(servers, "/");

    for (size_t at = 0, len; at < end; at += len + 1) {
        len = strcspn(servers + at, ",/");
        buf_printf(&hosts, "%s%.*s", at > 0 ? "," : "", (int) len, servers + at);
        if (servers_host_length(servers + at, len) == len) {
            buf_printf(&hosts, ":%d", SERVERS_DEFAULT_PORT);
        }
    }
    return hosts.data;
}
