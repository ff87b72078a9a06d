/* cluster.c - requests and lanes: who waits for what, and where it goes.
 *
 * A lane is the queue of one hash slot, and one more of each for commands with replicas.  At most
 * one request of a lane is on the wire, so its order survives every redirect and repeat; requests
 * of different lanes share the pipeline of their node.
 *
 * Thread: smq:io. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/random.h"
#include "redis/internal.h"

enum {
    PAUSE_TICK_MS = 5,
    PAUSE_MIN_MS = 10,
    PAUSE_MAX_MS = 500,
    REDIRECTS_MAX = 5 /* in a row, then a pause */
};

/* Where a lane is.  It has requests, else it would not be. */
enum lane_place { LANE_FRESH, LANE_STALLED, LANE_UNROUTED, LANE_PAUSED, LANE_WIRED };

/* Invariant: `link` is in the list that `place` names; WIRED is in none, and `wired` is not NULL.
 */
struct lane {
    int64_t number;    /* made of the next two; or that of one command without a key */
    int32_t hash_slot; /* or REDIS_ANY_NODE */
    int replicas;
    struct redis *redis;
    enum lane_place place;
    struct lane_list *list;
    TAILQ_ENTRY(lane) link;
    TAILQ_HEAD(, request) waiting;
    struct request *wired;
    int64_t until_ms; /* PAUSED */
    UT_hash_handle hh;
};

/* The private side of a command.  Invariant: `command` is NULL when its end was told while
 * exchanges were still on the wire; the request goes with the last of them. */
struct request {
    struct redis_command *command;
    struct redis *redis;
    struct lane *lane;
    struct node *node; /* it was written to */
    int64_t deadline_ms, timeout_ms;
    bool asking;
    struct server_address ask;
    unsigned redirects, pauses;
    char *why;              /* the error for which it waits; NULL: none */
    smq_status load_status; /* why its script could not be loaded (in `why`); SMQ_OK: it could */
    int on_wire;            /* exchanges that will still call back */
    struct exchange run, load, announce;
    TAILQ_ENTRY(request) link;  /* in lane->waiting */
    TAILQ_ENTRY(request) timer; /* in the wheel */
    struct request_list *wheel;
};

/* --- lanes ----------------------------------------------------------------------------------- */

static void lane_go(struct lane *lane, enum lane_place place, struct lane_list *list)
{
    if (lane->list != NULL) {
        TAILQ_REMOVE(lane->list, lane, link);
    }
    lane->place = place;
    lane->list = list;
    if (list != NULL) {
        TAILQ_INSERT_TAIL(list, lane, link);
    }
}

static void pump(uv_idle_t *idle);
static void pause_tick(uv_timer_t *timer);

static void lane_freshen(struct lane *lane)
{
    lane_go(lane, LANE_FRESH, &lane->redis->fresh);
    uv_idle_start(&lane->redis->pump, pump);
}

void redis_retry_soon(struct redis *redis)
{
    if (!redis->closing && !uv_is_active((uv_handle_t *) &redis->pause_timer)) {
        uv_timer_start(&redis->pause_timer, pause_tick, PAUSE_TICK_MS, PAUSE_TICK_MS);
    }
}

static void lane_pause(struct lane *lane, struct request *request)
{
    lane->until_ms =
        clock_now_ms() + random_backoff_ms(request->pauses, PAUSE_MIN_MS, PAUSE_MAX_MS);
    request->pauses++;
    lane_go(lane, LANE_PAUSED, &lane->redis->paused);
    redis_retry_soon(lane->redis);
}

static int64_t lane_number(struct redis *redis, const struct redis_command *command)
{
    if (command->hash_slot < 0) {
        return -1 - (int64_t) redis->next_any++;
    }
    return (int64_t) command->replicas * SLOTMAP_SLOTS + command->hash_slot;
}

static struct lane *lane_get(struct redis *redis, const struct redis_command *command)
{
    struct lane *lane = NULL;
    int64_t number = lane_number(redis, command);

    HASH_FIND(hh, redis->lanes, &number, sizeof(number), lane);
    if (lane == NULL) {
        lane = memory_new(sizeof(*lane));
        lane->number = number;
        lane->hash_slot = command->hash_slot;
        lane->replicas = command->replicas;
        lane->redis = redis;
        TAILQ_INIT(&lane->waiting);
        HASH_ADD(hh, redis->lanes, number, sizeof(lane->number), lane);
        lane_freshen(lane);
    }
    return lane;
}

