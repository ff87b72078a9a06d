/* pubsub.c - sharded subscriptions that are kept.
 *
 * In RESP2 replies and messages share the connection, and their first element tells them apart.  An
 * error does not have that element, so the commands in flight are kept in a queue: replies come in
 * its order.
 *
 * Thread: smq:io. */
#include "redis/pubsub.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/episode.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/random.h"
#include "redis/connection.h"
#include "redis/redirect.h"
#include "redis/reply.h"
#include "redis/slotmap.h"
#include "redis/states.h"

enum { RETRY_MS = 100, RETRY_MIN_MS = 20, RETRY_MAX_MS = 1000, FAILURES_MAX = 2 };
enum { PING_MS = 5000, PING_MOST_MS = 60000, PING_EACH_MS = 1000, PARTS = 256 };

/* One listener: the private side of a subscription. */
struct redis_subscription_state {
    struct redis_subscription *subscription;
    struct pubsub_channel *channel;
    TAILQ_ENTRY(redis_subscription_state) peer;
};

/* Invariants: a channel is in link->channels exactly when `link` is not NULL, and in pubsub->idle
 * exactly when IDLE.  ASKED and ON have a link that is ready.  It has listeners, else it is freed.
 * While listeners are notified, `next` is the next of them: each one may unsubscribe itself and
 * others. */
struct pubsub_channel {
    struct pubsub *pubsub;
    TAILQ_HEAD(, redis_subscription_state) listeners;
    struct redis_subscription_state *next;
    bool notifying;
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
struct pubsub_asked {
    enum asked_kind kind;
    char *channel;
    STAILQ_ENTRY(pubsub_asked) link;
};

/* The connection to one node. */
struct pubsub_link {
    struct pubsub *pubsub;
    struct server_address address;
    char name[SERVER_TEXT_MAX];
    struct connection *connection; /* NULL while down */
    struct connection *successor;  /* authenticates anew, and then takes its place; or NULL */
    bool ready, known;             /* known: it was ready before */
    bool refused;                  /* a refusal was logged; reset when it takes a subscription */
    uint64_t failures;             /* since it last took a subscription */
    struct episode trouble;
    int64_t retry_ms, pinged_ms;
    int early;        /* PARTS of the time until the next ping that are left out */
    int64_t asked_ms; /* when the oldest of `asked` was sent */
    TAILQ_HEAD(, pubsub_channel) channels;
    STAILQ_HEAD(, pubsub_asked) asked;
    UT_hash_handle hh;
};

/* --- time ------------------------------------------------------------------------------------ */

static void pubsub_on_tick(uv_timer_t *timer);

/* Check all links and idle channels again in RETRY_MS, or earlier. */
static void pubsub_tick_soon(struct pubsub *pubsub)
{
    uv_timer_t *timer = &pubsub->timer;

    if (pubsub->context->closing) {
        return;
    }
    if (!uv_is_active((uv_handle_t *) timer) || uv_timer_get_due_in(timer) > RETRY_MS) {
        uv_timer_start(timer, pubsub_on_tick, RETRY_MS, 0);
    }
}

/* --- commands -------------------------------------------------------------------------------- */

static void pubsub_ask(struct pubsub_link *link, enum asked_kind kind, const char *channel)
{
    static const char *const words[] = {"SSUBSCRIBE", "SUNSUBSCRIBE", "PING"};
    const char *argv[2] = {words[kind], channel};
    char *bytes = NULL;
    struct pubsub_asked *asked = memory_new(sizeof(*asked));
    long long len = redisFormatCommandArgv(&bytes, channel != NULL ? 2 : 1, argv, NULL);

    if (STAILQ_EMPTY(&link->asked)) {
        link->asked_ms = clock_now_ms();
        pubsub_tick_soon(link->pubsub);
    }
    asked->kind = kind;
    asked->channel = channel != NULL ? memory_string(channel) : NULL;
    STAILQ_INSERT_TAIL(&link->asked, asked, link);
    connection_push(link->connection, bytes, (size_t) len);
    redisFreeCommand(bytes);
}

/* The oldest command in flight, if there is one, has its reply. */
static void pubsub_drop_asked(struct pubsub_link *link)
{
    struct pubsub_asked *asked = STAILQ_FIRST(&link->asked);

    if (asked != NULL) {
        STAILQ_REMOVE_HEAD(&link->asked, link);
        free(asked->channel);
        free(asked);
    }
}

static struct pubsub_channel *pubsub_find_channel(struct pubsub *pubsub, const char *name)
{
    struct pubsub_channel *channel;

