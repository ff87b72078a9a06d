/* test_keyed_lost_replies.c - lost replies in layout keyed: repeats of sends, and claims handed
 * over again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/proxy.h"
#include "support/wait.h"

/* A client behind a proxy, and one that is not. */
struct wire {
    smq_client *direct, *behind;
    struct proxy *proxy;
    redisContext *redis;
    const char *topic;
};

static void wire_init(struct wire *wire)
{
    smq_topic_options topic =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .layout = SMQ_LAYOUT_KEYED);
    *wire = (struct wire){.direct = cluster_client(), .redis = keys_connect()};
    wire->topic = cluster_topic(wire->direct, &topic);
    wire->proxy = proxy_start(server_port(servers_node(cluster_servers(), 0)));
    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.redis = proxy_address(wire->proxy), .request_timeout_ms = 60000);
    wire->behind = cluster_client_with(&options);
}

static void wire_fini(struct wire *wire)
{
    smq_client_free(wire->behind);
    proxy_stop(wire->proxy);
    redisFree(wire->redis);
    smq_client_free(wire->direct);
}

static bool has_kept(void *arg)
{
    const struct wire *wire = arg;

    return proxy_has_kept(wire->proxy);
}

static smq_receipt last;

static void on_sent(const smq_receipt *receipt, void *user)
{
    (void) user;
    last = *receipt;
}

static smq_metrics metrics_of(smq_client *client)
{
    smq_metrics metrics = SMQ_METRICS_INIT;
    smq_error err;

    assert_ok(smq_client_metrics(client, &metrics, &err), &err);
    return metrics;
}

static smq_message message_of(const char *body)
{
    smq_message message = SMQ_MESSAGE(.body = smq_text(body));
    return message;
}

/* The id that the library made stays the message's, so that its repeat adds no other one; and what
 * waits under it is known to be the first try. */
static void repeated_send_has_the_same_id(void **state)
{
    smq_message message = message_of("first");
    smq_producer *producer = NULL;
    smq_error err = SMQ_ERROR_INIT;
    struct wire wire;

    wire_init(&wire);
    smq_producer_options options = SMQ_PRODUCER_OPTIONS(.send_timeout_ms = TIMEOUT_MS);
    assert_ok(smq_producer_new(&producer, wire.behind, &options, &err), &err);
    assert_ok(smq_send(producer, wire.topic, &message, NULL, &err), &err);
    proxy_hold(wire.proxy);
    message = message_of("second");
    assert_ok(smq_send_async(producer, wire.topic, &message, on_sent, NULL, &err), &err);
    messages_await_counts(wire.direct, wire.topic,
                          (struct message_counts){.waiting = 2, .dead = 0, .done = 0});
    assert_true(wait_until(has_kept, &wire, TIMEOUT_MS));
    proxy_cut(wire.proxy);
    assert_ok(smq_producer_flush(producer, TIMEOUT_MS, &err), &err);
    assert_int_equal(last.status, SMQ_OK);
    assert_false(last.merged);
    assert_int_equal(metrics_of(wire.behind).sent, 2);
    assert_int_equal(metrics_of(wire.behind).merged, 0);
    assert_int_equal(messages_stats(wire.direct, wire.topic).waiting, 2);
    assert_int_equal(messages_stats(wire.direct, wire.topic).merged, 0);
    assert_true(keys_read_number(wire.redis, "ZSCORE %s_0 %s", wire.topic, last.id) > 0);
    smq_producer_free(producer);
    wire_fini(&wire);
}

enum { MANY = 5000 };

struct tally {
    int ok, merged;
};

/* Thread: smq:call; the test reads it after a flush. */
static void tally_sent(const smq_receipt *receipt, void *user)
{
    struct tally *tally = user;

    tally->ok += receipt->status == SMQ_OK;
    tally->merged += receipt->merged;
}

/* The connection is cut while replies are in flight. */
static void repeats_of_many_are_counted_as_sent_once(void **state)
{
    struct tally tally = {0};
    smq_producer *producer = NULL;
    smq_error err = SMQ_ERROR_INIT;
    struct wire wire;

    wire_init(&wire);
    smq_producer_options options = SMQ_PRODUCER_OPTIONS(.send_timeout_ms = TIMEOUT_MS);
    assert_ok(smq_producer_new(&producer, wire.behind, &options, &err), &err);
    for (int i = 0; i < MANY; i++) {
        smq_message message = message_of("equal");

        if (i == MANY / 2) {
            proxy_hold(wire.proxy);
        }
        assert_ok(smq_send_async(producer, wire.topic, &message, tally_sent, &tally, &err), &err);
    }
    assert_true(wait_until(has_kept, &wire, TIMEOUT_MS));
    proxy_cut(wire.proxy);
    assert_ok(smq_producer_flush(producer, TIMEOUT_MS, &err), &err);
    assert_int_equal(tally.ok, MANY);
    assert_int_equal(tally.merged, 0);
    assert_int_equal(metrics_of(wire.behind).sent, MANY);
    assert_int_equal(metrics_of(wire.behind).merged, 0);
    assert_int_equal(messages_stats(wire.direct, wire.topic).waiting, MANY);
    assert_int_equal(messages_stats(wire.direct, wire.topic).sent, MANY);
    assert_int_equal(messages_stats(wire.direct, wire.topic).merged, 0);
    smq_producer_free(producer);
    wire_fini(&wire);
}

