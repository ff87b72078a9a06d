/* test_push.c - sends that claim for an owner that sleeps, on masters with one replica each: what
 * is published reaches subscribers of both. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"

enum { MASTERS = 3 };

static int start(void **state)
{
    struct servers_options options = {.redis = REDIS_CLUSTER, .masters = MASTERS, .replicas = 1};

    return cluster_start(&options);
}

/* A topic of one slot whose owner sleeps, open for pushes, and what listens on its channel. */
struct asleep {
    smq_client *client;
    const char *topic;
    char store[64];
    redisContext *master, *replica; /* NULL: does not listen */
};

static redisContext *listening(const struct server *server, const char *topic)
{
    redisContext *context = redisConnect("127.0.0.1", server_port(server));
    redisReply *reply;

    assert_non_null(context);
    assert_int_equal(context->err, 0);
    reply = redisCommand(context, "SSUBSCRIBE wake{%s_0}", topic);
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    freeReplyObject(reply);
    return context;
}

static struct server *node_of(const struct asleep *asleep, bool replica)
{
    struct server *master = servers_node_of(cluster_servers(), asleep->store);
    size_t number = 0;

    while (servers_node(cluster_servers(), number) != master) {
        number++;
        assert_true(number < MASTERS);
    }
    return servers_node(cluster_servers(), replica ? MASTERS + number : number);
}

static void asleep_init(struct asleep *asleep, bool master, bool replica)
{
    memset(asleep, 0, sizeof(*asleep));
    asleep->client = cluster_client();
    asleep->topic = cluster_typed_topic(asleep->client, SMQ_TYPE_FIXED_TIME, 1);
    snprintf(asleep->store, sizeof(asleep->store), "%s_0", asleep->topic);
    freeReplyObject(keys_command(asleep->store,
                                 "HSET slot{%s} token 000000010000000000000001 parked "
                                 "9007199254740992/30000",
                                 asleep->store));
    if (master) {
        asleep->master = listening(node_of(asleep, false), asleep->topic);
    }
    if (replica) {
        asleep->replica = listening(node_of(asleep, true), asleep->topic);
    }
}

static void asleep_fini(struct asleep *asleep)
{
    if (asleep->master != NULL) {
        redisFree(asleep->master);
    }
    if (asleep->replica != NULL) {
        redisFree(asleep->replica);
    }
    smq_client_free(asleep->client);
}

static size_t heard(redisContext *context)
{
    void *data = NULL;
    redisReply *reply;
    size_t len;

    assert_int_equal(redisGetReply(context, &data), REDIS_OK);
    reply = data;
    assert_int_equal(reply->elements, 3);
    assert_string_equal(reply->element[0]->str, "smessage");
    len = reply->element[2]->len;
    freeReplyObject(reply);
    return len;
}

static int64_t count_in(const struct asleep *asleep, const char *format)
{
    return keys_number(asleep->store, format, asleep->store) - 1;
}

static void what_is_pushed_is_claimed_and_reaches_both(void **state)
{
    struct asleep asleep;

    asleep_init(&asleep, true, true);
    assert_false(messages_send(asleep.client, asleep.topic, (struct test_message){.body = "one"}));
    assert_true(heard(asleep.master) > 0);
    assert_true(heard(asleep.replica) > 0);
    assert_int_equal(count_in(&asleep, "ZCARD %s"), 0);
    assert_int_equal(count_in(&asleep, "ZCARD prepare{%s}"), 1);
    asleep_fini(&asleep);
}

/* Its owner was subscribed when that node was the master. */
static void who_listens_at_a_replica_alone_is_only_woken(void **state)
{
    struct asleep asleep;

    asleep_init(&asleep, false, true);
    assert_false(messages_send(asleep.client, asleep.topic, (struct test_message){.body = "one"}));
    assert_int_equal(heard(asleep.replica), 0);
    assert_int_equal(count_in(&asleep, "ZCARD %s"), 1);
    assert_int_equal(count_in(&asleep, "ZCARD prepare{%s}"), 0);
    asleep_fini(&asleep);
}

TEST_GROUP(push)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_pushed_is_claimed_and_reaches_both),
        cmocka_unit_test(who_listens_at_a_replica_alone_is_only_woken),
    };

    return cmocka_run_group_tests(tests, start, cluster_end);
}