    HASH_FIND_STR(pubsub->channels, name, channel);
    return channel;
}

static void pubsub_channel_check(const struct pubsub_channel *channel)
{
    bool served = channel->state == CHANNEL_ASKED || channel->state == CHANNEL_ON;

    assert(!served || (channel->link != NULL && channel->link->ready));
    assert(!served || !TAILQ_EMPTY(&channel->listeners));
}

/* The one place where a state changes. */
static void pubsub_channel_enter(struct pubsub_channel *channel, enum channel_state state)
{
    assert(states_channel_may(channel->state, state));
    if (channel->state == CHANNEL_IDLE) {
        TAILQ_REMOVE(&channel->pubsub->idle, channel, idle);
    }
    if (state == CHANNEL_IDLE) {
        TAILQ_INSERT_TAIL(&channel->pubsub->idle, channel, idle);
    }
    channel->state = state;
    CHECK(pubsub_channel_check(channel));
}

/* --- routing --------------------------------------------------------------------------------- */

static void pubsub_link_connect(struct pubsub_link *link);

static struct pubsub_link *pubsub_get_link(struct pubsub *pubsub,
                                           const struct server_address *address)
{
    char name[SERVER_TEXT_MAX];
    struct pubsub_link *link;

    server_address_format(name, address);
    HASH_FIND_STR(pubsub->links, name, link);
    if (link == NULL) {
        link = memory_new(sizeof(*link));
        link->pubsub = pubsub;
        link->address = *address;
        memcpy(link->name, name, sizeof(name));
        TAILQ_INIT(&link->channels);
        STAILQ_INIT(&link->asked);
        HASH_ADD_STR(pubsub->links, name, link);
    }
    return link;
}

static void pubsub_leave_link(struct pubsub_channel *channel)
{
    struct pubsub_link *link = channel->link;

    if (link == NULL) {
        return;
    }
    if (link->ready && channel->state != CHANNEL_IDLE) {
        pubsub_ask(link, ASKED_UNSUBSCRIBE, channel->name);
    }
    TAILQ_REMOVE(&link->channels, channel, peer);
    channel->link = NULL;
    pubsub_channel_enter(channel, CHANNEL_IDLE);
    pubsub_tick_soon(channel->pubsub);
}

/* Subscribe on the node that serves the channel, as soon as it is known and connected. */
static void pubsub_route(struct pubsub_channel *channel)
{
    const struct server_address *address =
        slotmap_owner(&channel->pubsub->topology->map, channel->hash_slot);

    if (address == NULL) {
        topology_refresh(channel->pubsub->topology);
        pubsub_tick_soon(channel->pubsub);
        return;
    }
    struct pubsub_link *link = pubsub_get_link(channel->pubsub, address);
    if (channel->link != link) {
        pubsub_leave_link(channel);
        channel->link = link;
        TAILQ_INSERT_TAIL(&link->channels, channel, peer);
    }
    if (link->ready && channel->state == CHANNEL_IDLE) {
        pubsub_channel_enter(channel, CHANNEL_ASKED);
        pubsub_ask(link, ASKED_SUBSCRIBE, channel->name);
    } else if (!link->ready) {
        pubsub_link_connect(link);
    }
}

void pubsub_reroute(struct pubsub *pubsub)
{
    for (struct pubsub_channel *channel = pubsub->channels;
         channel != NULL && !pubsub->context->closing; channel = channel->hh.next) {
        pubsub_route(channel);
    }
}

/* --- replies --------------------------------------------------------------------------------- */

static void pubsub_channel_free(struct pubsub_channel *channel)
{
    pubsub_channel_enter(channel, CHANNEL_GONE);
    HASH_DEL(channel->pubsub->channels, channel);
    free(channel->name);
    if (!channel->notifying) {
        free(channel);
    }
}

/* Notify all listeners; `message` is the payload of a MESSAGE, the reply of a REFUSED, else NULL.
 * The channel may be freed when this returns. */
static void pubsub_notify(struct pubsub_channel *channel, enum redis_notice notice,
                          const redisReply *message)
{
    const char *data = message != NULL ? message->str : "";
    size_t len = message != NULL ? message->len : 0;
    struct redis_subscription_state *listener;

    channel->notifying = true;
    channel->next = TAILQ_FIRST(&channel->listeners);
    while ((listener = channel->next) != NULL) {
        channel->next = TAILQ_NEXT(listener, peer);
        listener->subscription->notice(notice, data, len, listener->subscription->user);
    }
    channel->notifying = false;
    if (channel->state == CHANNEL_GONE) {
        free(channel);
    }
}

static void pubsub_on_subscribed(struct pubsub_link *link, const char *name)
{
    struct pubsub_channel *channel = pubsub_find_channel(link->pubsub, name);

    pubsub_drop_asked(link);
    link->refused = false;
    link->failures = 0;
    episode_good(&link->trouble);
    if (channel != NULL && channel->link == link && channel->state != CHANNEL_IDLE) {
        pubsub_channel_enter(channel, CHANNEL_ON);
        pubsub_notify(channel, REDIS_NOTICE_SUBSCRIBED, NULL);
    }
}

/* Either this is the reply to SUNSUBSCRIBE, or the hash slot has left that node. */
static void pubsub_on_unsubscribed(struct pubsub_link *link, const char *name)
{
    struct pubsub_asked *asked = STAILQ_FIRST(&link->asked);
    struct pubsub_channel *channel = pubsub_find_channel(link->pubsub, name);

    if (asked != NULL && asked->kind == ASKED_UNSUBSCRIBE && strcmp(asked->channel, name) == 0) {
        pubsub_drop_asked(link);
        return;
    }
    if (channel != NULL && channel->link == link && channel->state == CHANNEL_ON) {
        pubsub_channel_enter(channel, CHANNEL_IDLE);
        topology_refresh(link->pubsub->topology);
        pubsub_route(channel); /* the node redirects the subscription, if it knows the new owner */
    }
}

/* SSUBSCRIBE was redirected: subscribe at the node that MOVED names. */
static void pubsub_follow(struct pubsub_channel *channel, const struct step *step)
{
    struct pubsub *pubsub = channel->pubsub;
    struct pubsub_link *link = channel->link;
    struct server_address to = step->to;

    if (to.host[0] == '\0') {
        memcpy(to.host, link->address.host, sizeof(to.host));
    }
    if (server_address_equal(&to, &link->address)) {
        connection_renew(link->connection); /* the address leads to another server now */
        return;
    }
    context_count_redirect(pubsub->context);
    slotmap_set(&pubsub->topology->map, channel->hash_slot, &to);
    pubsub_route(channel);
}

static void pubsub_log_refused(struct pubsub_link *link, const char *what, const char *channel,
                               const char *why)
{
    if (!link->refused) {
        link->refused = true;
        events_log(link->pubsub->context->events, SMQ_LEVEL_ERROR, "%s: cannot %s %s: %s",
                   link->name, what, channel, why);
    }
}

/* SSUBSCRIBE was refused: follow a MOVED, else try again later. */
static void pubsub_on_refused(struct pubsub_channel *channel, const redisReply *reply)
{
    struct step step = redirect_next(reply, false);

    pubsub_channel_enter(channel, CHANNEL_IDLE);
    pubsub_tick_soon(channel->pubsub);
    if (step.refresh) {
        topology_refresh(channel->pubsub->topology);
    }
    if (step.login) {
        connection_renew(channel->link->connection);
    }
    if (step.kind == STEP_MOVED && step.hash_slot == channel->hash_slot) {
        pubsub_follow(channel, &step);
        return;
    }
    if (step.kind != STEP_REFUSED) {
        return;
    }
    if (step.status == SMQ_DENIED) {
        pubsub_notify(channel, REDIS_NOTICE_REFUSED, reply);
    } else {
        pubsub_log_refused(channel->link, "subscribe to", channel->name, reply->str);
    }
}

static void pubsub_on_error(struct pubsub_link *link, const redisReply *reply)
{
    const struct pubsub_asked *asked = STAILQ_FIRST(&link->asked);
    struct pubsub_channel *channel = asked != NULL && asked->kind == ASKED_SUBSCRIBE
                                         ? pubsub_find_channel(link->pubsub, asked->channel)
                                         : NULL;

    if (asked != NULL && asked->kind == ASKED_UNSUBSCRIBE &&
        redirect_next(reply, false).status == SMQ_DENIED) {
        pubsub_log_refused(link, "unsubscribe from", asked->channel, reply->str);
    }
    pubsub_drop_asked(link);
    if (channel != NULL && channel->link == link && channel->state == CHANNEL_ASKED) {
        pubsub_on_refused(channel, reply);
    }
}

static void pubsub_on_pong(struct pubsub_link *link)
{
    struct pubsub_asked *asked = STAILQ_FIRST(&link->asked);

    if (asked != NULL && asked->kind == ASKED_PING) {
        pubsub_drop_asked(link);
    }
}

static void pubsub_on_message(struct pubsub_link *link, const char *name, const redisReply *reply)
{
    struct pubsub_channel *channel = pubsub_find_channel(link->pubsub, name);
    bool has_data = reply->elements > 2 && reply->element[2]->type == REDIS_REPLY_STRING;

    if (channel != NULL && channel->link == link) {
        pubsub_notify(channel, REDIS_NOTICE_MESSAGE, has_data ? reply->element[2] : NULL);
    }
}

static void pubsub_on_pushed(struct connection *connection, const redisReply *reply, void *user)
{
    struct pubsub_link *link = user;

    (void) connection;
    if (reply->type == REDIS_REPLY_ERROR) {
        pubsub_on_error(link, reply);
        return;
    }
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 2 ||
        reply->element[1]->type != REDIS_REPLY_STRING) {
        pubsub_on_pong(link); /* +PONG: nothing is subscribed */
        return;
    }
    const char *name = reply->element[1]->str;
    if (reply_is(reply->element[0], "smessage")) {
        pubsub_on_message(link, name, reply);
    } else if (reply_is(reply->element[0], "ssubscribe")) {
        pubsub_on_subscribed(link, name);
    } else if (reply_is(reply->element[0], "sunsubscribe")) {
        pubsub_on_unsubscribed(link, name);
    } else if (reply_is(reply->element[0], "pong")) {
        pubsub_on_pong(link);
    }
}