/* What was on the wire has come home, or was given up: go on, or go. */
static void lane_next(struct lane *lane)
{
    if (lane->wired != NULL) {
        return;
    }
    if (!TAILQ_EMPTY(&lane->waiting)) {
        if (lane->place == LANE_WIRED) {
            lane_freshen(lane);
        }
        return;
    }
    lane_go(lane, LANE_FRESH, NULL);
    HASH_DEL(lane->redis->lanes, lane);
    free(lane);
}

/* --- deadlines ------------------------------------------------------------------------------- */

static void deadline_tick(uv_timer_t *timer);

static void wheel_add(struct redis *redis, struct request *request)
{
    request->wheel = &redis->wheel[(request->deadline_ms / WHEEL_TICK_MS) % WHEEL_SLOTS];
    TAILQ_INSERT_TAIL(request->wheel, request, timer);
    if (redis->requests++ == 0 && !redis->closing) {
        redis->wheel_ms = clock_now_ms();
        uv_timer_start(&redis->deadline_timer, deadline_tick, WHEEL_TICK_MS, WHEEL_TICK_MS);
    }
}

static void wheel_remove(struct redis *redis, struct request *request)
{
    TAILQ_REMOVE(request->wheel, request, timer);
    if (--redis->requests == 0 && !redis->closing) {
        uv_timer_stop(&redis->deadline_timer);
    }
}

/* --- requests -------------------------------------------------------------------------------- */

static void request_release(struct request *request)
{
    if (request->command == NULL && request->on_wire == 0) {
        free(request->why);
        free(request);
    }
}

/* Tell the end.  The request must not be used after it. */
static void finish(struct request *request, enum redis_outcome outcome, smq_status status,
                   const redisReply *reply, const char *text)
{
    struct redis_command *command = request->command;
    struct lane *lane = request->lane;
    struct node *by = request->node;
    struct redis_result result = {
        .outcome = outcome, .status = status, .reply = reply, .text = text};

    assert(command != NULL); /* only those that are over have none, and they are in no lane */
    wheel_remove(request->redis, request);
    if (lane->wired == request) {
        lane->wired = NULL;
    } else {
        TAILQ_REMOVE(&lane->waiting, request, link);
    }
    lane_next(lane);
    request->command = NULL;
    request_release(request);
    command->state = NULL;
    command->by = by;
    command->done(&result, command->user);
}

static void give_up(struct request *request, enum redis_outcome outcome, smq_status status,
                    const char *what)
{
    char text[NODE_NAME_MAX + 304];

    (void) snprintf(text, sizeof(text), "%s: %.300s", request->node->name, what);
    finish(request, outcome, status, NULL, text);
}

static void keep_why(struct request *request, const char *why)
{
    free(request->why);
    request->why = memory_string(why);
}

/* Back to the head of its lane: it was not executed. */
static void requeue(struct request *request)
{
    request->lane->wired = NULL;
    TAILQ_INSERT_HEAD(&request->lane->waiting, request, link);
}

static void redirect(struct request *request, const struct step *step)
{
    struct redis *redis = request->redis;
    struct server_address to = step->to;

    redis_count_redirect(redis);
    if (to.host[0] == '\0') {
        memcpy(to.host, request->node->address.host, sizeof(to.host));
    }
    if (step->kind == STEP_ASK) {
        request->asking = true;
        request->ask = to;
    } else {
        slotmap_set(&redis->map, step->hash_slot, &to);
    }
    if (++request->redirects % REDIRECTS_MAX == 0) {
        lane_pause(request->lane, request);
    } else {
        lane_freshen(request->lane);
    }
}

/* Is it about the hash slot for which we asked?  Commands without a key have none. */
static bool is_redirect(const struct request *request, const struct step *step)
{
    return (step->kind == STEP_MOVED || step->kind == STEP_ASK) &&
           request->lane->hash_slot == step->hash_slot;
}

