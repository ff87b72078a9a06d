/* topology.c - learning which node serves which hash slot.
 *
 * Thread: smq:io. */
#include "redis/topology.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/owner_of.h"
#include "redis/redirect.h"
#include "redis/tls.h"

enum {
    REFRESH_MS = 1000,
    MAPS = 2, /* to learn after a sign of a change */
    SEED_MS = 50,
    REPLY_ELEMENTS_MAX = SLOTMAP_SLOTS + 1,
    SEEDS_TEXT_MAX = 300
};

static void topology_try(struct topology *topology);

static void topology_on_timer(uv_timer_t *timer)
{
    struct topology *topology = OWNER_OF(timer, struct topology, timer);
    const struct context *context = topology->context;

    if (topology->asking &&
        loop_polled_ms(context->loop) < topology->asked_ms + context->request_timeout_ms) {
        uv_timer_start(timer, topology_on_timer, 1, 0);
        return;
    }
    if (topology->asking) {
        node_disconnect(topology->asked, SMQ_UNAVAILABLE, "it does not answer");
    }
    topology_try(topology);
}

static void topology_set_timer(struct topology *topology, int64_t ms)
{
    uv_timer_start(&topology->timer, topology_on_timer, (uint64_t) (ms > 0 ? ms : 0), 0);
}

/* --- reporting that the client is ready ------------------------------------------------------ */

static void topology_report_ready(struct topology *topology, smq_status status, const char *text)
{
    redis_ready_fn *ready = topology->ready;

    topology->ready = NULL;
    if (ready != NULL) {
        if (status == SMQ_OK) {
            tls_begin(topology->context->tls);
        }
        ready(status, text, topology->ready_user);
    }
}

/* The client is ready when it has a map, and every master was connected, or failed, once. */
static void topology_check_ready(struct topology *topology)
{
    const struct slotmap *map = &topology->map;

    if (topology->ready == NULL || !topology->known) {
        return;
    }
    for (size_t i = 0; i < map->count; i++) {
        const struct node *node = node_set_get(topology->nodes, &map->nodes[i]);
        if (node->state == NODE_BAD) {
            topology_report_ready(topology, node->status, node->why);
            return;
        }
        if (node->state != NODE_UP && node->failures == 0) {
            return;
        }
    }
    topology_report_ready(topology, SMQ_OK, "");
}

/* --- asking ---------------------------------------------------------------------------------- */

static bool topology_is_single_server(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR &&
           strstr(reply->str, "cluster support disabled") != NULL;
}

/* A server without cluster mode serves all hash slots, if it is the only one that was named. */
static smq_status topology_use_single(struct topology *topology, const struct node *node,
                                      const char **why)
{
    if (topology->context->seeds.count > 1) {
        *why = "it is no node of a cluster, but several servers were named: name the nodes of one "
               "cluster, or one server";
        return SMQ_BAD_SERVER;
    }
    if (topology->known && !topology->single) {
        *why = "it is no node of a cluster any more";
        return SMQ_UNAVAILABLE;
    }
    topology->single = true;
    slotmap_single(&topology->map, &node->address);
    return SMQ_OK;
}

/* CLUSTER SLOTS is refused, as by many managed services. */
static smq_status topology_use_refused(struct topology *topology, const struct node *node,
                                       const redisReply *reply, const char **why)
{
    const smq_status status = redirect_next(reply, false).status;

    if (node->mode == GREETING_SINGLE) {
        return topology_use_single(topology, node, why);
    }
    if (status == SMQ_DENIED) {
        *why = reply->str;
        return status;
    }
    *why = node->mode == GREETING_CLUSTER
               ? "it is a node of a cluster that refuses CLUSTER SLOTS: allow this command"
               : "it refuses CLUSTER SLOTS, and INFO does not say whether it is a node of a "
                 "cluster: allow one of the two";
    return SMQ_BAD_SERVER;
}