/* --- connections ----------------------------------------------------------------------------- */

static void pubsub_link_reset(struct pubsub_link *link)
{
    struct pubsub_channel *channel;

    connection_close(link->successor);
    link->successor = link->connection = NULL;
    link->ready = false;
    while (!STAILQ_EMPTY(&link->asked)) {
        pubsub_drop_asked(link);
    }
    TAILQ_FOREACH(channel, &link->channels, peer)
    {
        pubsub_channel_enter(channel, CHANNEL_IDLE);
    }
}

/* What was published in between is noticed when the channels are subscribed. */
static void pubsub_succeed(struct pubsub_link *link)
{
    struct connection *old = link->connection, *successor = link->successor;

    link->successor = NULL;
    pubsub_link_reset(link);
    link->connection = successor;
    connection_close(old);
}

static void pubsub_on_ready(struct connection *connection, void *user)
{
    struct pubsub_link *link = user;
    struct pubsub_channel *channel, *next;

    if (connection == link->successor) {
        pubsub_succeed(link);
    }
    link->ready = true;
    context_count_ready(link->pubsub->context, &link->known);
    link->pinged_ms = clock_now_ms();
    link->early = (int) (random_u64() % PARTS); /* those that start together ask apart */
    pubsub_tick_soon(link->pubsub);
    for (channel = TAILQ_FIRST(&link->channels); channel != NULL; channel = next) {
        next = TAILQ_NEXT(channel, peer);
        pubsub_route(channel);
    }
}

