/* servers.c - checking "host:port,.../root".
 *
 * Pure. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "coord/coord.h"

static const char servers_default_root[] = "/slotmq";

/* Is text[0..len) a host name or address, a colon and a port? */
static bool servers_check_one(const char *text, size_t len)
{
    size_t colon = len;
    long port = 0;

    while (colon > 0 && text[colon - 1] != ':') {
        colon--;
    }
    if (colon < 2 || colon == len || len - colon > 5) {
        return false;
    }
    for (size_t i = colon; i < len; i++) {
        if (!isdigit((unsigned char) text[i])) {
            return false;
        }
        port = port * 10 + (text[i] - '0');
    }
    for (size_t i = 0; i + 1 < colon; i++) {
        if (!isalnum((unsigned char) text[i]) && strchr(".-_:[]", text[i]) == NULL) {
            return false;
        }
    }
    return port >= 1 && port <= 65535;
}

/* Absolute, printable, without empty, "." and ".." parts, not in the server's own "/zookeeper". */
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

smq_status coord_check_servers(char *root, size_t size, const char *servers, smq_error *err)
{
    const char *slash = NULL;
    const char *at = servers;
    const char *end = NULL;
    const char *path = servers_default_root;

    if (servers == NULL || *servers == '\0') {
        return status_set(err, SMQ_INVALID, "no ZooKeeper servers: give HOST:PORT,...");
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
        if (at == end) {
            break;
        }
        at++;
    }
    if (slash != NULL && slash[1] != '\0') {
        path = slash;
    }
    if (!servers_check_root(path)) {
        return status_set(err, SMQ_INVALID, "ZooKeeper servers: \"%s\" is no path for a root",
                          path);
    }
    if (strlen(path) >= size) {
        return status_set(err, SMQ_INVALID, "ZooKeeper servers: the root \"%s\" is too long", path);
    }
    memcpy(root, path, strlen(path) + 1);
    return SMQ_OK;
}