static bool has_claimed(void *arg)
{
    const struct wire *wire = arg;

    return keys_read_number(wire->redis, "HGET slot{%s_0} claims", wire->topic) == 1;
}

/* One at a time: an answer and a claim go in one call. */
static void claims_of_a_lost_reply_come_again_with_their_bodies(void **state)
{
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;
    struct wire wire;

    wire_init(&wire);
    messages_send(wire.direct, wire.topic, (struct test_message){.body = "one", .id = "a"});
    handler_log_gate(log);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.max_in_flight = 1);
    worker = handler_log_worker_with(wire.behind, &options, wire.topic, log);
    handler_log_await(log, 1);
    assert_true(has_claimed(&wire));
    messages_send(wire.direct, wire.topic,
                  (struct test_message){.body = "two", .key = "k", .id = "b", .max_retries = 3});
    proxy_hold(wire.proxy);
    handler_log_open(log, 2); /* the answer of the first goes with the claim of the second */
    assert_true(wait_until(has_kept, &wire, TIMEOUT_MS));
    proxy_cut(wire.proxy);
    handler_log_await(log, 2);
    assert_string_equal(handler_log_seen(log, 1).body, "two");
    assert_string_equal(handler_log_seen(log, 1).key, "k");
    assert_string_equal(handler_log_seen(log, 1).id, "b");
    assert_int_equal(handler_log_seen(log, 1).attempt, 1);
    assert_int_equal(handler_log_seen(log, 1).retries_left, 3);
    messages_await_counts(wire.direct, wire.topic, (struct message_counts){.dead = 0, .done = 2});
    assert_int_equal(messages_stats(wire.direct, wire.topic).lease_lost, 0);
    handler_log_stop_worker(worker);
    wire_fini(&wire);
    handler_log_free(log);
}

enum { PART_MESSAGES = 12, PART_BYTES = 1024 * 1024 };

/* Their bodies are replaced by large ones, so that one reply cannot have them all.  There is no
 * room for them until all have been sent, so that one call claims them. */
static void claims_of_a_lost_reply_come_again_in_parts(void **state)
{
    struct handler_log *log = handler_log_new(NULL);
    char *large = calloc(1, PART_BYTES), id[16];
    smq_consumer *worker;
    struct wire wire;

    assert_non_null(large);
    memset(large, 'x', PART_BYTES - 1);
    wire_init(&wire);
    messages_send(wire.direct, wire.topic, (struct test_message){.body = "one", .id = "first"});
    handler_log_gate(log);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.max_in_flight = 1);
    worker = handler_log_worker_with(wire.behind, &options, wire.topic, log);
    handler_log_await(log, 1);
    for (int i = 0; i < PART_MESSAGES; i++) {
        snprintf(id, sizeof(id), "%d", i);
        messages_send(wire.direct, wire.topic, (struct test_message){.body = "small", .id = id});
    }
    proxy_hold(wire.proxy);
    assert_int_equal(smq_consumer_set_max_in_flight(worker, 1000, NULL), SMQ_OK);
    assert_true(wait_until(has_kept, &wire, TIMEOUT_MS));
    assert_int_equal(keys_read_number(wire.redis, "HGET slot{%s_0} claims", wire.topic), 2);
    for (int i = 0; i < PART_MESSAGES; i++) {
        snprintf(id, sizeof(id), "%d", i);
        keys_read_number(wire.redis, "HSET body{%s_0} b%s %s", wire.topic, id, large);
    }
    proxy_cut(wire.proxy);
    handler_log_open(log, 1 + PART_MESSAGES);
    handler_log_await(log, 1 + PART_MESSAGES);
    messages_await_counts(wire.direct, wire.topic,
                          (struct message_counts){.dead = 0, .done = 1 + PART_MESSAGES});
    assert_int_equal(handler_log_count(log), 1 + PART_MESSAGES);
    assert_int_equal(messages_stats(wire.direct, wire.topic).lease_lost, 0);
    handler_log_stop_worker(worker);
    wire_fini(&wire);
    handler_log_free(log);
    free(large);
}

TEST_GROUP(keyed_lost_replies)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeated_send_has_the_same_id),
        cmocka_unit_test(repeats_of_many_are_counted_as_sent_once),
        cmocka_unit_test(claims_of_a_lost_reply_come_again_with_their_bodies),
        cmocka_unit_test(claims_of_a_lost_reply_come_again_in_parts),
    };

    return cmocka_run_group_tests(tests, cluster_start_single, cluster_end);
}
