/* test_dedup.c - topics with a window of ids: a send is refused while its id is in flight, rests,
 * or was done within the window; all others are stored. */
#include <stdio.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { LONG_MS = 3600000, SHORT_MS = 300 };

/* A topic of one slot with a window, and what sends to it and consumes it. */
struct subject {
    smq_client *client;
    const char *topic;
    smq_producer *producer;
    smq_consumer *consumer;
    const char *id; /* of what is sent until it is accepted */
};

static struct subject subject_with(smq_topic_options options)
{
    struct subject subject = {.client = cluster_client()};

    options.layout = SMQ_LAYOUT_KEYED;
    subject.topic = cluster_topic(subject.client, &options);
    subject.producer = messages_producer(subject.client, NULL);
    if (options.groups == NULL) {
        subject.consumer = messages_consumer(subject.client, subject.topic);
    }
    return subject;
}

static struct subject subject_of(int64_t window_ms)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .dedup_window_ms = window_ms);

    return subject_with(options);
}

static void subject_fini(struct subject *subject)
{
    smq_consumer_free(subject->consumer);
    smq_producer_free(subject->producer);
    smq_client_free(subject->client);
}

static smq_receipt try_send(struct subject *subject, const char *id)
{
    smq_message message = SMQ_MESSAGE(.body = smq_text("body"), .id = smq_text(id));
    smq_receipt receipt = {.status = SMQ_INTERNAL};
    smq_error err = SMQ_ERROR_INIT;
    smq_status status = smq_send(subject->producer, subject->topic, &message, &receipt, &err);

    assert_int_equal(receipt.status, status);
    if (status == SMQ_DUPLICATE) {
        assert_int_equal(err.status, SMQ_DUPLICATE);
        assert_non_null(strstr(err.text, subject->topic));
        assert_non_null(strstr(err.text, "dedup_window_ms"));
        assert_int_equal(receipt.slot, 0);
    } else if (status != SMQ_OK) {
        fail_msg("%s: %s", id, err.text);
    }
    return receipt;
}

static void assert_added(struct subject *subject, const char *id)
{
    smq_receipt receipt = try_send(subject, id);

    assert_int_equal(receipt.status, SMQ_OK);
    assert_false(receipt.merged);
}

static void assert_merged(struct subject *subject, const char *id)
{
    smq_receipt receipt = try_send(subject, id);

    assert_int_equal(receipt.status, SMQ_OK);
    assert_true(receipt.merged);
}

static void assert_duplicate(struct subject *subject, const char *id)
{
    assert_int_equal(try_send(subject, id).status, SMQ_DUPLICATE);
}

static bool is_accepted(void *arg)
{
    struct subject *subject = arg;

    return try_send(subject, subject->id).status == SMQ_OK;
}

/* Sends one that is handled and done at once. */
static void handle(struct subject *subject, const char *id, uint64_t done)
{
    assert_added(subject, id);
    messages_done(messages_poll(subject->consumer));
    messages_await_counts(subject->client, subject->topic,
                          (struct message_counts){-1, -1, -1, -1, (int64_t) done});
}

/* --- one topic --- */

static void an_id_in_flight_resting_or_done_is_refused(void **state)
{
    struct subject subject = subject_of(LONG_MS);
    smq_delivery *delivery;
    smq_metrics metrics = SMQ_METRICS_INIT;
    smq_error err = SMQ_ERROR_INIT;

    assert_added(&subject, "a");
    delivery = messages_poll(subject.consumer);
    assert_duplicate(&subject, "a");
    messages_done(delivery);
    messages_await_counts(subject.client, subject.topic, (struct message_counts){.done = 1});
    assert_duplicate(&subject, "a");
    assert_added(&subject, "b");
    delivery = messages_poll(subject.consumer);
    assert_ok(smq_retry(delivery, LONG_MS, "later", &err), &err);
    messages_await_counts(subject.client, subject.topic,
                          (struct message_counts){.resting = 1, .done = 1});
    assert_duplicate(&subject, "b");
    assert_int_equal(messages_stats(subject.client, subject.topic).duplicates, 3);
    assert_int_equal(messages_stats(subject.client, subject.topic).sent, 2);
    assert_ok(smq_client_metrics(subject.client, &metrics, &err), &err);
    assert_int_equal(metrics.send_duplicates, 3);
    assert_int_equal(metrics.send_failures, 0);
    subject_fini(&subject);
}

