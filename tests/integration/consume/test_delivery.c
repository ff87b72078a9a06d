/* test_delivery.c - deliveries on whatever thread: how they stand, longer leases, answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { LEASE_MS = 1500, TWO_LEASES_MS = 3000, LONG_MS = 600000 };

static const char *topic_of(smq_client *client, bool shared)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_PRIORITY, .lease_ms = LEASE_MS, .shared = shared);
    return cluster_topic(client, &options);
}

static smq_verdict keep(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    (void) seen;
    (void) index;
    return SMQ_LATER;
}

/* Everything at once: a shared slot does not wait for late answers of a batch. */
static smq_verdict keep_all(smq_delivery *const *deliveries, size_t count, void *user)
{
    int index;

    for (size_t i = 0; i < count; i++) {
        (void) handler_log_add(user, deliveries[i], &index);
    }
    return SMQ_LATER;
}

/* --- leases --- */

/* When the lease of the claimed message with this body ends, in ms since 1970. */
static int64_t lease_end(redisContext *redis, const char *topic, const char *body)
{
    redisReply *reply = redisCommand(redis, "ZRANGE prepare{%s_0} 0 -1 WITHSCORES", topic);
    size_t len = strlen(body);
    int64_t end = 0;

    assert_non_null(reply);
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        const redisReply *entry = reply->element[i];

        if (entry->len > len && entry->str[entry->len - len - 1] == ':' &&
            memcmp(entry->str + entry->len - len, body, len) == 0) {
            end = strtoll(reply->element[i + 1]->str, NULL, 10);
        }
    }
    freeReplyObject(reply);
    return end;
}

struct renewed {
    redisContext *redis;
    const char *topic, *body;
    int64_t after;
};

static bool is_renewed(void *arg)
{
    struct renewed *renewed = arg;

    return lease_end(renewed->redis, renewed->topic, renewed->body) > renewed->after;
}

static void extended_lease_is_not_shortened_by_renewals(void **state)
{
    static const bool shared[] = {false, true};

    for (int i = 0; i < 2; i++) {
        smq_client *client = cluster_client();
        const char *topic = topic_of(client, shared[i]);
        struct handler_log *log = handler_log_new(NULL);
        redisContext *redis = keys_connect_to(topic);
        struct renewed renewed = {.redis = redis, .topic = topic, .body = "b"};
        smq_consumer *worker;
        smq_error err = SMQ_ERROR_INIT;
        int64_t end;

        messages_send(client, topic, (struct test_message){.body = "a"});
        messages_send(client, topic, (struct test_message){.body = "b"});
        smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.batch = keep_all);
        worker = handler_log_worker_with(client, &options, topic, log);
        handler_log_await(log, 2);
        assert_ok(smq_extend(handler_log_seen(log, 0).delivery, LONG_MS, &err), &err);
        end = lease_end(redis, topic, "a");
        assert_true(end > clock_wall_ms() + LONG_MS / 2);
        renewed.after = lease_end(redis, topic, "b") + TWO_LEASES_MS;
        assert_true(wait_until(is_renewed, &renewed, TIMEOUT_MS));
        assert_int_equal(lease_end(redis, topic, "a"), end);
        /* a shorter one does not shorten it to less than the topic's */
        assert_ok(smq_extend(handler_log_seen(log, 1).delivery, 1, &err), &err);
        assert_true(lease_end(redis, topic, "b") >= renewed.after);
        assert_int_equal(smq_done(handler_log_seen(log, 0).delivery, NULL), SMQ_OK);
        assert_int_equal(smq_done(handler_log_seen(log, 1).delivery, NULL), SMQ_OK);
        messages_await_counts(client, topic, (struct message_counts){.done = 2});
        handler_log_stop_worker(worker);
        handler_log_free(log);
        redisFree(redis);
        smq_client_free(client);
    }
}

