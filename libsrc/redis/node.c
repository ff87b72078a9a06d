/* node.c - the servers of one client: connecting to them, losing them, freeing them.
 *
 * Thread: smq:io. */
#include "redis/node.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/random.h"

enum { RETRY_MIN_MS = 20, RETRY_MAX_MS = 1000, RETRY_TICK_MS = 5, REFUSAL_FORGET_MS = 60000 };

static void node_check(const struct node *node)
{
    bool connected = node->state == NODE_CONNECTING || node->state == NODE_UP;

    assert(connected == (node->connection != NULL));
    assert(node->state != NODE_UP || !node->wanted);
}

/* The one place where a state changes. */
static void node_enter(struct node *node, enum node_state state)
{
    assert(states_node_may(node->state, state));
    node->state = state;
    CHECK(node_check(node));
}

/* A connection for WAIT, or for what goes alone, does not report its server: the main connection to
 * the server does, and so do the sends over this one. */
static bool node_is_reported(const struct node *node)
{
    return node->replicas_wanted == 0 && !node->alone;
}

/* --- connections ----------------------------------------------------------------------------- */

void node_mark_writable(struct node *node)
{
    node->failures = 0;
    node->why[0] = '\0';
    hash_queues_make_ready(&node->stalled);
}

static void node_on_ready(struct connection *connection, void *user)
{
    struct node *node = user;
    struct context *context = node->all->context;

    (void) connection;
    node_enter(node, NODE_UP);
    context_count_ready(context, &node->known);
    if (node_is_reported(node)) {
        events_emit(context->events, SMQ_EVENT_CONNECTED, NULL, "connected to Redis at %s",
                    node->name);
    }
    node->all->listener.up(node, node->all->listener.user);
}

static void node_report_lost(const struct node *node, bool was_up, const char *text)
{
    struct events *events = node->all->context->events;

    if (node_is_reported(node) && (was_up || node->failures == 1)) {
        events_emit(events, SMQ_EVENT_DISCONNECTED,
                    &(smq_event){.status = node->status, .slot = -1}, "%s; it is tried again",
                    text);
    } else if (was_up) {
        events_log(events, SMQ_LEVEL_DEBUG, "%s", text);
    }
}

/* The connection has ended, or must not be used any more. */
static void node_lose(struct node *node, smq_status status, const char *text)
{
    bool was_up = node->state == NODE_UP;

    node->connection = NULL;
    node->status = status;
    (void) snprintf(node->why, sizeof(node->why), "%s", text);
    node_enter(node, status == SMQ_UNAVAILABLE ? NODE_DOWN : NODE_BAD);
    node->retry_ms = clock_now_ms() + random_backoff_ms(node->failures, RETRY_MIN_MS, RETRY_MAX_MS);
    node->failures++;
    node_report_lost(node, was_up, text);
    hash_queues_make_ready(&node->stalled);
    node->all->listener.down(node, node->all->listener.user);
}

static void node_on_ended(struct connection *connection, smq_status status, const char *text,
                          void *user)
{
    (void) connection;
    node_lose(user, status, text);
}

void node_disconnect(struct node *node, smq_status status, const char *why)
{
    struct connection *connection = node->connection;
    char text[400];

    if (connection == NULL) {
        return;
    }
    (void) snprintf(text, sizeof(text), "%.260s: %.100s", node->name, why);
    node_lose(node, status, text);
    connection_close(connection);
}

static void node_set_on_retry_tick(uv_timer_t *timer)
{
    struct node_set *nodes = OWNER_OF(timer, struct node_set, retry_timer);
    bool busy = false;

    for (struct node *node = nodes->by_name; node != NULL; node = node->hh.next) {
        if (node->wanted) {
            node_connect(node);
            busy = busy || node->wanted;
        }
    }
    if (!busy) {
        uv_timer_stop(timer);
    }
}