/* Learn from a reply to CLUSTER SLOTS. */
static smq_status topology_use_map(struct topology *topology, const struct node *node,
                                   const redisReply *reply, const char **why)
{
    if (topology_is_single_server(reply)) {
        return topology_use_single(topology, node, why);
    }
    if (redirect_refuses_command(reply)) {
        return topology_use_refused(topology, node, reply, why);
    }
    if (reply->type == REDIS_REPLY_ERROR) {
        struct step step = redirect_next(reply, false);
        *why = reply->str;
        return step.kind == STEP_REFUSED ? step.status : SMQ_UNAVAILABLE;
    }
    if (!slotmap_parse(&topology->map, reply, node->address.host, why)) {
        return SMQ_UNAVAILABLE;
    }
    topology->single = false;
    return SMQ_OK;
}

static void topology_report_fingerprint(struct topology *topology)
{
    if (topology->fingerprinted != NULL &&
        !fingerprint_equal(&topology->reported, &topology->map.fingerprint)) {
        topology->reported = topology->map.fingerprint;
        topology->fingerprinted(&topology->reported, topology->fingerprinted_user);
    }
}

void topology_watch_fingerprint(struct topology *topology, redis_fingerprint_fn *changed,
                                void *user)
{
    topology->fingerprinted = changed;
    topology->fingerprinted_user = user;
    topology->reported = (struct fingerprint){0};
    topology_report_fingerprint(topology);
}

static void topology_learned(struct topology *topology)
{
    topology->known = true;
    topology->wanted -= topology->early ? 0 : 1;
    if (topology->wanted > 0) {
        topology_set_timer(topology, REFRESH_MS);
    }
    for (size_t i = 0; i < topology->map.count && topology->ready != NULL; i++) {
        node_connect(node_set_get(topology->nodes, &topology->map.nodes[i]));
    }
    topology->changed(topology->changed_user);
    node_set_sweep(topology->nodes, &topology->map);
    topology_report_fingerprint(topology);
    topology_check_ready(topology);
}

/* Ask again, and connect to all seeds, so that another one can be asked. */
static void topology_not_learned(struct topology *topology, smq_status status,
                                 const struct node *node, const char *why)
{
    const struct server_list *seeds = &topology->context->seeds;

    (void) snprintf(topology->why, sizeof(topology->why), "%s: %.200s", node->name, why);
    if (!topology->known && (status == SMQ_DENIED || status == SMQ_BAD_SERVER)) {
        topology_report_ready(topology, status, topology->why);
    }
    for (size_t i = 0; i < seeds->count; i++) {
        node_connect(node_set_get(topology->nodes, &seeds->addresses[i]));
    }
    topology_set_timer(topology, REFRESH_MS);
}

static void topology_on_reply(struct exchange *exchange, const redisReply *reply, bool written)
{
    struct topology *topology = OWNER_OF(exchange, struct topology, exchange);
    const struct node *node = topology->asked;
    const char *why = "it closed the connection";
    smq_status status = SMQ_UNAVAILABLE;

    (void) written;
    topology->asking = false;
    if (topology->context->closing) {
        return;
    }
    uv_timer_stop(&topology->timer);
    if (reply != NULL) {
        status = topology_use_map(topology, node, reply, &why);
    }
    if (status != SMQ_OK) {
        topology_not_learned(topology, status, node, why);
        return;
    }
    topology_learned(topology);
}

static void topology_ask(struct topology *topology, struct node *node)
{
    static const char question[] = "*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n";

    topology->asking = true;
    topology->early = false;
    topology->asked = node;
    topology->asked_ms = clock_now_ms();
    topology->exchange.done = topology_on_reply;
    topology->exchange.max_elements = REPLY_ELEMENTS_MAX;
    topology_set_timer(topology, topology->context->request_timeout_ms);
    connection_send(node->connection, question, sizeof(question) - 1, &topology->exchange);
}