static void after_the_window_it_is_accepted(void **state)
{
    struct subject subject = subject_of(SHORT_MS);

    subject.id = "a";
    handle(&subject, "a", 1);
    assert_true(wait_until(is_accepted, &subject, TIMEOUT_MS));
    messages_done(messages_poll(subject.consumer));
    messages_await_counts(subject.client, subject.topic, (struct message_counts){.done = 2});
    subject_fini(&subject);
}

static void what_waits_merges(void **state)
{
    struct subject subject = subject_of(LONG_MS);
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_topic_pause(subject.client, subject.topic, &err), &err);
    assert_added(&subject, "a");
    assert_merged(&subject, "a");
    assert_int_equal(messages_stats(subject.client, subject.topic).duplicates, 0);
    subject_fini(&subject);
}

/* The same id with another key is another message. */
static void a_key_makes_another_message(void **state)
{
    struct subject subject = subject_of(LONG_MS);

    handle(&subject, "a", 1);
    assert_false(messages_send(subject.client, subject.topic,
                               (struct test_message){.body = "body", .id = "a", .key = "k"}));
    assert_duplicate(&subject, "a");
    subject_fini(&subject);
}

static void what_is_dead_is_accepted_and_requeues_pass(void **state)
{
    struct subject subject = subject_of(LONG_MS);
    smq_delivery *delivery;
    uint64_t count = 0;
    smq_error err = SMQ_ERROR_INIT;

    assert_added(&subject, "a");
    delivery = messages_poll(subject.consumer);
    assert_ok(smq_reject(delivery, "bad", &err), &err);
    messages_await_counts(subject.client, subject.topic, (struct message_counts){.dead = 1});
    handle(&subject, "a", 1);
    assert_duplicate(&subject, "a");
    assert_ok(smq_dead_requeue(subject.client, subject.topic, NULL, &count, NULL, NULL, &err),
              &err);
    assert_int_equal(count, 1);
    messages_done(messages_poll(subject.consumer));
    messages_await_counts(subject.client, subject.topic, (struct message_counts){.done = 2});
    subject_fini(&subject);
}

static void a_batch_says_which_are_duplicates(void **state)
{
    struct subject subject = subject_of(LONG_MS);
    static const char *const ids[] = {"b", "a", "c", "b"};
    static const smq_status expected[] = {SMQ_OK, SMQ_DUPLICATE, SMQ_OK, SMQ_OK};
    smq_message messages[4];
    smq_receipt receipts[4];
    smq_error err = SMQ_ERROR_INIT;

    handle(&subject, "a", 1);
    assert_ok(smq_topic_pause(subject.client, subject.topic, &err), &err);
    for (int i = 0; i < 4; i++) {
        messages[i] = SMQ_MESSAGE(.id = smq_text(ids[i]));
    }
    assert_int_equal(smq_send_batch(subject.producer, subject.topic, messages, 4, receipts, &err),
                     SMQ_DUPLICATE);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(receipts[i].status, expected[i]);
    }
    assert_true(receipts[3].merged);
    subject_fini(&subject);
}

/* --- altered, deleted, moved --- */

static void the_window_is_altered(void **state)
{
    struct subject subject = subject_of(SMQ_NONE);
    char key[64];
    smq_error err = SMQ_ERROR_INIT;

    snprintf(key, sizeof(key), "done{%s_0}", subject.topic);
    handle(&subject, "a", 1);
    assert_int_equal(keys_number(key, "ZCARD %s", key), 1); /* the sentinel */
    assert_ok(cluster_alter(subject.client, subject.topic, "dedup_window_ms", "1h", &err), &err);
    handle(&subject, "a", 2);
    assert_int_equal(keys_number(key, "ZCARD %s", key), 2);
    assert_duplicate(&subject, "a");
    assert_ok(cluster_alter(subject.client, subject.topic, "dedup_window_ms", "1ms", &err), &err);
    subject.id = "a";
    assert_true(wait_until(is_accepted, &subject, TIMEOUT_MS));
    messages_done(messages_poll(subject.consumer));
    messages_await_counts(subject.client, subject.topic, (struct message_counts){.done = 3});
    assert_ok(cluster_alter(subject.client, subject.topic, "dedup_window_ms", "none", &err), &err);
    assert_int_equal(keys_number(key, "ZCARD %s", key), 1);
    handle(&subject, "a", 4);
    subject_fini(&subject);
}