static void node_set_retry_soon(struct node_set *nodes)
{
    if (!uv_is_active((uv_handle_t *) &nodes->retry_timer)) {
        uv_timer_start(&nodes->retry_timer, node_set_on_retry_tick, RETRY_TICK_MS, RETRY_TICK_MS);
    }
}

void node_connect(struct node *node)
{
    struct context *context = node->all->context;

    if (node->state == NODE_CONNECTING || node->state == NODE_UP || context->closing) {
        return;
    }
    node->wanted = node->retry_ms > clock_now_ms();
    if (node->wanted) {
        node_set_retry_soon(node->all);
        return;
    }
    struct connection_options options = {.address = node->address,
                                         .credentials = &context->credentials,
                                         .tls = context->tls,
                                         .connect_timeout_ms = context->connect_timeout_ms,
                                         .check = true,
                                         .mode = &node->mode,
                                         .events = context->events,
                                         .heard_ms = &context->heard_ms,
                                         .ready = node_on_ready,
                                         .ended = node_on_ended,
                                         .user_data = node};
    node->script_count = 0;
    node->connection = connection_new(context->loop, &options);
    node_enter(node, NODE_CONNECTING);
}

/* --- refused writes -------------------------------------------------------------------------- */

void node_refuses_writes(struct node *node, const char *why)
{
    const size_t word = strcspn(why, " ");
    const bool other = strncmp(node->refusal.why, why, word + 1) != 0;

    (void) snprintf(node->refusal.why, sizeof(node->refusal.why), "%s", why);
    node->refusal.last_ms = clock_now_ms();
    node->refusal.lasts = true;
    if (episode_trouble(&node->refusal.episode, node->refusal.last_ms) || other) {
        events_log(node->all->context->events, SMQ_LEVEL_WARN,
                   "%s refuses writes: %s; it is tried again", node->name, why);
    }
}

void node_takes_writes(struct node *node)
{
    node->refusal.lasts = false;
    episode_good(&node->refusal.episode);
}

const char *node_refusal(const struct node *node)
{
    const bool known =
        node->refusal.lasts && clock_now_ms() - node->refusal.last_ms < REFUSAL_FORGET_MS;

    return known ? node->refusal.why : NULL;
}

/* --- scripts --------------------------------------------------------------------------------- */

static size_t node_find_script(const struct node *node, const void *script)
{
    size_t i = 0;

    while (i < node->script_count && node->scripts[i] != script) {
        i++;
    }
    return i;
}

bool node_knows(const struct node *node, const void *script)
{
    return node_find_script(node, script) < node->script_count;
}

void node_learn(struct node *node, const void *script)
{
    if (!node_knows(node, script) && node->script_count < NODE_SCRIPTS_MAX) {
        node->scripts[node->script_count++] = script;
    }
}

void node_forget(struct node *node, const void *script)
{
    size_t at = node_find_script(node, script);

    if (at < node->script_count) {
        node->scripts[at] = node->scripts[--node->script_count];
    }
}

/* --- probes ---------------------------------------------------------------------------------- */

static void node_on_probed(struct exchange *exchange, const redisReply *reply, bool written)
{
    struct node *node = OWNER_OF(exchange, struct node, probe);

    (void) reply;
    (void) written;
    node->probing = false;
}

void node_ask(struct node *node, struct exchange *exchange, int count, const char **words)
{
    char *bytes = NULL;
    long long len = redisFormatCommandArgv(&bytes, count, words, NULL);

    connection_send(node->connection, bytes, (size_t) len, exchange);
    redisFreeCommand(bytes);
}

void node_probe(struct node *node)
{
    if (!connection_is_idle(node->connection)) {
        return;
    }
    node->probing = true;
    node->probe.done = node_on_probed;
    node->probe.max_elements = 1;
    node_ask(node, &node->probe, 1, (const char *[]){"PING"});
}

bool node_probe_failed(const struct node *node, int64_t patience_ms)
{
    return node->probing && connection_heard_ms(node->connection) < node->probe.sent_ms &&
           loop_polled_ms(node->all->context->loop) >= node->probe.sent_ms + patience_ms;
}

