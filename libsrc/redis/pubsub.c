/* pubsub.c - sharded subscriptions that are kept: one more connection to each node that has some.
 *
 * In RESP2 replies and messages share the connection and tell what they are by their first element;
 * an error tells nothing, so the commands on their way stand in a queue, in the order of which
 * replies come.
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
#include "redis/reply.h"

enum { RETRY_MS = 100, PING_MS = 5000, RETRY_MIN_MS = 20, RETRY_MAX_MS = 1000 };

/* IDLE: to be subscribed, as soon as its node can take it.  ASKED: SSUBSCRIBE is on its way.  ON:
 * confirmed. */
enum channel_state { CHANNEL_IDLE, CHANNEL_ASKED, CHANNEL_ON };

/* One listener: the private side of a subscription. */
struct redis_subscription_state {
    struct redis_subscription *subscription;
    struct pubsub_channel *channel;
    TAILQ_ENTRY(redis_subscription_state) peer;
};

/* Invariants: in link->channels exactly when link is not NULL, in redis->pubsub.idle exactly when
 * IDLE.  Has listeners, else it would not be.  `next` is the listener to be told next while
 * listeners are told: each of them may go meanwhile. */
struct pubsub_channel {
    struct redis *redis;
    TAILQ_HEAD(, redis_subscription_state) listeners;
    struct redis_subscription_state *next;
    bool telling, orphaned; /* orphaned: freed when the telling ends */
    char *name;
    int32_t hash_slot;
    enum channel_state state;
    struct pubsub_link *link;
    TAILQ_ENTRY(pubsub_channel) peer;
    TAILQ_ENTRY(pubsub_channel) idle;
    UT_hash_handle hh;
};

enum asked_kind { ASKED_SUBSCRIBE, ASKED_UNSUBSCRIBE, ASKED_PING };

/* A command whose reply has not come. */
struct asked {
    enum asked_kind kind;
    char *channel;
    STAILQ_ENTRY(asked) link;
};

/* The connection to one node. */
struct pubsub_link {
    struct redis *redis;
    struct server_address address;
    char name[SERVER_TEXT_MAX];
    struct connection *connection; /* NULL while down */
    bool ready, known;             /* known: it was ready before */
    bool refused;                  /* it said so; said once until it takes a subscription */
    uint64_t failures;
    int64_t retry_ms, pinged_ms;
    int64_t asked_ms; /* when the oldest of `asked` was asked */
    TAILQ_HEAD(, pubsub_channel) channels;
    STAILQ_HEAD(, asked) asked;
    UT_hash_handle hh;
};

/* --- time ------------------------------------------------------------------------------------ */

static void on_tick(uv_timer_t *timer);

/* Look at everything again in RETRY_MS, or earlier. */
static void tick_soon(struct redis *redis)
{
    uv_timer_t *timer = &redis->pubsub.timer;

    if (!redis->closing &&
        (!uv_is_active((uv_handle_t *) timer) || uv_timer_get_due_in(timer) > RETRY_MS)) {
        uv_timer_start(timer, on_tick, RETRY_MS, 0);
    }
}

/* --- commands -------------------------------------------------------------------------------- */

static void ask(struct pubsub_link *link, enum asked_kind kind, const char *channel)
{
    static const char *const words[] = {"SSUBSCRIBE", "SUNSUBSCRIBE", "PING"};
    const char *argv[2] = {words[kind], channel};
    char *bytes = NULL;
    struct asked *asked = memory_new(sizeof(*asked));
    long long len = redisFormatCommandArgv(&bytes, channel != NULL ? 2 : 1, argv, NULL);

    if (STAILQ_EMPTY(&link->asked)) {
        link->asked_ms = clock_now_ms();
        tick_soon(link->redis);
    }
    asked->kind = kind;
    asked->channel = channel != NULL ? memory_string(channel) : NULL;
    STAILQ_INSERT_TAIL(&link->asked, asked, link);
    connection_push(link->connection, bytes, (size_t) len);
    redisFreeCommand(bytes);
}

static void asked_free(struct asked *asked)
{
    free(asked->channel);
    free(asked);
}

