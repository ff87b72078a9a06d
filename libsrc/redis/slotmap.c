/* slotmap.c - which master serves which hash slot.
 *
 * Pure. */
#include "redis/slotmap.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void slotmap_fini(struct slotmap *map)
{
    free(map->nodes);
    memset(map, 0, sizeof(*map));
}

/* The index of `server` in the map, added if it is new; SLOTMAP_NODES_MAX: no room. */
static size_t slotmap_node_index(struct slotmap *map, const struct server_address *server)
{
    size_t i = 0;

    while (i < map->count && !server_address_equal(&map->nodes[i], server)) {
        i++;
    }
    if (i == map->count && i < SLOTMAP_NODES_MAX) {
        map->nodes = memory_grow(map->nodes, map->count + 1, sizeof(*map->nodes));
        map->nodes[map->count++] = *server;
    }
    return i;
}

static bool slotmap_is_text(const redisReply *reply, const char *text)
{
    return reply->type == REDIS_REPLY_STRING && strcmp(reply->str, text) == 0;
}

/* The address of a node that has no name: its further data, { name, value, ... }, have it as "ip".
 * NULL: they do not. */
static const redisReply *slotmap_ip(const redisReply *node)
{
    const redisReply *data = node->elements > 3 ? node->element[3] : NULL;

    if (data == NULL || data->type != REDIS_REPLY_ARRAY) {
        return NULL;
    }
    for (size_t i = 0; i + 1 < data->elements; i += 2) {
        const redisReply *value = data->element[i + 1];

        if (slotmap_is_text(data->element[i], "ip")) {
            return value->type == REDIS_REPLY_STRING && value->len > 0 ? value : NULL;
        }
    }
    return NULL;
}

/* A node is { host, port, id, data }.  A nil or empty host is that of the server that replied; "?"
 * means that the node has no name, although names are preferred, and its address is used.  A node
 * without an address or with port 0 (TLS only) cannot be reached: `out` then gets port 0.  false:
 * it is no node. */
static bool slotmap_parse_node(struct server_address *out, const redisReply *node,
                               const char *origin)
{
    if (node->type != REDIS_REPLY_ARRAY || node->elements < 2) {
        return false;
    }
    const redisReply *host = node->element[0], *port = node->element[1];
    const redisReply *ip = slotmap_is_text(host, "?") ? slotmap_ip(node) : NULL;
    host = ip != NULL ? ip : host;
    const char *name = host->type == REDIS_REPLY_STRING && host->len > 0 ? host->str : origin;
    if ((host->type != REDIS_REPLY_STRING && host->type != REDIS_REPLY_NIL) || name[0] == '/' ||
        strlen(name) >= SERVER_HOST_MAX || port->type != REDIS_REPLY_INTEGER || port->integer < 0 ||
        port->integer > 65535) {
        return false;
    }
    strcpy(out->host, name); /* NOLINT(clang-analyzer-security.insecureAPI.strcpy): checked above */
    out->port = strcmp(name, "?") == 0 ? 0 : (int) port->integer;
    return true;
}

/* A node without an id, which no current server sends, adds no hash. */
static void slotmap_add_id(struct slotmap *map, const redisReply *node)
{
    if (node->type == REDIS_REPLY_ARRAY && node->elements > 2 &&
        node->element[2]->type == REDIS_REPLY_STRING && node->element[2]->len > 0) {
        fingerprint_add(&map->fingerprint, node->element[2]->str, node->element[2]->len);
    }
}

static bool slotmap_add_range(struct slotmap *map, long long first, long long last,
                              const struct server_address *server)
{
    size_t index = server->port == 0 ? SLOTMAP_NODES_MAX : slotmap_node_index(map, server);

    if (server->port == 0) {
        return true; /* a gap */
    }
    for (long long i = first; i <= last; i++) {
        if (index == SLOTMAP_NODES_MAX || map->owner[i] != 0) {
            return false;
        }
        map->owner[i] = (uint16_t) (index + 1);
        map->served++;
    }
    return true;
}

/* A range is { first, last, master, replica... }. */
static bool slotmap_parse_range(struct slotmap *map, const redisReply *range, const char *origin)
{
    struct server_address server;

    if (range->type != REDIS_REPLY_ARRAY || range->elements < 3 ||
        range->element[0]->type != REDIS_REPLY_INTEGER ||
        range->element[1]->type != REDIS_REPLY_INTEGER) {
        return false;
    }
    long long first = range->element[0]->integer, last = range->element[1]->integer;
    if (first < 0 || last < first || last >= SLOTMAP_SLOTS ||
        !slotmap_parse_node(&server, range->element[2], origin)) {
        return false;
    }
    for (size_t i = 2; i < range->elements; i++) {
        slotmap_add_id(map, range->element[i]);
    }
    return slotmap_add_range(map, first, last, &server);
}

bool slotmap_parse(struct slotmap *out, const redisReply *reply, const char *origin,
                   const char **why)
{
    struct slotmap map = {0};
    bool good = reply->type == REDIS_REPLY_ARRAY;

    for (size_t i = 0; good && i < reply->elements; i++) {
        good = slotmap_parse_range(&map, reply->element[i], origin);
    }
    if (!good) {
        *why = origin[0] == '/'
                   ? "it is a node of a cluster, and its reply to CLUSTER SLOTS has no "
                     "addresses: name its host:port, not its Unix socket"
                   : "its reply to CLUSTER SLOTS is no map of a cluster";
    } else if (map.served == 0 && reply->elements > 0) {
        *why = "its masters have no address that can be used (host \"?\" or port 0): set "
               "cluster-announce-hostname on all, or cluster-preferred-endpoint-type ip; or use "
               "rediss:// if they speak TLS only";
        good = false;
    } else if (map.served == 0) {
        *why = "it knows no master of any hash slot: create the cluster first";
        good = false;
    } else if (map.served < SLOTMAP_SLOTS && out->served == SLOTMAP_SLOTS) {
        *why = "it does not know the masters of all hash slots";
        good = false;
    }
    if (!good) {
        slotmap_fini(&map);
        return false;
    }
    slotmap_fini(out);
    *out = map;
    return true;
}

void slotmap_single(struct slotmap *out, const struct server_address *server)
{
    struct server_address copy = *server;

    slotmap_fini(out);
    (void) slotmap_node_index(out, &copy);
    for (size_t i = 0; i < SLOTMAP_SLOTS; i++) {
        out->owner[i] = 1;
    }
    out->served = SLOTMAP_SLOTS;
}

const struct server_address *slotmap_owner(const struct slotmap *map, int32_t hash_slot)
{
    uint16_t owner = map->owner[hash_slot];

    return owner == 0 ? NULL : &map->nodes[owner - 1];
}

void slotmap_set(struct slotmap *map, int32_t hash_slot, const struct server_address *server)
{
    size_t index = slotmap_node_index(map, server);

    if (index < SLOTMAP_NODES_MAX) {
        map->served += map->owner[hash_slot] == 0 ? 1 : 0;
        map->owner[hash_slot] = (uint16_t) (index + 1);
    }
}