/* --- all nodes ------------------------------------------------------------------------------- */

void node_set_init(struct node_set *nodes, struct context *context,
                   const struct node_listener *listener)
{
    nodes->context = context;
    nodes->listener = *listener;
    context_init_timer(context, &nodes->retry_timer);
}

static struct node *node_set_add(struct node_set *nodes, const struct server_address *address,
                                 const char *name, int replicas, bool alone)
{
    struct node *node = memory_new(sizeof(*node));

    node->all = nodes;
    node->address = *address;
    (void) snprintf(node->name, sizeof(node->name), "%s", name);
    node->replicas_wanted = replicas;
    node->alone = alone;
    TAILQ_INIT(&node->stalled);
    TAILQ_INIT(&node->replicas.awaits);
    HASH_ADD_STR(nodes->by_name, name, node);
    return node;
}

const struct node *node_set_find(const struct node_set *nodes, const struct server_address *address)
{
    char name[NODE_NAME_MAX];
    const struct node *node;

    server_address_format(name, address);
    HASH_FIND_STR(nodes->by_name, name, node);
    return node;
}

struct node *node_set_get(struct node_set *nodes, const struct server_address *address)
{
    return node_set_get_with(nodes, address, 0, false);
}

struct node *node_set_get_with(struct node_set *nodes, const struct server_address *address,
                               int replicas, bool alone)
{
    char name[NODE_NAME_MAX];
    struct node *node;

    server_address_format(name, address);
    if (replicas > 0) {
        size_t len = strlen(name);
        (void) snprintf(name + len, sizeof(name) - len, " (WAIT %d)", replicas);
    }
    if (alone) {
        size_t len = strlen(name);
        (void) snprintf(name + len, sizeof(name) - len, " (alone)");
    }
    HASH_FIND_STR(nodes->by_name, name, node);
    return node != NULL ? node : node_set_add(nodes, address, name, replicas, alone);
}

struct node *node_set_any_up(struct node_set *nodes, const struct node *avoid)
{
    struct node *found = NULL, *avoided = NULL;
    uint64_t met = 0;

    for (struct node *node = nodes->by_name; node != NULL; node = node->hh.next) {
        if (node->state != NODE_UP || node->replicas_wanted > 0 || node->alone) {
            continue;
        }
        if (node == avoid) {
            avoided = node;
        } else if (random_u64() % ++met == 0) {
            found = node;
        }
    }
    return found != NULL ? found : avoided;
}

static bool node_is_served(const struct node *node, const struct slotmap *map)
{
    for (size_t i = 0; i < map->count; i++) {
        if (server_address_equal(&map->nodes[i], &node->address)) {
            return true;
        }
    }
    return server_list_contains(&node->all->context->seeds, &node->address);
}

static bool node_is_busy(const struct node *node)
{
    return node->state == NODE_CONNECTING || !TAILQ_EMPTY(&node->stalled) ||
           (node->connection != NULL && !connection_is_idle(node->connection));
}

void node_set_sweep(struct node_set *nodes, const struct slotmap *map)
{
    struct node *node, *next;

    HASH_ITER(hh, nodes->by_name, node, next)
    {
        if (!node_is_busy(node) && !node_is_served(node, map)) {
            connection_close(node->connection);
            HASH_DEL(nodes->by_name, node);
            free(node);
        }
    }
}

/* --- the end --------------------------------------------------------------------------------- */

void node_set_stop(struct node_set *nodes)
{
    uv_timer_stop(&nodes->retry_timer);
    for (struct node *node = nodes->by_name; node != NULL; node = node->hh.next) {
        struct connection *connection = node->connection;

        if (connection != NULL) {
            node->connection = NULL;
            node_enter(node, NODE_DOWN);
            connection_close(connection);
        }
    }
}

void node_set_fini(struct node_set *nodes)
{
    struct node *node, *next;

    HASH_ITER(hh, nodes->by_name, node, next)
    {
        HASH_DEL(nodes->by_name, node);
        free(node);
    }
}
