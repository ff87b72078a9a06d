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
#include "redis/internal.h"
#include "redis/reply.h"

enum { TICK_MS = 250, PING_MS = 5000, RETRY_MS = 250 };

/* IDLE: wants to be subscribed, when its node can take it.  ASKED: SSUBSCRIBE is on its way.  ON:
 * confirmed. */
enum channel_state { CHANNEL_IDLE, CHANNEL_ASKED, CHANNEL_ON };

/* The private side of a subscription.  `subscription` NULL: given up, gone with the next reply
 * about it. Invariant: in link->channels exactly when link is not NULL. */
struct pubsub_channel {
    struct redis *redis;
    struct redis_subscription *subscription;
    char *name;
    int32_t hash_slot;
    enum channel_state state;
    struct pubsub_link *link;
    TAILQ_ENTRY(pubsub_channel) peer;
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
    bool ready;
    int64_t retry_ms, pinged_ms;
    TAILQ_HEAD(, pubsub_channel) channels;
    STAILQ_HEAD(, asked) asked;
    UT_hash_handle hh;
};

/* --- commands -------------------------------------------------------------------------------- */

static void ask(struct pubsub_link *link, enum asked_kind kind, const char *channel)
{
    static const char *const words[] = {"SSUBSCRIBE", "SUNSUBSCRIBE", "PING"};
    const char *argv[2] = {words[kind], channel};
    char *bytes = NULL;
    struct asked *asked = memory_new(sizeof(*asked));
    long long len = redisFormatCommandArgv(&bytes, channel != NULL ? 2 : 1, argv, NULL);

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
    channel->state = CHANNEL_IDLE;
}

