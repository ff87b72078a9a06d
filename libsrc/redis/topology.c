/* topology.c - learning which node serves what: at the start, and when there is reason to think
 * that it changed.
 *
 * One question at a time, at most one a second; seeds are kept for ever.
 *
 * Thread: smq:io. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/owner_of.h"
#include "base/random.h"
#include "redis/internal.h"
#include "redis/reply.h"

enum {
    REFRESH_MS = 1000,
    SEED_MS = 50,
    REPLY_ELEMENTS_MAX = SLOTMAP_SLOTS + 1,
    SEEDS_TEXT_MAX = 300
};

static void try_now(struct redis *redis);

static void on_timer(uv_timer_t *timer)
{
    struct redis *redis = timer->data;

    if (redis->topology.asking) {
        redis_node_down(redis->topology.asked, SMQ_UNAVAILABLE, "it does not answer");
    }
    try_now(redis);
}

static void set_timer(struct redis *redis, int64_t ms)
{
    uv_timer_start(&redis->topology.timer, on_timer, (uint64_t) (ms > 0 ? ms : 0), 0);
}

/* --- telling that the client is ready -------------------------------------------------------- */

static void tell_ready(struct redis *redis, smq_status status, const char *text)
{
    redis_ready_fn *ready = redis->topology.ready;

    redis->topology.ready = NULL;
    if (ready != NULL) {
        ready(status, text, redis->topology.ready_user);
    }
}

/* Ready is: a map, and every master was reached once, or was not to be reached. */
static void check_ready(struct redis *redis)
{
    struct slotmap *map = &redis->map;

    if (redis->topology.ready == NULL || !redis->topology.known) {
        return;
    }
    for (size_t i = 0; i < map->count; i++) {
        const struct node *node = redis_node(redis, &map->nodes[i]);
        if (node->state == NODE_BAD) {
            tell_ready(redis, node->status, node->why);
            return;
        }
        if (node->state != NODE_UP && node->failures == 0) {
            return;
        }
    }
    tell_ready(redis, SMQ_OK, "");
}

/* --- asking ---------------------------------------------------------------------------------- */

static bool is_single_server(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR &&
           strstr(reply->str, "cluster support disabled") != NULL;
}

/* A server without cluster mode serves everything, if it is the only one that was named. */
static smq_status take_single(struct redis *redis, const struct node *node, const char **why)
{
    struct topology *topology = &redis->topology;

    if (redis->seeds.count > 1) {
        *why = "it is no node of a cluster, but several servers were named: name the nodes of one "
               "cluster, or one server";
        return SMQ_BAD_SERVER;
    }
    if (topology->known && !topology->single) {
        *why = "it is no node of a cluster any more";
        return SMQ_UNAVAILABLE;
    }
    topology->single = true;
    slotmap_single(&redis->map, &node->address);
    return SMQ_OK;
}

/* Learn from an answer to CLUSTER SLOTS. */
static smq_status take_map(struct redis *redis, const struct node *node, const redisReply *reply,
                           const char **why)
{
    if (is_single_server(reply)) {
        return take_single(redis, node, why);
    }
    if (reply->type == REDIS_REPLY_ERROR) {
        struct step step = redirect_next(reply, false);
        *why = reply->str;
        return step.kind == STEP_REFUSED ? step.status : SMQ_UNAVAILABLE;
    }
    if (!slotmap_parse(&redis->map, reply, node->address.host, why)) {
        return SMQ_UNAVAILABLE;
    }
    redis->topology.single = false;
    return SMQ_OK;
}

static void tell_marks(struct redis *redis)
{
    struct topology *topology = &redis->topology;

    if (topology->marked != NULL && !marks_equal(&topology->told, &redis->map.marks)) {
        topology->told = redis->map.marks;
        topology->marked(&topology->told, topology->marked_user);
    }
}

void redis_watch_marks(struct redis *redis, redis_marks_fn *changed, void *user)
{
    redis->topology.marked = changed;
    redis->topology.marked_user = user;
    redis->topology.told = (struct marks){0};
    tell_marks(redis);
}

static void learned(struct redis *redis)
{
    redis->topology.known = true;
    redis->topology.wanted = false;
    for (size_t i = 0; i < redis->map.count && redis->topology.ready != NULL; i++) {
        redis_node_connect(redis_node(redis, &redis->map.nodes[i]));
    }
    redis_routes_changed(redis);
    redis_sweep_nodes(redis);
    tell_marks(redis);
    check_ready(redis);
}

/* Ask again, and have others to ask. */
static void not_learned(struct redis *redis, smq_status status, const struct node *node,
                        const char *why)
{
    struct topology *topology = &redis->topology;

    (void) snprintf(topology->why, sizeof(topology->why), "%s: %.200s", node->name, why);
    if (!topology->known && (status == SMQ_DENIED || status == SMQ_BAD_SERVER)) {
        tell_ready(redis, status, topology->why);
    }
    for (size_t i = 0; i < redis->seeds.count; i++) {
        redis_node_connect(redis_node(redis, &redis->seeds.addresses[i]));
    }
    set_timer(redis, REFRESH_MS);
}