static struct asked *take_asked(struct pubsub_link *link)
{
    struct asked *asked = STAILQ_FIRST(&link->asked);

    if (asked != NULL) {
        STAILQ_REMOVE_HEAD(&link->asked, link);
    }
    return asked;
}

static struct pubsub_channel *find_channel(struct redis *redis, const char *name)
{
    struct pubsub_channel *channel;

    HASH_FIND_STR(redis->pubsub.channels, name, channel);
    return channel;
}

static void channel_go(struct pubsub_channel *channel, enum channel_state state)
{
    if (channel->state == CHANNEL_IDLE && state != CHANNEL_IDLE) {
        TAILQ_REMOVE(&channel->redis->pubsub.idle, channel, idle);
    } else if (channel->state != CHANNEL_IDLE && state == CHANNEL_IDLE) {
        TAILQ_INSERT_TAIL(&channel->redis->pubsub.idle, channel, idle);
    }
    channel->state = state;
}

/* --- routing --------------------------------------------------------------------------------- */

static void link_connect(struct pubsub_link *link);
static struct pubsub_link *get_link(struct redis *redis, const struct server_address *address)
{
    char name[SERVER_TEXT_MAX];
    struct pubsub_link *link;

    server_address_format(name, address);
    HASH_FIND_STR(redis->pubsub.links, name, link);
    if (link == NULL) {
        link = memory_new(sizeof(*link));
        link->redis = redis;
        link->address = *address;
        memcpy(link->name, name, sizeof(name));
        TAILQ_INIT(&link->channels);
        STAILQ_INIT(&link->asked);
        HASH_ADD_STR(redis->pubsub.links, name, link);
    }
    return link;
}

static void leave_link(struct pubsub_channel *channel)
{
    struct pubsub_link *link = channel->link;

    if (link == NULL) {
        return;
    }
    if (link->ready && channel->state != CHANNEL_IDLE) {
        ask(link, ASKED_UNSUBSCRIBE, channel->name);
    }
    TAILQ_REMOVE(&link->channels, channel, peer);
    channel->link = NULL;
    channel_go(channel, CHANNEL_IDLE);
    tick_soon(channel->redis);
}

/* Subscribe on the node that serves the channel, as soon as it is known and there. */
static void route(struct pubsub_channel *channel)
{
    const struct server_address *address = slotmap_owner(&channel->redis->map, channel->hash_slot);

    if (address == NULL) {
        topology_refresh(channel->redis);
        tick_soon(channel->redis);
        return;
    }
    struct pubsub_link *link = get_link(channel->redis, address);
    if (channel->link != link) {
        leave_link(channel);
        channel->link = link;
        TAILQ_INSERT_TAIL(&link->channels, channel, peer);
    }
    if (link->ready && channel->state == CHANNEL_IDLE) {
        channel_go(channel, CHANNEL_ASKED);
        ask(link, ASKED_SUBSCRIBE, channel->name);
    } else if (!link->ready) {
        link_connect(link);
    }
}

void pubsub_routes_changed(struct redis *redis)
{
    for (struct pubsub_channel *channel = redis->pubsub.channels;
         channel != NULL && !redis->closing; channel = channel->hh.next) {
        route(channel);
    }
}

/* --- replies --------------------------------------------------------------------------------- */

static void channel_free(struct pubsub_channel *channel)
{
    channel_go(channel, CHANNEL_ON); /* out of the list of those that are to be subscribed */
    HASH_DEL(channel->redis->pubsub.channels, channel);
    free(channel->name);
    if (channel->telling) {
        channel->orphaned = true;
    } else {
        free(channel);
    }
}

/* Tell all listeners.  The channel may be gone when this returns. */
static void notify(struct pubsub_channel *channel, enum redis_notice notice)
{
    struct redis_subscription_state *listener;

    channel->telling = true;
    channel->next = TAILQ_FIRST(&channel->listeners);
    while ((listener = channel->next) != NULL) {
        channel->next = TAILQ_NEXT(listener, peer);
        listener->subscription->notice(notice, listener->subscription->user);
    }
    channel->telling = false;
    if (channel->orphaned) {
        free(channel);
    }
}