/* It was not executed: again, there or elsewhere. */
static void repeat(struct request *request, const struct step *step, const char *why)
{
    if (step->refresh) {
        topology_refresh(request->redis);
    }
    keep_why(request, why);
    requeue(request);
    request->asking = false;
    if (is_redirect(request, step)) {
        redirect(request, step);
    } else if (step->kind == STEP_LOAD && request->redirects++ % REDIRECTS_MAX == 0) {
        lane_freshen(request->lane);
    } else {
        lane_pause(request->lane, request);
    }
}

static void refuse_without_scripts(struct request *request, const char *error)
{
    char why[300];

    (void) snprintf(why, sizeof(why),
                    "the server runs no Lua scripts, which slotmq needs (SCRIPT LOAD, EVALSHA): "
                    "%.100s",
                    error);
    give_up(request, REDIS_NOT_DONE, SMQ_BAD_SERVER, why);
}

/* The node does not know the script: load it, unless that was just refused. */
static void load_again(struct request *request, const struct step *step, const redisReply *reply)
{
    struct node *node = request->node;

    if (node->connection != NULL) {
        connection_forget(node->connection, request->command->script);
    }
    if (request->load_status == SMQ_BAD_SERVER) {
        refuse_without_scripts(request, request->why);
    } else if (request->load_status != SMQ_OK) {
        char why[300];
        (void) snprintf(why, sizeof(why), "the script %s cannot be loaded: %.200s",
                        request->command->script->name, request->why);
        give_up(request, REDIS_NOT_DONE, request->load_status, why);
    } else {
        repeat(request, step, reply->str);
    }
}

static void take_step(struct request *request, const redisReply *reply)
{
    bool script = request->command->script != NULL;
    struct step step = redirect_next(reply, script);

    if (script && redirect_without_scripts(reply)) {
        refuse_without_scripts(request, reply->str);
        return;
    }
    switch (step.kind) {
    case STEP_DONE:
        finish(request, REDIS_DONE, SMQ_OK, reply, "");
        break;
    case STEP_LOAD:
        if (script) {
            load_again(request, &step, reply);
        } else {
            give_up(request, REDIS_NOT_DONE, SMQ_INTERNAL, reply->str);
        }
        break;
    case STEP_MOVED:
    case STEP_ASK:
        repeat(request, &step, reply->str);
        break;
    case STEP_WAIT:
        if (request->command->once) {
            give_up(request, REDIS_NOT_DONE, SMQ_UNAVAILABLE, reply->str);
        } else {
            repeat(request, &step, reply->str);
        }
        break;
    case STEP_REFUSED:
        give_up(request, REDIS_NOT_DONE, step.status, reply->str);
        break;
    case STEP_PARTLY:
        give_up(request, REDIS_PARTLY, step.status, reply->str);
        break;
    case STEP_UNKNOWN:
        topology_refresh(request->redis);
        give_up(request, REDIS_UNKNOWN, step.status, reply->str);
        break;
    }
}

static void on_reply(struct exchange *exchange, const redisReply *reply, bool written)
{
    struct request *request = OWNER_OF(exchange, struct request, run);

    request->on_wire--;
    if (request->command == NULL) {
        request_release(request);
    } else if (reply != NULL) {
        take_step(request, reply);
    } else if (written) {
        give_up(request, REDIS_UNKNOWN, SMQ_UNKNOWN, "the connection ended before the reply came");
    } else {
        requeue(request);
        lane_freshen(request->lane);
    }
}

/* Whether the script is there shows in the reply of the command itself; here stands why not. */
static void on_load_reply(struct exchange *exchange, const redisReply *reply, bool written)
{
    struct request *request = OWNER_OF(exchange, struct request, load);

    (void) written;
    request->on_wire--;
    if (request->command == NULL) {
        request_release(request);
    } else if (reply != NULL) {
        struct step step = redirect_next(reply, false);
        request->load_status = redirect_without_scripts(reply) ? SMQ_BAD_SERVER
                               : step.kind == STEP_REFUSED     ? step.status
                                                               : SMQ_OK;
        if (step.kind == STEP_REFUSED) {
            keep_why(request, reply->str);
        }
    }
}

/* What ASKING changes shows in the reply of the command itself. */
static void on_announce_reply(struct exchange *exchange, const redisReply *reply, bool written)
{
    struct request *request = OWNER_OF(exchange, struct request, announce);

    (void) reply;
    (void) written;
    request->on_wire--;
    request_release(request);
}

