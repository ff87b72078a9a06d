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
#include "listener.h"
#include "model/slot.h"
#include "support/servers.h"
#include "support/wait.h"

enum { TIMEOUT_MS = 3000, CHANNELS = 100, MANY = 65536, DEADLINE_MS = 30000 };

static struct servers *servers;

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
    assert_true(listener_wait_messages(listener, 1));
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
        listener_new(&listeners[i], &client, channel);
    }
    for (int i = 0; i < CHANNELS; i++) {
        assert_true(listener_wait_subscribed(&listeners[i], 1));
        assert_hears(&listeners[i]);
        assert_int_equal(atomic_load(&listeners[i].subscribed), 1);
    }
    for (int i = 0; i < CHANNELS; i++) {
        const char *words[] = {"SPUBLISH", listeners[i].channel, "x", NULL};
        listener_stop(&listeners[i]);
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
    listener_new(&listener, &client, "wake{cut}");
    assert_true(listener_wait_subscribed(&listener, 1));
    for (size_t i = 0; i < servers_count(servers); i++) {
        tell(servers_node(servers, i), "CLIENT KILL TYPE pubsub");
    }
    assert_true(listener_wait_subscribed(&listener, 2));
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
    listener_new(&listener, &client, channel);
    assert_true(listener_wait_subscribed(&listener, 1));
    redisContext *context = dial(to);
    redisReply *reply = redisCommand(context, "CLUSTER MYID");
    (void) snprintf(id, sizeof(id), "%s", reply->str);
    freeReplyObject(reply);
    redisFree(context);
    for (size_t i = 0; i < servers_count(servers); i++) {
        tell(servers_node(servers, i), "CLUSTER SETSLOT %d NODE %s",
             slot_hash(channel, strlen(channel)), id);
    }
    assert_true(listener_wait_subscribed(&listener, 2));
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
    listener_new(&listener, &client, "wake{restarted}");
    assert_true(listener_wait_subscribed(&listener, 1));
    server_kill(node);
    assert_true(server_restart(node));
    assert_true(listener_wait_subscribed(&listener, 2));
    assert_hears(&listener);
    client_stop(&client);
    assert_true(servers_wait(servers, DEADLINE_MS));
}

static void subscribe_all(void *arg)
{
    struct listener *listeners = arg;

    for (int i = 0; i < MANY; i++) {
        redis_subscribe(listeners[i].client->redis, &listeners[i].subscription);
    }
}

static void unsubscribe_all(void *arg)
{
    struct listener *listeners = arg;

    for (int i = 0; i < MANY; i++) {
        redis_unsubscribe(listeners[i].client->redis, &listeners[i].subscription);
    }
}

/* As many slots as a topic can have, on a server without cluster mode. */
static void test_a_single_server_takes_many(void **state)
{
    struct servers_options options = {.redis = REDIS_SINGLE};
    struct servers *single = servers_start(&options);
    struct listener *listeners = calloc(MANY, sizeof(*listeners));
    struct client client;

    (void) state;
    client_start(&client, servers_redis(single), TIMEOUT_MS);
    assert_int_equal(client.ready, SMQ_OK);
    for (int i = 0; i < MANY; i++) {
        char channel[64];
        (void) snprintf(channel, sizeof(channel), "wake{many_%d}", i);
        listener_init(&listeners[i], &client, channel);
    }
    client_call(&client, subscribe_all, listeners);
    for (int i = 0; i < MANY; i++) {
        assert_true(listener_wait_subscribed(&listeners[i], 1));
    }
    assert_hears(&listeners[0]);
    assert_hears(&listeners[MANY - 1]);
    tell(servers_node(single, 0), "CLIENT KILL TYPE pubsub");
    for (int i = 0; i < MANY; i++) {
        assert_true(listener_wait_subscribed(&listeners[i], 2));
    }
    client_call(&client, unsubscribe_all, listeners);
    client_stop(&client);
    free(listeners);
    servers_free(single);
}

static int start(void **state)
{
    struct servers_options options = {
        .redis = REDIS_CLUSTER, .masters = 3, .node_timeout_ms = 2000};

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
        cmocka_unit_test(test_a_single_server_takes_many),
    };

    return cmocka_run_group_tests_name("redis subscriptions", tests, start, stop);
}
