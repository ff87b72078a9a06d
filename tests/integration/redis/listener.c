/* listener.c - see listener.h. */
#include "listener.h"

#include <stdio.h>
#include <string.h>

#include "model/slot.h"
#include "support/wait.h"

enum { WAIT_MS = 30000 };

static void on_notice(enum redis_notice notice, const char *data, size_t len, void *user)
{
    struct listener *listener = user;

    (void) snprintf(listener->data, sizeof(listener->data), "%.*s", (int) len, data);
    atomic_fetch_add(
        notice == REDIS_NOTICE_SUBSCRIBED ? &listener->subscribed : &listener->messages, 1);
    if (listener->told != NULL) {
        listener->told(listener, notice);
    }
}

void listener_init(struct listener *listener, struct client *client, const char *channel)
{
    memset(listener, 0, sizeof(*listener));
    listener->client = client;
    (void) snprintf(listener->channel, sizeof(listener->channel), "%s", channel);
    listener->subscription.channel = listener->channel;
    listener->subscription.hash_slot = slot_hash(channel, strlen(channel));
    listener->subscription.notice = on_notice;
    listener->subscription.user = listener;
}

static void subscribe(void *arg)
{
    struct listener *listener = arg;

    redis_subscribe(listener->client->redis, &listener->subscription);
}

static void unsubscribe(void *arg)
{
    struct listener *listener = arg;

    redis_unsubscribe(listener->client->redis, &listener->subscription);
}

void listener_start(struct listener *listener)
{
    client_call(listener->client, subscribe, listener);
}

void listener_stop(struct listener *listener)
{
    client_call(listener->client, unsubscribe, listener);
}

void listener_new(struct listener *listener, struct client *client, const char *channel)
{
    listener_init(listener, client, channel);
    listener_start(listener);
}

struct awaited {
    atomic_int *counter;
    int count;
};

static bool has_come(void *arg)
{
    const struct awaited *awaited = arg;

    return atomic_load(awaited->counter) >= awaited->count;
}

bool listener_wait_subscribed(struct listener *listener, int count)
{
    struct awaited awaited = {.counter = &listener->subscribed, .count = count};

    return wait_until(has_come, &awaited, WAIT_MS);
}

bool listener_wait_messages(struct listener *listener, int count)
{
    struct awaited awaited = {.counter = &listener->messages, .count = count};

    return wait_until(has_come, &awaited, WAIT_MS);
}