static void send_extra(struct request *request, struct exchange *exchange, int argc,
                       const char **argv, const size_t *lens)
{
    char *bytes = NULL;
    long long len = redisFormatCommandArgv(&bytes, argc, argv, lens);

    exchange->max_elements = 1;
    request->on_wire++;
    connection_send(request->node->connection, bytes, (size_t) len, exchange);
    redisFreeCommand(bytes);
}

/* Put it on the wire, behind the script's text and ASKING where they are needed. */
static void wire(struct request *request, struct node *node)
{
    const struct script *script = request->command->script;
    struct lane *lane = request->lane;
    const char *bytes;
    size_t len;

    TAILQ_REMOVE(&lane->waiting, request, link);
    lane->wired = request;
    lane_go(lane, LANE_WIRED, NULL);
    request->node = node;
    request->load_status = SMQ_OK;
    if (script != NULL && !connection_knows(node->connection, script)) {
        const char *argv[] = {"SCRIPT", "LOAD", script->text};
        const size_t lens[] = {6, 4, script->text_len};
        send_extra(request, &request->load, 3, argv, lens);
        connection_learn(node->connection, script);
    }
    if (request->asking) {
        const char *argv[] = {"ASKING"};
        const size_t lens[] = {6};
        send_extra(request, &request->announce, 1, argv, lens);
    }
    request->run.max_elements = request->command->max_elements;
    request->on_wire++;
    bytes = redis_command_render(request->command, &len);
    connection_send(node->connection, bytes, len, &request->run);
    if (lane->replicas > 0) {
        replicas_wrote(node, request->command);
    }
}

/* --- sending --------------------------------------------------------------------------------- */

void redis_send(struct redis *redis, struct redis_command *command)
{
    struct request *request = memory_new(sizeof(*request));

    assert(command->state == NULL && command->args.count > 0);
    command->state = (struct redis_command_state *) request;
    request->command = command;
    request->redis = redis;
    request->run.done = on_reply;
    request->load.done = on_load_reply;
    request->announce.done = on_announce_reply;
    request->timeout_ms = command->timeout_ms > 0 ? command->timeout_ms : redis->request_timeout_ms;
    request->deadline_ms = clock_now_ms() + request->timeout_ms;
    request->lane = lane_get(redis, command);
    TAILQ_INSERT_TAIL(&request->lane->waiting, request, link);
    wheel_add(redis, request);
}

/* The node for a lane's first request; NULL: not known. */
static struct node *route(struct redis *redis, const struct lane *lane,
                          const struct request *request)
{
    const struct server_address *address = NULL;

    if (request->asking) {
        address = &request->ask;
    } else if (lane->hash_slot != REDIS_ANY_NODE) {
        address = slotmap_owner(&redis->map, lane->hash_slot);
    } else if (redis->map.count > 0) {
        struct node *node = redis_node_up(redis);
        if (node != NULL) {
            return node;
        }
        address = &redis->map.nodes[random_u64() % redis->map.count];
    }
    return address == NULL ? NULL : redis_node_with(redis, address, lane->replicas);
}

/* Must this request not wait for this node? */
static bool is_hopeless(const struct request *request, const struct node *node)
{
    return node->state != NODE_CONNECTING && node->retry_ms > clock_now_ms() &&
           (node->state == NODE_BAD || request->command->once);
}

static void pump_lane(struct lane *lane)
{
    struct redis *redis = lane->redis;
    struct request *request = TAILQ_FIRST(&lane->waiting);

    assert(request != NULL && request->command != NULL);
    if (redis->closing) {
        finish(request, REDIS_NOT_DONE, SMQ_CLOSED, NULL, "the client is closing");
        return;
    }
    struct node *node = route(redis, lane, request);
    if (node == NULL && request->command->once && redis->map.count > 0) {
        finish(request, REDIS_NOT_DONE, SMQ_UNAVAILABLE, NULL, "nobody serves this hash slot");
    } else if (node == NULL) {
        lane_go(lane, LANE_UNROUTED, &redis->unrouted);
        topology_refresh(redis);
    } else if (node->state == NODE_UP && replicas_may_write(node)) {
        wire(request, node);
    } else if (is_hopeless(request, node)) {
        finish(request, REDIS_NOT_DONE, node->status, NULL, node->why);
    } else {
        lane_go(lane, LANE_STALLED, &node->stalled);
        redis_node_connect(node);
    }
}