/* Ask a node now if one is up and the last question was long enough ago; else connect, or wait. */
static void topology_try(struct topology *topology)
{
    const struct server_list *seeds = &topology->context->seeds;

    if (topology->context->closing || topology->asking || topology->wanted == 0) {
        return;
    }
    struct node *node = node_set_any_up(topology->nodes, topology->asked);
    if (node == NULL) {
        size_t seed = topology->next_seed++ % seeds->count;
        node_connect(node_set_get(topology->nodes, &seeds->addresses[seed]));
        topology_set_timer(topology, SEED_MS);
        return;
    }
    int64_t wait = topology->asked_ms == 0 ? 0 : topology->asked_ms + REFRESH_MS - clock_now_ms();
    if (wait > 0) {
        topology_set_timer(topology, wait);
        return;
    }
    topology_ask(topology, node);
}

void topology_refresh(struct topology *topology)
{
    bool idle = topology->wanted == 0;

    if (topology->context->closing) {
        return;
    }
    topology->wanted = MAPS;
    topology->early = topology->asking;
    if (idle) {
        topology_set_timer(topology, 0);
    }
}

/* --- changes of nodes ------------------------------------------------------------------------ */

void topology_node_up(struct topology *topology)
{
    topology_try(topology);
    topology_check_ready(topology);
}

static bool topology_all_seeds_failed(struct topology *topology)
{
    const struct server_list *seeds = &topology->context->seeds;

    for (size_t i = 0; i < seeds->count; i++) {
        if (node_set_get(topology->nodes, &seeds->addresses[i])->failures == 0) {
            return false;
        }
    }
    return true;
}

void topology_node_down(struct topology *topology, const struct node *node)
{
    if (topology->ready == NULL) {
        return;
    }
    if (topology->known) {
        topology_check_ready(topology);
        return;
    }
    if (node->state == NODE_BAD || topology_all_seeds_failed(topology)) {
        topology_report_ready(topology, node->status, node->why);
    }
}

/* --- start and end --------------------------------------------------------------------------- */

/* "a:1, b:2", cut when it does not fit. */
static void topology_format_seeds(char *out, size_t size, const struct server_list *seeds)
{
    char name[SERVER_TEXT_MAX];
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < seeds->count && used < size; i++) {
        server_address_format(name, &seeds->addresses[i]);
        used += (size_t) snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "", name);
    }
}

/* The time to connect has passed.  A master that is unreachable does not keep the client from the
 * others. */
static void topology_on_start_timeout(uv_timer_t *timer)
{
    struct topology *topology = OWNER_OF(timer, struct topology, start_timer);
    char seeds[SEEDS_TEXT_MAX], text[SEEDS_TEXT_MAX + 128];

    if (topology->known) {
        topology_report_ready(topology, SMQ_OK, "");
        return;
    }
    topology_format_seeds(seeds, sizeof(seeds), &topology->context->seeds);
    (void) snprintf(text, sizeof(text),
                    "no Redis server answers at %s: is it running, %sand can it be reached from "
                    "here?",
                    seeds, topology->context->seeds.tls ? "does it speak TLS on this port, " : "");
    topology_report_ready(topology, SMQ_UNAVAILABLE,
                          topology->why[0] != '\0' ? topology->why : text);
}

void topology_init(struct topology *topology, struct context *context, struct node_set *nodes,
                   void (*changed)(void *user), void *user)
{
    topology->context = context;
    topology->nodes = nodes;
    topology->changed = changed;
    topology->changed_user = user;
    context_init_timer(context, &topology->timer);
    context_init_timer(context, &topology->start_timer);
}

void topology_start(struct topology *topology, redis_ready_fn *ready, void *user)
{
    int64_t connect_ms = topology->context->connect_timeout_ms;

    topology->ready = ready;
    topology->ready_user = user;
    topology->wanted = 1;
    /* a little earlier than the time-out of the caller, which waits for `ready` */
    uv_timer_start(&topology->start_timer, topology_on_start_timeout,
                   (uint64_t) (connect_ms - connect_ms / 8), 0);
    topology_set_timer(topology, 0);
}

void topology_stop(struct topology *topology)
{
    uv_timer_stop(&topology->timer);
    uv_timer_stop(&topology->start_timer);
    topology_report_ready(topology, SMQ_CLOSED, "the client was closed");
}

void topology_fini(struct topology *topology)
{
    slotmap_fini(&topology->map);
}
