/* test_subscriptions.c - subscriptions of a real cluster, kept while it changes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "client.h"
#include "listener.h"
#include "model/slot.h"
#include "real_cluster.h"
#include "support/group.h"
#include "support/servers.h"
#include "support/wait.h"

enum { TIMEOUT_MS = 3000, CHANNELS = 100, MANY = 65536, DEADLINE_MS = 30000 };

/* Publish until a subscriber gets it. */
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

    client_start(&client, servers_redis(real_cluster), TIMEOUT_MS);
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

static void test_a_cut_connection_is_subscribed_again(void **state)
{
    struct listener listener;
    struct client client;

    client_start(&client, servers_redis(real_cluster), TIMEOUT_MS);
    listener_new(&listener, &client, "wake{cut}");
    assert_true(listener_wait_subscribed(&listener, 1));
    for (size_t i = 0; i < servers_count(real_cluster); i++) {
        real_cluster_tell(servers_node(real_cluster, i), "CLIENT KILL TYPE pubsub");
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
    struct server *from = servers_node_of(real_cluster, channel);
    struct server *to = servers_node(real_cluster, from == servers_node(real_cluster, 0) ? 1 : 0);

    client_start(&client, servers_redis(real_cluster), TIMEOUT_MS);
    listener_new(&listener, &client, channel);
    assert_true(listener_wait_subscribed(&listener, 1));
    redisContext *context = real_cluster_connect(to);
    redisReply *reply = redisCommand(context, "CLUSTER MYID");
    (void) snprintf(id, sizeof(id), "%s", reply->str);
    freeReplyObject(reply);
    redisFree(context);
    for (size_t i = 0; i < servers_count(real_cluster); i++) {
        real_cluster_tell(servers_node(real_cluster, i), "CLUSTER SETSLOT %d NODE %s",
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
    struct server *node = servers_node_of(real_cluster, "wake{restarted}");

    client_start(&client, servers_redis(real_cluster), TIMEOUT_MS);
    listener_new(&listener, &client, "wake{restarted}");
    assert_true(listener_wait_subscribed(&listener, 1));
    server_kill(node);
    assert_true(server_restart(node));
    assert_true(listener_wait_subscribed(&listener, 2));
    assert_hears(&listener);
    client_stop(&client);
    assert_true(servers_wait(real_cluster, DEADLINE_MS));
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
    real_cluster_tell(servers_node(single, 0), "CLIENT KILL TYPE pubsub");
    for (int i = 0; i < MANY; i++) {
        assert_true(listener_wait_subscribed(&listeners[i], 2));
    }
    client_call(&client, unsubscribe_all, listeners);
    client_stop(&client);
    free(listeners);
    servers_free(single);
}

TEST_GROUP(subscriptions)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_arrive_from_every_node),
        cmocka_unit_test(test_a_cut_connection_is_subscribed_again),
        cmocka_unit_test(test_a_moved_hash_slot_is_followed),
        cmocka_unit_test(test_a_restarted_node_is_subscribed_again),
        cmocka_unit_test(test_a_single_server_takes_many),
    };

    return cmocka_run_group_tests_name("redis subscriptions", tests, real_cluster_start,
                                       real_cluster_stop);
}