static void close_handles(struct redis *redis);

/* Send what may go, in the turn after it came. */
static void pump(uv_idle_t *idle)
{
    struct redis *redis = idle->data;
    struct lane_list fresh = TAILQ_HEAD_INITIALIZER(fresh);
    struct lane *lane;

    TAILQ_CONCAT(&fresh, &redis->fresh, link);
    TAILQ_FOREACH(lane, &fresh, link)
    {
        lane->list = &fresh;
    }
    while ((lane = TAILQ_FIRST(&fresh)) != NULL) {
        pump_lane(lane);
    }
    replicas_turn(redis);
    if (TAILQ_EMPTY(&redis->fresh)) {
        uv_idle_stop(idle);
        if (redis->closing && redis->requests == 0) {
            close_handles(redis);
        }
    }
}

void redis_lanes_freshen(struct lane_list *list)
{
    struct lane *lane;

    while ((lane = TAILQ_FIRST(list)) != NULL) {
        lane_freshen(lane);
    }
}

void redis_routes_changed(struct redis *redis)
{
    redis_lanes_freshen(&redis->unrouted);
    for (struct node *node = redis->nodes; node != NULL; node = node->hh.next) {
        redis_lanes_freshen(&node->stalled);
    }
    pubsub_routes_changed(redis);
}

/* --- time ------------------------------------------------------------------------------------ */

/* Why a request has waited until now. */
static const char *why_waiting(const struct request *request)
{
    const struct node *to = route(request->redis, request->lane, request);

    if (request->why != NULL) {
        return request->why;
    }
    if (to == NULL) {
        return "nobody is known to serve this hash slot";
    }
    return to->why[0] != '\0' ? to->why : "others were before it";
}

static void expire(struct request *request)
{
    struct node *node = request->node;
    char text[700];

    topology_refresh(request->redis);
    if (request->lane->wired != request) {
        (void) snprintf(text, sizeof(text), "not done within %lld ms: %.500s",
                        (long long) request->timeout_ms, why_waiting(request));
        finish(request, REDIS_NOT_DONE, SMQ_UNAVAILABLE, NULL, text);
        return;
    }
    int64_t patience_ms = request->redis->request_timeout_ms;
    (void) snprintf(text, sizeof(text), "no reply within %lld ms", (long long) request->timeout_ms);
    give_up(request, REDIS_UNKNOWN, SMQ_UNKNOWN, text);
    /* a hung server and a cut wire look alike; a time-out shorter than usual proves neither */
    if (node->state == NODE_UP && connection_silent_ms(node->connection) >= patience_ms) {
        redis_node_down(node, SMQ_UNAVAILABLE, "it does not answer");
    }
}

/* Move those whose time is over to a list of their own: their callbacks may end others. */
static void collect_over(struct request_list *over, struct request_list *from, int64_t now)
{
    struct request *request, *next;

    for (request = TAILQ_FIRST(from); request != NULL; request = next) {
        next = TAILQ_NEXT(request, timer);
        if (request->deadline_ms <= now) {
            TAILQ_REMOVE(from, request, timer);
            TAILQ_INSERT_TAIL(over, request, timer);
            request->wheel = over;
        }
    }
}

static void deadline_tick(uv_timer_t *timer)
{
    struct redis *redis = timer->data;
    struct request_list over = TAILQ_HEAD_INITIALIZER(over);
    int64_t now = clock_now_ms();
    int64_t ticks = (now - redis->wheel_ms) / WHEEL_TICK_MS;

    for (int64_t i = 0; i <= ticks && i < WHEEL_SLOTS; i++) {
        collect_over(&over, &redis->wheel[(redis->wheel_ms / WHEEL_TICK_MS + i) % WHEEL_SLOTS],
                     now);
    }
    redis->wheel_ms += ticks * WHEEL_TICK_MS;
    while (!TAILQ_EMPTY(&over)) {
        expire(TAILQ_FIRST(&over));
    }
}