static void on_reply(struct exchange *exchange, const redisReply *reply, bool written)
{
    struct redis *redis = OWNER_OF(exchange, struct redis, topology.exchange);
    const struct node *node = redis->topology.asked;
    const char *why = "it closed the connection";
    smq_status status = SMQ_UNAVAILABLE;

    (void) written;
    redis->topology.asking = false;
    if (redis->closing) {
        return;
    }
    uv_timer_stop(&redis->topology.timer);
    if (reply != NULL) {
        status = take_map(redis, node, reply, &why);
    }
    if (status == SMQ_OK) {
        learned(redis);
    } else {
        not_learned(redis, status, node, why);
    }
}

static void ask(struct redis *redis, struct node *node)
{
    static const char question[] = "*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n";
    struct topology *topology = &redis->topology;

    topology->asking = true;
    topology->asked = node;
    topology->asked_ms = clock_now_ms();
    topology->exchange.done = on_reply;
    topology->exchange.max_elements = REPLY_ELEMENTS_MAX;
    set_timer(redis, redis->request_timeout_ms);
    connection_send(node->connection, question, sizeof(question) - 1, &topology->exchange);
}

static void try_now(struct redis *redis)
{
    struct topology *topology = &redis->topology;

    if (redis->closing || topology->asking || !topology->wanted) {
        return;
    }
    struct node *node = redis_node_up(redis);
    if (node == NULL) {
        size_t seed = topology->next_seed++ % redis->seeds.count;
        redis_node_connect(redis_node(redis, &redis->seeds.addresses[seed]));
        set_timer(redis, SEED_MS);
        return;
    }
    int64_t wait = topology->asked_ms == 0 ? 0 : topology->asked_ms + REFRESH_MS - clock_now_ms();
    if (wait > 0) {
        set_timer(redis, wait);
    } else {
        ask(redis, node);
    }
}

void topology_refresh(struct redis *redis)
{
    if (!redis->topology.wanted && !redis->closing) {
        redis->topology.wanted = true;
        if (!redis->topology.asking) {
            set_timer(redis, 0);
        }
    }
}

/* --- nodes come and go ----------------------------------------------------------------------- */

void topology_node_up(struct node *node)
{
    try_now(node->redis);
    check_ready(node->redis);
}

static bool all_seeds_failed(struct redis *redis)
{
    for (size_t i = 0; i < redis->seeds.count; i++) {
        if (redis_node(redis, &redis->seeds.addresses[i])->failures == 0) {
            return false;
        }
    }
    return true;
}

void topology_node_down(struct node *node)
{
    struct redis *redis = node->redis;
    struct topology *topology = &redis->topology;

    if (topology->ready == NULL) {
        return;
    }
    if (topology->known) {
        check_ready(redis);
    } else if (node->state == NODE_BAD || all_seeds_failed(redis)) {
        tell_ready(redis, node->status, node->why);
    }
}

/* --- start and end --------------------------------------------------------------------------- */

/* "a:1, b:2", cut when it does not fit. */
static void format_seeds(char *out, size_t size, const struct redis *redis)
{
    char name[SERVER_TEXT_MAX];
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < redis->seeds.count && used < size; i++) {
        server_address_format(name, &redis->seeds.addresses[i]);
        used += (size_t) snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "", name);
    }
}

/* The time to connect is over.  A master that is away does not keep us from working with others. */
static void on_start_timeout(uv_timer_t *timer)
{
    struct redis *redis = timer->data;
    const struct topology *topology = &redis->topology;
    char seeds[SEEDS_TEXT_MAX], text[SEEDS_TEXT_MAX + 128];

    if (topology->known) {
        tell_ready(redis, SMQ_OK, "");
        return;
    }
    format_seeds(seeds, sizeof(seeds), redis);
    (void) snprintf(
        text, sizeof(text),
        "no Redis server answers at %s: is it running, and can it be reached from here?", seeds);
    tell_ready(redis, SMQ_UNAVAILABLE, topology->why[0] != '\0' ? topology->why : text);
}

void topology_start(struct redis *redis, redis_ready_fn *ready, void *user)
{
    redis->topology.ready = ready;
    redis->topology.ready_user = user;
    redis->topology.wanted = true;
    uv_timer_init(loop_uv(redis->loop), &redis->topology.timer);
    uv_timer_init(loop_uv(redis->loop), &redis->topology.start_timer);
    redis_adopt(redis, (uv_handle_t *) &redis->topology.timer);
    redis_adopt(redis, (uv_handle_t *) &redis->topology.start_timer);
    /* a little earlier than whoever waits for `ready` with the same time-out */
    uv_timer_start(&redis->topology.start_timer, on_start_timeout,
                   (uint64_t) (redis->connect_timeout_ms - redis->connect_timeout_ms / 8), 0);
    set_timer(redis, 0);
}

void topology_stop(struct redis *redis)
{
    uv_timer_stop(&redis->topology.timer);
    uv_timer_stop(&redis->topology.start_timer);
    tell_ready(redis, SMQ_CLOSED, "the client was closed");
}