static void on_subscribed(struct pubsub_link *link, const char *name)
{
    struct asked *asked = take_asked(link);
    struct pubsub_channel *channel = find_channel(link->redis, name);

    if (asked != NULL) {
        asked_free(asked);
    }
    link->refused = false;
    link->failures = 0;
    if (channel != NULL && channel->link == link && channel->state != CHANNEL_IDLE) {
        channel_go(channel, CHANNEL_ON);
        notify(channel, REDIS_NOTICE_SUBSCRIBED);
    }
}

/* The answer to our own request; or the hash slot has left that node. */
static void on_unsubscribed(struct pubsub_link *link, const char *name)
{
    struct asked *asked = STAILQ_FIRST(&link->asked);
    struct pubsub_channel *channel = find_channel(link->redis, name);

    if (asked != NULL && asked->kind == ASKED_UNSUBSCRIBE && strcmp(asked->channel, name) == 0) {
        asked_free(take_asked(link));
        return;
    }
    if (channel != NULL && channel->link == link && channel->state == CHANNEL_ON) {
        channel_go(channel, CHANNEL_IDLE);
        topology_refresh(link->redis);
        route(channel); /* the node will say where to, if it knows already */
    }
}

/* SSUBSCRIBE was refused: on to where MOVED says, or the same again later. */
static void on_refused(struct pubsub_channel *channel, const redisReply *reply)
{
    struct step step = redirect_next(reply, false);
    struct redis *redis = channel->redis;
    struct pubsub_link *link = channel->link;

    channel_go(channel, CHANNEL_IDLE);
    tick_soon(redis);
    if (step.refresh) {
        topology_refresh(redis);
    }
    if (step.kind == STEP_MOVED && step.hash_slot == channel->hash_slot) {
        if (step.to.host[0] == '\0') {
            memcpy(step.to.host, link->address.host, sizeof(step.to.host));
        }
        if (!server_address_equal(&step.to, &link->address)) {
            redis_count_redirect(redis);
            slotmap_set(&redis->map, channel->hash_slot, &step.to);
            route(channel);
        }
    } else if (step.kind == STEP_REFUSED) {
        if (!link->refused) {
            link->refused = true;
            events_log(redis->events, SMQ_LEVEL_ERROR, "%s: cannot subscribe to %s: %s", link->name,
                       channel->name, reply->str);
        }
        if (step.status == SMQ_DENIED) {
            notify(channel, REDIS_NOTICE_REFUSED);
        }
    }
}

static void on_error(struct pubsub_link *link, const redisReply *reply)
{
    struct asked *asked = take_asked(link);
    struct pubsub_channel *channel = asked != NULL && asked->kind == ASKED_SUBSCRIBE
                                         ? find_channel(link->redis, asked->channel)
                                         : NULL;

    if (channel != NULL && channel->link == link && channel->state == CHANNEL_ASKED) {
        on_refused(channel, reply);
    }
    if (asked != NULL) {
        asked_free(asked);
    }
}

static void on_pong(struct pubsub_link *link)
{
    struct asked *asked = STAILQ_FIRST(&link->asked);

    if (asked != NULL && asked->kind == ASKED_PING) {
        asked_free(take_asked(link));
    }
}

static void on_pushed(struct connection *connection, const redisReply *reply, void *user)
{
    struct pubsub_link *link = user;

    (void) connection;
    if (reply->type == REDIS_REPLY_ERROR) {
        on_error(link, reply);
        return;
    }
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 2 ||
        reply->element[1]->type != REDIS_REPLY_STRING) {
        on_pong(link); /* +PONG: nothing is subscribed */
        return;
    }
    const char *name = reply->element[1]->str;
    if (reply_is(reply->element[0], "smessage")) {
        struct pubsub_channel *channel = find_channel(link->redis, name);
        if (channel != NULL && channel->link == link) {
            notify(channel, REDIS_NOTICE_MESSAGE);
        }
    } else if (reply_is(reply->element[0], "ssubscribe")) {
        on_subscribed(link, name);
    } else if (reply_is(reply->element[0], "sunsubscribe")) {
        on_unsubscribed(link, name);
    } else if (reply_is(reply->element[0], "pong")) {
        on_pong(link);
    }
}