static void a_deleted_topic_leaves_no_ids(void **state)
{
    struct subject subject = subject_of(LONG_MS);
    char key[64];
    smq_error err = SMQ_ERROR_INIT;

    snprintf(key, sizeof(key), "done{%s_0}", subject.topic);
    handle(&subject, "a", 1);
    assert_int_equal(keys_number(key, "ZCARD %s", key), 2);
    smq_consumer_free(subject.consumer);
    subject.consumer = NULL;
    assert_ok(smq_topic_delete(subject.client, subject.topic, false, &err), &err);
    assert_int_equal(keys_number(key, "ZCARD %s", key), 0);
    subject_fini(&subject);
}

static const char *node_id(char out[64], const struct server *server)
{
    redisReply *reply = keys_command_at(server, "CLUSTER MYID");

    snprintf(out, 64, "%s", reply->str);
    freeReplyObject(reply);
    return out;
}

/* While a hash slot moves, scripts fail if one of their keys is missing.  So a slot has the key of
 * its window before it remembers anything. */
static void sends_do_not_wait_until_a_hash_slot_has_moved(void **state)
{
    struct subject subject = subject_of(LONG_MS);
    struct server *from, *to = NULL;
    char key[64], from_id[64], to_id[64];
    int64_t number;

    snprintf(key, sizeof(key), "slot{%s_0}", subject.topic);
    number = keys_number(key, "CLUSTER KEYSLOT %s", key);
    from = servers_node_of(cluster_servers(), key);
    for (size_t i = 0; to == NULL; i++) {
        to = servers_node(cluster_servers(), i) == from ? NULL : servers_node(cluster_servers(), i);
    }
    freeReplyObject(
        keys_command_at(from, "CLUSTER SETSLOT %d MIGRATING %s", (int) number, node_id(to_id, to)));
    freeReplyObject(keys_command_at(to, "CLUSTER SETSLOT %d IMPORTING %s", (int) number,
                                    node_id(from_id, from)));
    handle(&subject, "a", 1);
    assert_duplicate(&subject, "a");
    freeReplyObject(keys_command_at(from, "CLUSTER SETSLOT %d STABLE", (int) number));
    freeReplyObject(keys_command_at(to, "CLUSTER SETSLOT %d STABLE", (int) number));
    subject_fini(&subject);
}

/* --- groups --- */

static void finish(struct subject *subject, const char *group)
{
    char name[128];
    smq_consumer *consumer;

    snprintf(name, sizeof(name), "%s/%s", subject->topic, group);
    consumer = messages_consumer(subject->client, name);
    messages_done(messages_poll(consumer));
    messages_await_counts(subject->client, name, (struct message_counts){.done = 1});
    smq_consumer_free(consumer);
}

static void it_is_a_duplicate_if_all_groups_say_so(void **state)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .dedup_window_ms = LONG_MS,
                          .groups = "billing,search");
    struct subject subject = subject_with(options);
    char name[128];

    assert_added(&subject, "a");
    finish(&subject, "billing");
    assert_merged(&subject, "a");
    finish(&subject, "search");
    assert_duplicate(&subject, "a");
    snprintf(name, sizeof(name), "%s/billing", subject.topic);
    assert_int_equal(messages_stats(subject.client, name).duplicates, 2);
    snprintf(name, sizeof(name), "%s/search", subject.topic);
    assert_int_equal(messages_stats(subject.client, name).duplicates, 1);
    subject_fini(&subject);
}

TEST_GROUP(dedup)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_in_flight_resting_or_done_is_refused),
        cmocka_unit_test(after_the_window_it_is_accepted),
        cmocka_unit_test(what_waits_merges),
        cmocka_unit_test(a_key_makes_another_message),
        cmocka_unit_test(what_is_dead_is_accepted_and_requeues_pass),
        cmocka_unit_test(a_batch_says_which_are_duplicates),
        cmocka_unit_test(the_window_is_altered),
        cmocka_unit_test(a_deleted_topic_leaves_no_ids),
        cmocka_unit_test(sends_do_not_wait_until_a_hash_slot_has_moved),
        cmocka_unit_test(it_is_a_duplicate_if_all_groups_say_so),
    };

    return cmocka_run_group_tests(tests, cluster_start_masters, cluster_end);
}
