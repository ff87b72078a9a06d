/* node.c - servers: connecting to them, losing them, letting them go; what is counted.
 *
 * Thread: smq:io. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "redis/internal.h"

enum { RETRY_MIN_MS = 20, RETRY_MAX_MS = 1000 };

struct node *redis_node(struct redis *redis, const struct server_address *address)
{
    return redis_node_with(redis, address, 0);
}

struct node *redis_node_with(struct redis *redis, const struct server_address *address,
                             int replicas)
{
    char name[NODE_NAME_MAX];
    struct node *node;

    server_address_format(name, address);
    if (replicas > 0) {
        size_t len = strlen(name);
        (void) snprintf(name + len, sizeof(name) - len, " (WAIT %d)", replicas);
    }
    HASH_FIND_STR(redis->nodes, name, node);
    if (node == NULL) {
        node = memory_new(sizeof(*node));
        node->redis = redis;
        node->address = *address;
        memcpy(node->name, name, sizeof(name));
        TAILQ_INIT(&node->stalled);
        replicas_init(node, replicas);
        HASH_ADD_STR(redis->nodes, name, node);
    }
    return node;
}

/* A connection for WAIT says nothing of its own about its server: the one for everything else does,
 * and the sends that it was for are told. */
static bool is_told(const struct node *node)
{
    return node->replicas.wanted == 0;
}

void redis_node_good(struct node *node)
{
    node->failures = 0;
    node->why[0] = '\0';
    redis_lanes_freshen(&node->stalled);
}

static void on_node_ready(struct connection *connection, void *user)
{
    struct node *node = user;

    (void) connection;
    node->state = NODE_UP;
    redis_count_ready(node->redis, &node->known);
    if (is_told(node)) {
        events_emit(node->redis->events, SMQ_EVENT_CONNECTED, NULL, "connected to Redis at %s",
                    node->name);
    }
    if (node->replicas.wanted > 0) {
        replicas_node_up(node);
    } else {
        redis_node_good(node);
    }
    topology_node_up(node);
}

/* The connection is gone, or not to be used any more. */
static void node_lost(struct node *node, smq_status status, const char *text)
{
    struct redis *redis = node->redis;
    bool was_up = node->state == NODE_UP;

    node->connection = NULL;
    node->status = status;
    (void) snprintf(node->why, sizeof(node->why), "%s", text);
    node->state = status == SMQ_UNAVAILABLE ? NODE_DOWN : NODE_BAD;
    node->retry_ms = clock_now_ms() + random_backoff_ms(node->failures, RETRY_MIN_MS, RETRY_MAX_MS);
    node->failures++;
    replicas_node_down(node);
    if (is_told(node) && (was_up || node->failures == 1)) {
        events_emit(redis->events, SMQ_EVENT_DISCONNECTED,
                    &(smq_event){.status = status, .slot = -1}, "%s; it is tried again", text);
    } else if (was_up) {
        events_log(redis->events, SMQ_LEVEL_DEBUG, "%s", text);
    }
    redis_lanes_freshen(&node->stalled);
    topology_node_down(node);
    topology_refresh(redis);
}

static void on_node_ended(struct connection *connection, smq_status status, const char *text,
                          void *user)
{
    (void) connection;
    node_lost(user, status, text);
}

void redis_node_down(struct node *node, smq_status status, const char *why)
{
    struct connection *connection = node->connection;
    char text[400];

    (void) snprintf(text, sizeof(text), "%.260s: %.100s", node->name, why);
    node_lost(node, status, text);
    connection_close(connection);
}

void redis_node_connect(struct node *node)
{
    struct redis *redis = node->redis;

    if (node->state == NODE_CONNECTING || node->state == NODE_UP || redis->closing) {
        return;
    }
    node->wanted = node->retry_ms > clock_now_ms();
    if (node->wanted) {
        redis_retry_soon(redis);
        return;
    }
    struct connection_options options = {.address = node->address,
                                         .user = redis->seeds.user,
                                         .password = redis->seeds.password,
                                         .connect_timeout_ms = redis->connect_timeout_ms,
                                         .check = true,
                                         .events = redis->events,
                                         .ready = on_node_ready,
                                         .ended = on_node_ended,
                                         .user_data = node};
    node->state = NODE_CONNECTING;
    node->connection = connection_new(redis->loop, &options);
}

static bool is_served(const struct redis *redis, const struct node *node)
{
    for (size_t i = 0; i < redis->map.count; i++) {
        if (server_address_equal(&redis->map.nodes[i], &node->address)) {
            return true;
        }
    }
    return server_list_contains(&redis->seeds, &node->address);
}

void redis_sweep_nodes(struct redis *redis)
{
    struct node *node, *next;

    HASH_ITER(hh, redis->nodes, node, next)
    {
        bool busy = node->state == NODE_CONNECTING || !TAILQ_EMPTY(&node->stalled) ||
                    (node->connection != NULL && !connection_is_idle(node->connection));
        if (!busy && !is_served(redis, node)) {
            connection_close(node->connection);
            HASH_DEL(redis->nodes, node);
            free(node);
        }
    }
}

struct node *redis_node_up(struct redis *redis)
{
    size_t skip = (size_t) (random_u64() % (HASH_COUNT(redis->nodes) + 1));
    struct node *found = NULL;

    for (struct node *node = redis->nodes; node != NULL; node = node->hh.next) {
        if (node->state == NODE_UP && node->replicas.wanted == 0 && (found == NULL || skip > 0)) {
            found = node;
        }
        skip -= skip > 0 ? 1 : 0;
    }
    return found;
}

/* --- counting -------------------------------------------------------------------------------- */

void redis_count_redirect(struct redis *redis)
{
    atomic_fetch_add_explicit(&redis->counts.redirects, 1, memory_order_relaxed);
}

void redis_count_ready(struct redis *redis, bool *known)
{
    if (*known) {
        atomic_fetch_add_explicit(&redis->counts.reconnects, 1, memory_order_relaxed);
    }
    *known = true;
}

static_assert((int) REDIS_SERVER_MAX >= (int) SERVER_TEXT_MAX, "room for an address");

void redis_server_of(char *out, const struct redis *redis, int32_t hash_slot)
{
    const struct server_address *address = slotmap_owner(&redis->map, hash_slot);

    *out = '\0';
    if (address != NULL) {
        server_address_format(out, address);
    }
}

struct redis_counts redis_counts(const struct redis *redis)
{
    return (struct redis_counts){
        .redirects = atomic_load_explicit(&redis->counts.redirects, memory_order_relaxed),
        .reconnects = atomic_load_explicit(&redis->counts.reconnects, memory_order_relaxed)};
}