/* Subscribe on the node that serves the channel, as soon as it is known and there. */
static void route(struct pubsub_channel *channel)
{
    const struct server_address *address = slotmap_owner(&channel->redis->map, channel->hash_slot);

    if (address == NULL) {
        topology_refresh(channel->redis);
        return;
    }
    struct pubsub_link *link = get_link(channel->redis, address);
    if (channel->link != link) {
        leave_link(channel);
        channel->link = link;
        TAILQ_INSERT_TAIL(&link->channels, channel, peer);
    }
    if (link->ready && channel->state == CHANNEL_IDLE) {
        channel->state = CHANNEL_ASKED;
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

static void notify(const struct pubsub_channel *channel, enum redis_notice notice)
{
    channel->subscription->notice(notice, channel->subscription->user);
}

static void on_subscribed(struct pubsub_link *link, const char *name)
{
    struct asked *asked = take_asked(link);
    struct pubsub_channel *channel = find_channel(link->redis, name);

    if (asked != NULL) {
        asked_free(asked);
    }
    if (channel != NULL && channel->link == link && channel->state == CHANNEL_ASKED) {
        channel->state = CHANNEL_ON;
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
        channel->state = CHANNEL_IDLE;
        topology_refresh(link->redis);
    }
}

static void on_error(struct pubsub_link *link, const redisReply *reply)
{
    struct asked *asked = take_asked(link);
    struct step step = redirect_next(reply);
    struct pubsub_channel *channel = asked != NULL && asked->kind == ASKED_SUBSCRIBE
                                         ? find_channel(link->redis, asked->channel)
                                         : NULL;

    if (channel != NULL && channel->link == link && channel->state == CHANNEL_ASKED) {
        channel->state = CHANNEL_IDLE; /* tried again at the next tick, or where MOVED says */
        if (step.kind == STEP_MOVED) {
            if (step.to.host[0] == '\0') {
                memcpy(step.to.host, link->address.host, sizeof(step.to.host));
            }
            slotmap_set(&link->redis->map, channel->hash_slot, &step.to);
            topology_refresh(link->redis);
            route(channel);
        } else if (step.kind == STEP_REFUSED) {
            events_log(link->redis->events, SMQ_LEVEL_ERROR, "%s: cannot subscribe to %s: %s",
                       link->name, channel->name, reply->str);
        }
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
        const struct pubsub_channel *channel = find_channel(link->redis, name);
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
        channel->state = CHANNEL_IDLE;
    }
}

static void on_ready(struct connection *connection, void *user)
{
    struct pubsub_link *link = user;
    struct pubsub_channel *channel, *next;

    (void) connection;
    link->ready = true;
    link->pinged_ms = clock_now_ms();
    for (channel = TAILQ_FIRST(&link->channels); channel != NULL; channel = next) {
        next = TAILQ_NEXT(channel, peer);
        route(channel);
    }
}

static void on_ended(struct connection *connection, smq_status status, const char *text, void *user)
{
    struct pubsub_link *link = user;

    (void) connection;
    if (link->ready) {
        events_emit(link->redis->events, SMQ_EVENT_DISCONNECTED,
                    &(smq_event){.status = status, .slot = -1}, "subscriptions: %s", text);
    }
    link_reset(link);
    link->retry_ms = clock_now_ms() + RETRY_MS;
    topology_refresh(link->redis);
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

/* A ping now and then proves the connection; no answer in time disproves it. */
static void check_alive(struct pubsub_link *link, int64_t now)
{
    struct asked *asked = STAILQ_FIRST(&link->asked);

    if (asked != NULL && connection_heard_ms(link->connection) < link->pinged_ms &&
        now - link->pinged_ms > link->redis->request_timeout_ms) {
        struct connection *connection = link->connection;
        link_reset(link);
        connection_close(connection);
        events_emit(link->redis->events, SMQ_EVENT_DISCONNECTED, NULL,
                    "subscriptions: %s: it does not answer", link->name);
        topology_refresh(link->redis);
    } else if (now - link->pinged_ms >= PING_MS) {
        link->pinged_ms = now;
        ask(link, ASKED_PING, NULL);
    }
}

static void on_tick(uv_timer_t *timer)
{
    struct redis *redis = timer->data;
    struct pubsub_link *link, *next;
    int64_t now = clock_now_ms();

    HASH_ITER(hh, redis->pubsub.links, link, next)
    {
        if (TAILQ_EMPTY(&link->channels)) {
            link_free(link);
        } else if (link->ready) {
            check_alive(link, now);
        } else {
            link_connect(link);
        }
    }
    for (struct pubsub_channel *channel = redis->pubsub.channels; channel != NULL;
         channel = channel->hh.next) {
        if (channel->state == CHANNEL_IDLE) {
            route(channel);
        }
    }
    if (redis->pubsub.channels == NULL && redis->pubsub.links == NULL) {
        uv_timer_stop(timer);
    }
}

/* --- the subscriptions ----------------------------------------------------------------------- */

void redis_subscribe(struct redis *redis, struct redis_subscription *subscription)
{
    struct pubsub_channel *channel = memory_new(sizeof(*channel));

    assert(find_channel(redis, subscription->channel) == NULL);
    channel->redis = redis;
    channel->subscription = subscription;
    channel->name = memory_string(subscription->channel);
    channel->hash_slot = subscription->hash_slot;
    HASH_ADD_KEYPTR(hh, redis->pubsub.channels, channel->name, strlen(channel->name), channel);
    subscription->state = (struct redis_subscription_state *) channel;
    if (redis->closing) {
        return;
    }
    if (!uv_is_active((uv_handle_t *) &redis->pubsub.timer)) {
        uv_timer_start(&redis->pubsub.timer, on_tick, TICK_MS, TICK_MS);
    }
    route(channel);
}

void redis_unsubscribe(struct redis *redis, struct redis_subscription *subscription)
{
    struct pubsub_channel *channel = (struct pubsub_channel *) subscription->state;

    if (channel == NULL) {
        return;
    }
    leave_link(channel);
    HASH_DEL(redis->pubsub.channels, channel);
    free(channel->name);
    free(channel);
    subscription->state = NULL;
}

void pubsub_start(struct redis *redis)
{
    uv_timer_init(loop_uv(redis->loop), &redis->pubsub.timer);
    redis_adopt(redis, (uv_handle_t *) &redis->pubsub.timer);
}

void pubsub_stop(struct redis *redis)
{
    struct pubsub_link *link, *next_link;
    struct pubsub_channel *channel, *next;

    uv_timer_stop(&redis->pubsub.timer);
    HASH_ITER(hh, redis->pubsub.channels, channel, next)
    {
        channel->link = NULL; /* the links go with all they have */
        channel->subscription->state = NULL;
        HASH_DEL(redis->pubsub.channels, channel);
        free(channel->name);
        free(channel);
    }
    HASH_ITER(hh, redis->pubsub.links, link, next_link)
    {
        TAILQ_INIT(&link->channels);
        link_free(link);
    }
}