/* Worth a line that everybody sees: commands are answered, so that nothing else tells of it, and it
 * is not there again soon. */
static bool pubsub_is_trouble(const struct pubsub_link *link)
{
    const struct node *node = node_set_find(link->pubsub->topology->nodes, &link->address);

    return link->failures >= FAILURES_MAX && node != NULL && node->state == NODE_UP;
}

static void pubsub_log_lost(struct pubsub_link *link, const char *text)
{
    struct events *events = link->pubsub->context->events;

    if (pubsub_is_trouble(link) && episode_trouble(&link->trouble, clock_now_ms())) {
        events_log(events, SMQ_LEVEL_WARN,
                   "%s; without this connection, which is for subscriptions alone, consumers are "
                   "not woken and handle messages when they look by themselves; it is tried again",
                   text);
    } else {
        events_log(events, SMQ_LEVEL_DEBUG, "subscriptions: %s", text);
    }
}

static void pubsub_link_lost(struct pubsub_link *link, const char *text)
{
    pubsub_link_reset(link);
    pubsub_log_lost(link, text);
    link->retry_ms =
        clock_now_ms() + random_backoff_ms(link->failures++, RETRY_MIN_MS, RETRY_MAX_MS);
    pubsub_tick_soon(link->pubsub);
    topology_refresh(link->pubsub->topology);
}

