/* redis.c - the client's life, and the functions of redis.h.
 *
 * All parts of a client are made here, and their listeners are set here; context.h lists the parts
 * in their order.
 *
 * Thread: smq:io, except redis_counts(). */
#include "redis/redis.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/owner_of.h"
#include "redis/context.h"
#include "redis/deadlines.h"
#include "redis/hash_queues.h"
#include "redis/node.h"
#include "redis/pubsub.h"
#include "redis/reach.h"
#include "redis/replicas.h"
#include "redis/request.h"
#include "redis/rights.h"
#include "redis/topology.h"

struct redis {
    struct context context;
    struct deadlines deadlines;
    struct hash_queues queues;
    struct node_set nodes;
    struct replicas_set replicas;
    struct topology topology;
    struct reach reach;
    struct requests requests;
    struct pubsub pubsub;
    struct rights rights;
    void (*closed)(void *user);
    void *closed_user;
};

/* --- what the parts report ------------------------------------------------------------------- */

static void redis_on_node_up(struct node *node, void *user)
{
    struct redis *redis = user;

    if (node->replicas_wanted > 0) {
        replicas_node_up(&redis->replicas, node);
    } else {
        node_mark_writable(node);
    }
    topology_node_up(&redis->topology);
}

static void redis_on_node_down(struct node *node, void *user)
{
    struct redis *redis = user;

    replicas_node_down(node);
    topology_node_down(&redis->topology, node);
    topology_refresh(&redis->topology);
}

static void redis_on_map_changed(void *user)
{
    struct redis *redis = user;

    hash_queues_make_ready(&redis->queues.unrouted);
    for (struct node *node = redis->nodes.by_name; node != NULL; node = node->hh.next) {
        hash_queues_make_ready(&node->stalled);
    }
    pubsub_reroute(&redis->pubsub);
}

static void redis_on_turn(void *user)
{
    struct redis *redis = user;

    replicas_turn(&redis->replicas);
    if (redis->context.closing && redis->deadlines.count == 0) {
        context_close_handles(&redis->context);
    }
}

static void redis_on_drained(struct context *context)
{
    struct redis *redis = OWNER_OF(context, struct redis, context);
    void (*closed)(void *user) = redis->closed;
    void *user = redis->closed_user;

    node_set_fini(&redis->nodes);
    topology_fini(&redis->topology);
    rights_fini(&redis->rights);
    context_fini(&redis->context);
    free(redis);
    if (closed != NULL) {
        closed(user);
    }
}

/* --- the client ------------------------------------------------------------------------------ */

struct redis *redis_new(struct loop *loop, const struct redis_options *options,
                        struct events *events, redis_ready_fn *ready, void *user)
{
    struct redis *redis = memory_new(sizeof(*redis));
    struct context *context = &redis->context;
    struct hash_queues_listener queues = {
        .send = request_send_first, .turned = redis_on_turn, .user = redis};
    struct node_listener nodes = {
        .up = redis_on_node_up, .down = redis_on_node_down, .user = redis};

    context_init(context, loop, options, events, redis_on_drained);
    deadlines_init(&redis->deadlines, context, request_on_deadline);
    hash_queues_init(&redis->queues, context, &queues);
    node_set_init(&redis->nodes, context, &nodes);
    replicas_init(&redis->replicas, context, &redis->nodes);
    topology_init(&redis->topology, context, &redis->nodes, redis_on_map_changed, redis);
    reach_init(&redis->reach, context, &redis->topology);
    redis->requests = (struct requests){.context = context,
                                        .topology = &redis->topology,
                                        .queues = &redis->queues,
                                        .deadlines = &redis->deadlines};
    pubsub_init(&redis->pubsub, context, &redis->topology);
    rights_init(&redis->rights, context);
    topology_start(&redis->topology, ready, user);
    return redis;
}

void redis_close(struct redis *redis, void (*closed)(void *user), void *user)
{
    redis->context.closing = true;
    redis->closed = closed;
    redis->closed_user = user;
    uv_timer_stop(&redis->deadlines.timer); /* deadlines can still be removed */
    credentials_stop(&redis->context.credentials);
    replicas_stop(&redis->replicas);
    topology_stop(&redis->topology);
    pubsub_stop(&redis->pubsub);
    redis_on_map_changed(redis);
    hash_queues_stop(&redis->queues);
    node_set_stop(&redis->nodes);
}

void redis_send(struct redis *redis, struct redis_command *command)
{
    request_new(&redis->requests, command);
}

void redis_report_lack(struct redis *redis, const struct redis_command *command,
                       const struct redis_lack *lack)
{
    rights_report(&redis->rights, command->by->name, lack);
}

void redis_subscribe(struct redis *redis, struct redis_subscription *subscription)
{
    pubsub_subscribe(&redis->pubsub, subscription);
}

void redis_watch_fingerprint(struct redis *redis, redis_fingerprint_fn *changed, void *user)
{
    topology_watch_fingerprint(&redis->topology, changed, user);
}

void redis_watch_reach(struct redis *redis, redis_reach_fn *changed, void *user)
{
    reach_watch(&redis->reach, changed, user);
}

bool redis_is_reached(const struct redis *redis)
{
    return context_is_reached(&redis->context);
}

static_assert((int) REDIS_SERVER_MAX >= (int) SERVER_TEXT_MAX, "room for an address");

void redis_server_of(char *out, const struct redis *redis, int32_t hash_slot)
{
    const struct server_address *address = slotmap_owner(&redis->topology.map, hash_slot);

    *out = '\0';
    if (address != NULL) {
        server_address_format(out, address);
    }
}

static_assert((int) REDIS_MASTERS_MAX >= (int) SLOTMAP_NODES_MAX, "room for each master");

size_t redis_master_of(const struct redis *redis, int32_t hash_slot)
{
    return redis->topology.map.owner[hash_slot];
}

size_t redis_masters(int32_t *out, const struct redis *redis)
{
    const struct slotmap *map = &redis->topology.map;
    bool seen[SLOTMAP_NODES_MAX + 1] = {true}; /* 0: no node is known for the hash slot */
    size_t count = 0;

    for (int32_t i = 0; i < SLOTMAP_SLOTS; i++) {
        if (!seen[map->owner[i]]) {
            seen[map->owner[i]] = true;
            out[count++] = i;
        }
    }
    return count;
}

void redis_health(struct redis_health *out, const struct redis *redis)
{
    const struct slotmap *map = &redis->topology.map;
    int32_t hash_slots[REDIS_MASTERS_MAX];
    size_t count = redis_masters(hash_slots, redis);

    *out = (struct redis_health){.masters = (int32_t) count};
    for (size_t i = 0; i < count; i++) {
        const struct node *node = node_set_find(&redis->nodes, slotmap_owner(map, hash_slots[i]));
        const char *refusal = node != NULL ? node_refusal(node) : NULL;

        if (refusal != NULL && out->refusing++ == 0) {
            (void) snprintf(out->refusal, sizeof(out->refusal), "%s: %s", node->name, refusal);
        }
        if (node != NULL && node->why[0] != '\0' && out->failed++ == 0) {
            out->status = node->status;
            (void) snprintf(out->why, sizeof(out->why), "%s", node->why);
        }
    }
}

struct redis_counts redis_counts(const struct redis *redis)
{
    return context_counts(&redis->context);
}
