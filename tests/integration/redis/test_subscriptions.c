/* test_subscriptions.c - subscriptions of a real cluster, kept while it changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <hiredis/hiredis.h>

#include "client.h"
#include "model/slot.h"
#include "support/servers.h"
#include "support/wait.h"

enum { TIMEOUT_MS = 3000, CHANNELS = 100, DEADLINE_MS = 30000 };

static struct servers *servers;

/* A subscription, and how often it was told what. */
struct listener {
    struct redis_subscription subscription;
    struct client *client;
    char channel[64];
    atomic_int subscribed, messages;
};

static void on_notice(enum redis_notice notice, void *user)
{
    struct listener *listener = user;

    atomic_fetch_add(
        notice == REDIS_NOTICE_SUBSCRIBED ? &listener->subscribed : &listener->messages, 1);
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

static void listen_to(struct listener *listener, struct client *client, const char *channel)
{
    memset(listener, 0, sizeof(*listener));
    listener->client = client;
    (void) snprintf(listener->channel, sizeof(listener->channel), "%s", channel);
    listener->subscription.channel = listener->channel;
    listener->subscription.hash_slot = slot_hash(channel, strlen(channel));
    listener->subscription.notice = on_notice;
    listener->subscription.user = listener;
    client_call(client, subscribe, listener);
}

static bool is_subscribed(void *arg)
{
    return atomic_load(&((struct listener *) arg)->subscribed) > 0;
}

static bool is_subscribed_again(void *arg)
{
    return atomic_load(&((struct listener *) arg)->subscribed) > 1;
}

static bool has_message(void *arg)
{
    return atomic_load(&((struct listener *) arg)->messages) > 0;
}

/* Publish until somebody hears it. */
struct publishing {
    struct client *client;
    const char *channel;
};

static bool was_heard(void *arg)
{
    struct publishing *publishing = arg;
    const char *words[] = {"SPUBLISH", publishing->channel, "x", NULL};

    return strcmp(client_run(publishing->client, publishing->channel, words).text, "1") == 0;
}

static void assert_hears(struct listener *listener)
{
    struct publishing publishing = {.client = listener->client, .channel = listener->channel};

    assert_true(wait_until(was_heard, &publishing, DEADLINE_MS));
    assert_true(wait_until(has_message, listener, DEADLINE_MS));
}

static void test_messages_arrive_from_every_node(void **state)
{
    struct listener *listeners = calloc(CHANNELS, sizeof(*listeners));
    struct client client;

    (void) state;
    client_start(&client, servers_redis(servers), TIMEOUT_MS);
    for (int i = 0; i < CHANNELS; i++) {
        char channel[64];
        (void) snprintf(channel, sizeof(channel), "wake{c_%d}", i);
        listen_to(&listeners[i], &client, channel);
    }
    for (int i = 0; i < CHANNELS; i++) {
        assert_true(wait_until(is_subscribed, &listeners[i], DEADLINE_MS));
        assert_hears(&listeners[i]);
        assert_int_equal(atomic_load(&listeners[i].subscribed), 1);
    }
    for (int i = 0; i < CHANNELS; i++) {
        const char *words[] = {"SPUBLISH", listeners[i].channel, "x", NULL};
        client_call(&client, unsubscribe, &listeners[i]);
        (void) client_run(&client, listeners[i].channel, words);
    }
    client_stop(&client);
    free(listeners);
}

static redisContext *dial(const struct server *server)
{
    redisContext *context = redisConnect("127.0.0.1", server_port(server));

    assert_non_null(context);
    assert_int_equal(context->err, 0);
    return context;
}

static void tell(const struct server *server, const char *format, ...)
{
    redisContext *context = dial(server);
    va_list args;

    va_start(args, format);
    redisReply *reply = redisvCommand(context, format, args);
    va_end(args);
    assert_non_null(reply);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
    redisFree(context);
}

static void test_a_cut_connection_is_subscribed_again(void **state)
{
    struct listener listener;
    struct client client;

    (void) state;
    client_start(&client, servers_redis(servers), TIMEOUT_MS);
    listen_to(&listener, &client, "wake{cut}");
    assert_true(wait_until(is_subscribed, &listener, DEADLINE_MS));
    for (size_t i = 0; i < servers_count(servers); i++) {
        tell(servers_node(servers, i), "CLIENT KILL TYPE pubsub");
    }
    assert_true(wait_until(is_subscribed_again, &listener, DEADLINE_MS));
    assert_hears(&listener);
    client_stop(&client);
}

static void test_a_moved_hash_slot_is_followed(void **state)
{
    struct listener listener;
    struct client client;
    char id[64];
    const char *channel = "wake{moved}";
    struct server *from = servers_node_of(servers, channel);
    struct server *to = servers_node(servers, from == servers_node(servers, 0) ? 1 : 0);

    (void) state;
    client_start(&client, servers_redis(servers), TIMEOUT_MS);
    listen_to(&listener, &client, channel);
    assert_true(wait_until(is_subscribed, &listener, DEADLINE_MS));
    redisContext *context = dial(to);
    redisReply *reply = redisCommand(context, "CLUSTER MYID");
    (void) snprintf(id, sizeof(id), "%s", reply->str);
    freeReplyObject(reply);
    redisFree(context);
    for (size_t i = 0; i < servers_count(servers); i++) {
        tell(servers_node(servers, i), "CLUSTER SETSLOT %d NODE %s",
             slot_hash(channel, strlen(channel)), id);
    }
    assert_true(wait_until(is_subscribed_again, &listener, DEADLINE_MS));
    assert_hears(&listener);
    client_stop(&client);
}

static void test_a_restarted_node_is_subscribed_again(void **state)
{
    struct listener listener;
    struct client client;
    struct server *node = servers_node_of(servers, "wake{restarted}");

    (void) state;
    client_start(&client, servers_redis(servers), TIMEOUT_MS);
    listen_to(&listener, &client, "wake{restarted}");
    assert_true(wait_until(is_subscribed, &listener, DEADLINE_MS));
    server_kill(node);
    assert_true(server_restart(node));
    assert_true(wait_until(is_subscribed_again, &listener, DEADLINE_MS));
    assert_hears(&listener);
    client_stop(&client);
    assert_true(servers_wait(servers, DEADLINE_MS));
}

static int start(void **state)
{
    struct servers_options options = {.redis = REDIS_CLUSTER, .masters = 3};

    (void) state;
    servers = servers_start(&options);
    return servers == NULL ? -1 : 0;
}

static int stop(void **state)
{
    (void) state;
    servers_free(servers);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_arrive_from_every_node),
        cmocka_unit_test(test_a_cut_connection_is_subscribed_again),
        cmocka_unit_test(test_a_moved_hash_slot_is_followed),
        cmocka_unit_test(test_a_restarted_node_is_subscribed_again),
    };

    return cmocka_run_group_tests_name("redis subscriptions", tests, start, stop);
}