static void pubsub_on_ended(struct connection *connection, smq_status status, const char *text,
                            void *user)
{
    struct pubsub_link *link = user;

    (void) status;
    if (connection == link->successor) {
        link->successor = NULL; /* the connection stays, and asks for another one */
        return;
    }
    pubsub_link_lost(link, text);
}

static void pubsub_on_renew(struct connection *connection, void *user);

static struct connection *pubsub_link_new_connection(struct pubsub_link *link)
{
    struct context *context = link->pubsub->context;
    const struct connection_options options = {.address = link->address,
                                               .credentials = &context->credentials,
                                               .tls = context->tls,
                                               .connect_timeout_ms = context->connect_timeout_ms,
                                               .events = context->events,
                                               .heard_ms = &context->heard_ms,
                                               .ready = pubsub_on_ready,
                                               .ended = pubsub_on_ended,
                                               .pushed = pubsub_on_pushed,
                                               .renew = pubsub_on_renew,
                                               .user_data = link};

    return connection_new(context->loop, &options);
}

/* A connection that has subscribed cannot authenticate again. */
static void pubsub_on_renew(struct connection *connection, void *user)
{
    struct pubsub_link *link = user;

    if (connection == link->connection && link->successor == NULL) {
        link->successor = pubsub_link_new_connection(link);
    }
}

static void pubsub_link_connect(struct pubsub_link *link)
{
    if (link->connection != NULL) {
        return;
    }
    if (clock_now_ms() < link->retry_ms) {
        pubsub_tick_soon(link->pubsub);
        return;
    }
    link->connection = pubsub_link_new_connection(link);
}

static void pubsub_link_free(struct pubsub_link *link)
{
    struct connection *connection = link->connection;

    pubsub_link_reset(link);
    connection_close(connection);
    HASH_DEL(link->pubsub->links, link);
    free(link);
}

int64_t pubsub_ping_ms(uint64_t peers)
{
    if (peers <= PING_MS / PING_EACH_MS) {
        return PING_MS;
    }
    return peers < PING_MOST_MS / PING_EACH_MS ? (int64_t) peers * PING_EACH_MS : PING_MOST_MS;
}

static int64_t pubsub_ping_at(const struct pubsub_link *link)
{
    const struct redis_subscription_state *listener;
    const struct pubsub_channel *channel;
    uint64_t fewest = UINT64_MAX;

    TAILQ_FOREACH(channel, &link->channels, peer)
    {
        TAILQ_FOREACH(listener, &channel->listeners, peer)
        {
            uint64_t peers = listener->subscription->peers;
            fewest = peers < fewest ? peers : fewest;
        }
        if (pubsub_ping_ms(fewest) == PING_MS) {
            break;
        }
    }
    return link->pinged_ms + pubsub_ping_ms(fewest) * (PARTS - link->early) / PARTS;
}

/* Send a ping from time to time, and close a connection on which no reply comes in time.  Returns
 * when to check again. */
static int64_t pubsub_check_alive(struct pubsub_link *link, int64_t now)
{
    const struct context *context = link->pubsub->context;
    int64_t patience_ms = context->request_timeout_ms;
    char text[SERVER_TEXT_MAX + 32];

    if (STAILQ_EMPTY(&link->asked)) {
        int64_t at_ms = pubsub_ping_at(link);

        if (now < at_ms) {
            return at_ms;
        }
        link->pinged_ms = now;
        link->early = 0;
        pubsub_ask(link, ASKED_PING, NULL);
        return now + patience_ms;
    }
    int64_t heard_ms = connection_heard_ms(link->connection);
    int64_t since_ms = heard_ms > link->asked_ms ? heard_ms : link->asked_ms;
    if (loop_polled_ms(context->loop) < since_ms + patience_ms) {
        return since_ms + patience_ms;
    }
    struct connection *connection = link->connection;
    (void) snprintf(text, sizeof(text), "%s: it does not answer", link->name);
    pubsub_link_lost(link, text);
    connection_close(connection);
    return now + RETRY_MS;
}