static void pause_tick(uv_timer_t *timer)
{
    struct redis *redis = timer->data;
    int64_t now = clock_now_ms();
    struct lane *lane, *next;
    bool busy = false;

    for (lane = TAILQ_FIRST(&redis->paused); lane != NULL; lane = next) {
        next = TAILQ_NEXT(lane, link);
        if (lane->until_ms <= now) {
            lane_freshen(lane);
        }
    }
    for (struct node *node = redis->nodes; node != NULL; node = node->hh.next) {
        if (node->wanted) {
            redis_node_connect(node);
            busy = busy || node->wanted;
        }
    }
    if (!busy && TAILQ_EMPTY(&redis->paused)) {
        uv_timer_stop(timer);
    }
}

/* --- the client ------------------------------------------------------------------------------ */

void redis_adopt(struct redis *redis, uv_handle_t *handle)
{
    handle->data = redis;
    redis->open_handles++;
}

struct redis *redis_new(struct loop *loop, const struct redis_options *options,
                        struct events *events, redis_ready_fn *ready, void *user)
{
    struct redis *redis = memory_new(sizeof(*redis));
    smq_error err;

    if (server_list_parse(&redis->seeds, options->servers, &err) != SMQ_OK) {
        assert(!"redis_check_servers() comes first");
    }
    redis->loop = loop;
    redis->events = events;
    redis->connect_timeout_ms = options->connect_timeout_ms;
    redis->request_timeout_ms = options->request_timeout_ms;
    TAILQ_INIT(&redis->fresh);
    TAILQ_INIT(&redis->unrouted);
    TAILQ_INIT(&redis->paused);
    for (int i = 0; i < WHEEL_SLOTS; i++) {
        TAILQ_INIT(&redis->wheel[i]);
    }
    uv_idle_init(loop_uv(loop), &redis->pump);
    uv_timer_init(loop_uv(loop), &redis->pause_timer);
    uv_timer_init(loop_uv(loop), &redis->deadline_timer);
    redis_adopt(redis, (uv_handle_t *) &redis->pump);
    redis_adopt(redis, (uv_handle_t *) &redis->pause_timer);
    redis_adopt(redis, (uv_handle_t *) &redis->deadline_timer);
    uv_timer_init(loop_uv(loop), &redis->replicas_timer);
    redis_adopt(redis, (uv_handle_t *) &redis->replicas_timer);
    pubsub_start(redis);
    topology_start(redis, ready, user);
    return redis;
}

static void redis_free(struct redis *redis)
{
    struct node *node, *next;
    void (*closed)(void *user) = redis->closed;
    void *user = redis->closed_user;

    HASH_ITER(hh, redis->nodes, node, next)
    {
        HASH_DEL(redis->nodes, node);
        free(node);
    }
    slotmap_fini(&redis->map);
    server_list_fini(&redis->seeds);
    free(redis);
    if (closed != NULL) {
        closed(user);
    }
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct redis *redis = handle->data;

    if (--redis->open_handles == 0) {
        redis_free(redis);
    }
}

static void close_handles(struct redis *redis)
{
    uv_close((uv_handle_t *) &redis->pump, on_handle_closed);
    uv_close((uv_handle_t *) &redis->pause_timer, on_handle_closed);
    uv_close((uv_handle_t *) &redis->deadline_timer, on_handle_closed);
    uv_close((uv_handle_t *) &redis->replicas_timer, on_handle_closed);
    uv_close((uv_handle_t *) &redis->topology.timer, on_handle_closed);
    uv_close((uv_handle_t *) &redis->topology.start_timer, on_handle_closed);
    uv_close((uv_handle_t *) &redis->pubsub.timer, on_handle_closed);
}

void redis_close(struct redis *redis, void (*closed)(void *user), void *user)
{
    redis->closing = true;
    redis->closed = closed;
    redis->closed_user = user;
    uv_timer_stop(&redis->pause_timer);
    uv_timer_stop(&redis->deadline_timer);
    uv_timer_stop(&redis->replicas_timer);
    topology_stop(redis);
    pubsub_stop(redis);
    redis_routes_changed(redis);
    redis_lanes_freshen(&redis->paused);
    for (struct node *node = redis->nodes; node != NULL; node = node->hh.next) {
        struct connection *connection = node->connection;
        node->connection = NULL;
        node->state = NODE_DOWN;
        connection_close(connection);
    }
    uv_idle_start(&redis->pump, pump);
}