static void extending_is_refused_when_it_is_too_late(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false);
    struct handler_log *log = handler_log_new(keep);
    redisContext *redis = keys_connect_to(topic);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    smq_delivery *delivery;
    smq_error err = SMQ_ERROR_INIT;

    messages_send(client, topic, (struct test_message){.body = "a"});
    handler_log_await(log, 1);
    delivery = handler_log_seen(log, 0).delivery;
    assert_int_equal(smq_extend(NULL, 1000, &err), SMQ_INVALID);
    assert_int_equal(smq_extend(delivery, 0, &err), SMQ_INVALID);
    assert_int_equal(smq_extend(delivery, INT64_MAX, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "lease_ms"));
    keys_read_number(redis, "ZREMRANGEBYRANK prepare{%s_0} 0 0", topic); /* another caller edits */
    assert_int_equal(smq_extend(delivery, 1000, &err), SMQ_LEASE_LOST);
    assert_int_equal(smq_delivery_check(delivery), SMQ_LEASE_LOST);
    assert_int_equal(smq_extend(delivery, 1000, &err), SMQ_LEASE_LOST);
    assert_int_equal(smq_done(delivery, &err), SMQ_LEASE_LOST);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    redisFree(redis);
    smq_client_free(client);
}

static smq_status extended_inside;

static smq_verdict extend(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) seen;
    (void) index;
    extended_inside = smq_extend(delivery, 60000, NULL);
    return SMQ_DONE;
}

static void handler_may_extend(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false);
    struct handler_log *log = handler_log_new(extend);
    smq_consumer *worker = handler_log_worker(client, topic, log);

    messages_send(client, topic, (struct test_message){.body = "a"});
    messages_await_counts(client, topic, (struct message_counts){.done = 1});
    assert_int_equal(extended_inside, SMQ_OK);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void extending_after_the_end_says_closed(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false);
    struct handler_log *log = handler_log_new(keep);
    smq_delivery *delivery;
    smq_consumer *worker;
    smq_error err = SMQ_ERROR_INIT;
    smq_status status;

    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.drain_timeout_ms = SMQ_NONE);
    messages_send(client, topic, (struct test_message){.body = "a"});
    worker = handler_log_worker_with(client, &options, topic, log);
    handler_log_await(log, 1);
    delivery = handler_log_seen(log, 0).delivery;
    smq_consumer_free(worker);
    status = smq_extend(delivery, 1000, &err);
    assert_true(status == SMQ_LEASE_LOST || status == SMQ_CLOSED);
    (void) smq_done(delivery, NULL);
    handler_log_free(log);
    smq_client_free(client);
}

/* --- how it stands --- */

static void check_says_how_the_delivery_stands(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false);
    struct handler_log *log = handler_log_new(keep);
    redisContext *redis = keys_connect_to(topic);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    smq_delivery *delivery;
    smq_error err = SMQ_ERROR_INIT;

    assert_int_equal(smq_delivery_check(NULL), SMQ_INVALID);
    messages_send(client, topic, (struct test_message){.body = "a"});
    handler_log_await(log, 1);
    delivery = handler_log_seen(log, 0).delivery;
    assert_int_equal(smq_delivery_check(delivery), SMQ_OK);
    /* a renewal finds that the claim is gone */
    keys_read_number(redis, "ZREMRANGEBYRANK prepare{%s_0} 0 0", topic);
    messages_await_check(delivery, SMQ_LEASE_LOST);
    assert_int_equal(smq_retry(delivery, 0, NULL, &err), SMQ_LEASE_LOST);

    /* a renewal finds a newer owner */
    messages_send(client, topic, (struct test_message){.body = "b"});
    handler_log_await(log, 2);
    delivery = handler_log_seen(log, 1).delivery;
    assert_int_equal(smq_delivery_check(delivery), SMQ_OK);
    keys_read_number(redis, "HSET slot{%s_0} token 0000000200000000000000ff", topic);
    messages_await_check(delivery, SMQ_FENCED);
    assert_int_equal(smq_done(delivery, &err), SMQ_FENCED);
    smq_consumer_stop(worker);
    smq_consumer_free(worker);
    handler_log_free(log);
    redisFree(redis);
    smq_client_free(client);
}