/* Returns when to check again. */
static int64_t pubsub_tick_link(struct pubsub_link *link, int64_t now)
{
    if (TAILQ_EMPTY(&link->channels)) {
        pubsub_link_free(link);
        return now + PING_MS;
    }
    if (link->ready) {
        return pubsub_check_alive(link, now);
    }
    pubsub_link_connect(link);
    return now + RETRY_MS;
}

static void pubsub_route_idle(struct pubsub *pubsub)
{
    struct pubsub_channel *channel, *next;

    for (channel = TAILQ_FIRST(&pubsub->idle); channel != NULL; channel = next) {
        next = TAILQ_NEXT(channel, idle); /* pubsub_route() removes no other one */
        pubsub_route(channel);
    }
}

static void pubsub_on_tick(uv_timer_t *timer)
{
    struct pubsub *pubsub = OWNER_OF(timer, struct pubsub, timer);
    struct pubsub_link *link, *next;
    int64_t now = clock_now_ms();
    int64_t again_ms = now + PING_MS;

    pubsub_route_idle(pubsub);
    HASH_ITER(hh, pubsub->links, link, next)
    {
        int64_t at_ms = pubsub_tick_link(link, now);
        again_ms = at_ms < again_ms ? at_ms : again_ms;
    }
    if (!TAILQ_EMPTY(&pubsub->idle) && again_ms > now + RETRY_MS) {
        again_ms = now + RETRY_MS;
    }
    if (pubsub->links != NULL || pubsub->channels != NULL) {
        uv_timer_start(timer, pubsub_on_tick, (uint64_t) (again_ms > now ? again_ms - now : 1), 0);
    }
}

/* --- the subscriptions ----------------------------------------------------------------------- */

static struct pubsub_channel *pubsub_get_channel(struct pubsub *pubsub, const char *name,
                                                 uint16_t hash_slot)
{
    struct pubsub_channel *channel = pubsub_find_channel(pubsub, name);

    if (channel == NULL) {
        channel = memory_new(sizeof(*channel));
        channel->pubsub = pubsub;
        channel->name = memory_string(name);
        channel->hash_slot = hash_slot;
        TAILQ_INIT(&channel->listeners);
        TAILQ_INSERT_TAIL(&pubsub->idle, channel, idle);
        HASH_ADD_KEYPTR(hh, pubsub->channels, channel->name, strlen(channel->name), channel);
    }
    return channel;
}

void pubsub_subscribe(struct pubsub *pubsub, struct redis_subscription *subscription)
{
    struct redis_subscription_state *listener;

    if (pubsub->context->closing) {
        subscription->state = NULL;
        return;
    }
    listener = memory_new(sizeof(*listener));
    listener->subscription = subscription;
    listener->channel = pubsub_get_channel(pubsub, subscription->channel, subscription->hash_slot);
    TAILQ_INSERT_TAIL(&listener->channel->listeners, listener, peer);
    subscription->state = listener;
    if (listener->channel->state == CHANNEL_ON) {
        /* this listener needs the confirmation; for the others it is harmless */
        pubsub_ask(listener->channel->link, ASKED_SUBSCRIBE, subscription->channel);
    } else {
        pubsub_route(listener->channel);
    }
    pubsub_tick_soon(pubsub);
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
        pubsub_leave_link(channel);
        pubsub_channel_free(channel);
    }
}

void pubsub_init(struct pubsub *pubsub, struct context *context, struct topology *topology)
{
    pubsub->context = context;
    pubsub->topology = topology;
    TAILQ_INIT(&pubsub->idle);
    context_init_timer(context, &pubsub->timer);
}

static void pubsub_channel_close(struct pubsub_channel *channel)
{
    struct redis_subscription_state *listener;

    while ((listener = TAILQ_FIRST(&channel->listeners)) != NULL) {
        TAILQ_REMOVE(&channel->listeners, listener, peer);
        listener->subscription->state = NULL;
        free(listener);
    }
    channel->next = NULL;
    pubsub_channel_free(channel);
}

void pubsub_stop(struct pubsub *pubsub)
{
    struct pubsub_link *link, *next_link;
    struct pubsub_channel *channel, *next;

    uv_timer_stop(&pubsub->timer);
    HASH_ITER(hh, pubsub->links, link, next_link)
    {
        TAILQ_INIT(&link->channels); /* they are freed below */
        pubsub_link_free(link);
    }
    HASH_ITER(hh, pubsub->channels, channel, next)
    {
        pubsub_channel_close(channel);
    }
}