/* --- connections ----------------------------------------------------------------------------- */

static void link_reset(struct pubsub_link *link)
{
    struct pubsub_channel *channel;
    struct asked *asked;

    link->connection = NULL;
    link->ready = false;
    while ((asked = take_asked(link)) != NULL) {
        asked_free(asked);
    }
    TAILQ_FOREACH(channel, &link->channels, peer)
    {
        channel_go(channel, CHANNEL_IDLE);
    }
}

static void on_ready(struct connection *connection, void *user)
{
    struct pubsub_link *link = user;
    struct pubsub_channel *channel, *next;

    (void) connection;
    link->ready = true;
    redis_count_ready(link->redis, &link->known);
    link->pinged_ms = clock_now_ms();
    tick_soon(link->redis);
    for (channel = TAILQ_FIRST(&link->channels); channel != NULL; channel = next) {
        next = TAILQ_NEXT(channel, peer);
        route(channel);
    }
}

static void link_lost(struct pubsub_link *link)
{
    link_reset(link);
    link->retry_ms =
        clock_now_ms() + random_backoff_ms(link->failures++, RETRY_MIN_MS, RETRY_MAX_MS);
    tick_soon(link->redis);
    topology_refresh(link->redis);
}

static void on_ended(struct connection *connection, smq_status status, const char *text, void *user)
{
    struct pubsub_link *link = user;

    (void) connection;
    (void) status;
    if (link->ready) {
        events_log(link->redis->events, SMQ_LEVEL_DEBUG, "subscriptions: %s", text);
    }
    link_lost(link);
}

static void link_connect(struct pubsub_link *link)
{
    struct redis *redis = link->redis;
    struct connection_options options = {.address = link->address,
                                         .user = redis->seeds.user,
                                         .password = redis->seeds.password,
                                         .connect_timeout_ms = redis->connect_timeout_ms,
                                         .events = redis->events,
                                         .ready = on_ready,
                                         .ended = on_ended,
                                         .pushed = on_pushed,
                                         .user_data = link};

    if (link->connection == NULL && clock_now_ms() >= link->retry_ms) {
        link->connection = connection_new(redis->loop, &options);
    } else if (link->connection == NULL) {
        tick_soon(redis);
    }
}

static void link_free(struct pubsub_link *link)
{
    struct connection *connection = link->connection;

    link_reset(link);
    connection_close(connection);
    HASH_DEL(link->redis->pubsub.links, link);
    free(link);
}

/* A ping now and then proves the connection; no answer in time disproves it.  Answers when to look
 * again. */
static int64_t check_alive(struct pubsub_link *link, int64_t now)
{
    int64_t patience_ms = link->redis->request_timeout_ms;

    if (STAILQ_EMPTY(&link->asked)) {
        if (now - link->pinged_ms >= PING_MS) {
            link->pinged_ms = now;
            ask(link, ASKED_PING, NULL);
            return now + patience_ms;
        }
        return link->pinged_ms + PING_MS;
    }
    int64_t heard_ms = connection_heard_ms(link->connection);
    int64_t since_ms = heard_ms > link->asked_ms ? heard_ms : link->asked_ms;
    if (now - since_ms < patience_ms) {
        return since_ms + patience_ms;
    }
    struct connection *connection = link->connection;
    events_log(link->redis->events, SMQ_LEVEL_DEBUG, "subscriptions: %s: it does not answer",
               link->name);
    link_lost(link);
    connection_close(connection);
    return now + RETRY_MS;
}

/* Answers when to look again. */
static int64_t tick_link(struct pubsub_link *link, int64_t now)
{
    if (TAILQ_EMPTY(&link->channels)) {
        link_free(link);
        return now + PING_MS;
    }
    if (link->ready) {
        return check_alive(link, now);
    }
    link_connect(link);
    return now + RETRY_MS;
}

static void route_idle(struct redis *redis)
{
    struct pubsub_channel *channel, *next;

    for (channel = TAILQ_FIRST(&redis->pubsub.idle); channel != NULL; channel = next) {
        next = TAILQ_NEXT(channel, idle); /* route() takes no other one out */
        route(channel);
    }
}