static void check_says_that_the_worker_stops(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false);
    struct handler_log *log = handler_log_new(keep);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    smq_delivery *delivery;
    smq_error err = SMQ_ERROR_INIT;

    messages_send(client, topic, (struct test_message){.body = "a"});
    handler_log_await(log, 1);
    delivery = handler_log_seen(log, 0).delivery;
    smq_consumer_stop(worker);
    messages_await_check(delivery, SMQ_CLOSED);
    assert_ok(smq_extend(delivery, 60000, &err), &err); /* it is still ours */
    assert_int_equal(smq_done(delivery, &err), SMQ_OK);
    assert_ok(smq_consumer_wait(worker, TIMEOUT_MS, &err), &err);
    smq_consumer_free(worker);
    assert_int_equal(messages_stats(client, topic).done, 1);
    handler_log_free(log);
    smq_client_free(client);
}

/* --- answers --- */

struct passing_on {
    smq_producer *producer;
    const char *topic;
};

/* Thread: smq:call.  The message was passed on, so it is done. */
static void on_passed_on(const smq_receipt *receipt, void *user)
{
    smq_delivery *delivery = user;

    (void) (receipt->status == SMQ_OK ? smq_done(delivery, NULL)
                                      : smq_retry(delivery, SMQ_BACKOFF, NULL, NULL));
}

static smq_verdict pass_on(smq_delivery *delivery, void *user)
{
    const struct passing_on *passing = user;
    const smq_message_info *info = smq_delivery_info(delivery);

    smq_message message = SMQ_MESSAGE(.body = info->body);
    return smq_send_async(passing->producer, passing->topic, &message, on_passed_on, delivery,
                          NULL) == SMQ_OK
               ? SMQ_LATER
               : SMQ_RETRY;
}

/* The usual chain: what arrives is sent on, and answered in the callback of that send. */
static void later_is_answered_in_a_callback(void **state)
{
    enum { COUNT = 200 };
    smq_client *client = cluster_client();
    struct passing_on passing = {.topic = topic_of(client, false)};
    const char *topic = topic_of(client, false);
    smq_consumer *worker = NULL;
    smq_error err = SMQ_ERROR_INIT;
    char body[16];

    assert_ok(smq_producer_new(&passing.producer, client, NULL, &err), &err);
    for (int i = 0; i < COUNT; i++) {
        snprintf(body, sizeof(body), "%d", i);
        messages_send(client, topic, (struct test_message){.body = body});
    }
    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = topic, .handler = pass_on, .user = &passing);
    assert_ok(smq_consumer_new(&worker, client, &options, &err), &err);
    assert_ok(smq_consumer_start(worker, &err), &err);
    messages_await_counts(client, topic,
                          (struct message_counts){.waiting = 0, .claimed = 0, .done = COUNT});
    assert_int_equal(messages_stats(client, passing.topic).waiting, COUNT);
    assert_int_equal(messages_stats(client, topic).retried, 0);
    handler_log_stop_worker(worker);
    smq_producer_free(passing.producer);
    smq_client_free(client);
}

TEST_GROUP(delivery)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extended_lease_is_not_shortened_by_renewals),
        cmocka_unit_test(extending_is_refused_when_it_is_too_late),
        cmocka_unit_test(handler_may_extend),
        cmocka_unit_test(extending_after_the_end_says_closed),
        cmocka_unit_test(check_says_how_the_delivery_stands),
        cmocka_unit_test(check_says_that_the_worker_stops),
        cmocka_unit_test(later_is_answered_in_a_callback),
    };

    return cmocka_run_group_tests(tests, cluster_start_masters, cluster_end);
}