static void on_tick(uv_timer_t *timer)
{
    struct redis *redis = timer->data;
    struct pubsub_link *link, *next;
    int64_t now = clock_now_ms();
    int64_t again_ms = now + PING_MS;

    route_idle(redis);
    HASH_ITER(hh, redis->pubsub.links, link, next)
    {
        int64_t at_ms = tick_link(link, now);
        again_ms = at_ms < again_ms ? at_ms : again_ms;
    }
    if (!TAILQ_EMPTY(&redis->pubsub.idle) && again_ms > now + RETRY_MS) {
        again_ms = now + RETRY_MS;
    }
    if (redis->pubsub.links != NULL || redis->pubsub.channels != NULL) {
        uv_timer_start(timer, on_tick, (uint64_t) (again_ms > now ? again_ms - now : 1), 0);
    }
}

/* --- the subscriptions ----------------------------------------------------------------------- */

static struct pubsub_channel *get_channel(struct redis *redis, const char *name, uint16_t hash_slot)
{
    struct pubsub_channel *channel = find_channel(redis, name);

    if (channel == NULL) {
        channel = memory_new(sizeof(*channel));
        channel->redis = redis;
        channel->name = memory_string(name);
        channel->hash_slot = hash_slot;
        TAILQ_INIT(&channel->listeners);
        TAILQ_INSERT_TAIL(&redis->pubsub.idle, channel, idle);
        HASH_ADD_KEYPTR(hh, redis->pubsub.channels, channel->name, strlen(channel->name), channel);
    }
    return channel;
}

void redis_subscribe(struct redis *redis, struct redis_subscription *subscription)
{
    struct redis_subscription_state *listener;

    if (redis->closing) {
        subscription->state = NULL;
        return;
    }
    listener = memory_new(sizeof(*listener));
    listener->subscription = subscription;
    listener->channel = get_channel(redis, subscription->channel, subscription->hash_slot);
    TAILQ_INSERT_TAIL(&listener->channel->listeners, listener, peer);
    subscription->state = listener;
    if (listener->channel->state == CHANNEL_ON) {
        /* its confirmation is news to this listener, and does the others no harm */
        ask(listener->channel->link, ASKED_SUBSCRIBE, subscription->channel);
    } else {
        route(listener->channel);
    }
    tick_soon(redis);
}

void redis_unsubscribe(struct redis *redis, struct redis_subscription *subscription)
{
    struct redis_subscription_state *listener = subscription->state;

    (void) redis;
    if (listener == NULL) {
        return;
    }
    struct pubsub_channel *channel = listener->channel;
    subscription->state = NULL;
    if (channel->next == listener) {
        channel->next = TAILQ_NEXT(listener, peer);
    }
    TAILQ_REMOVE(&channel->listeners, listener, peer);
    free(listener);
    if (TAILQ_EMPTY(&channel->listeners)) {
        leave_link(channel);
        channel_free(channel);
    }
}

void pubsub_start(struct redis *redis)
{
    TAILQ_INIT(&redis->pubsub.idle);
    uv_timer_init(loop_uv(redis->loop), &redis->pubsub.timer);
    redis_adopt(redis, (uv_handle_t *) &redis->pubsub.timer);
}

static void channel_close(struct pubsub_channel *channel)
{
    struct redis_subscription_state *listener;

    while ((listener = TAILQ_FIRST(&channel->listeners)) != NULL) {
        TAILQ_REMOVE(&channel->listeners, listener, peer);
        listener->subscription->state = NULL;
        free(listener);
    }
    channel->next = NULL;
    channel_free(channel);
}

void pubsub_stop(struct redis *redis)
{
    struct pubsub_link *link, *next_link;
    struct pubsub_channel *channel, *next;

    uv_timer_stop(&redis->pubsub.timer);
    HASH_ITER(hh, redis->pubsub.links, link, next_link)
    {
        TAILQ_INIT(&link->channels); /* they go too */
        link_free(link);
    }
    HASH_ITER(hh, redis->pubsub.channels, channel, next)
    {
        channel_close(channel);
    }
}
