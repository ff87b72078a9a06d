/* test_keyed.c - layout keyed on a cluster: what identifies a message, its body, its own limit of
 * retries. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"

enum { SLOTS = 16, BIG = 1024 * 1024, LARGEST = 64 * BIG };

static const char *keyed_topic(smq_client *client, smq_topic_type type, int32_t slots)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = type, .layout = SMQ_LAYOUT_KEYED, .slots = slots);
    return cluster_topic(client, &options);
}

static smq_producer *producer_of(smq_client *client)
{
    smq_producer *producer = NULL;
    smq_error err = SMQ_ERROR_INIT;

    smq_producer_options options = SMQ_PRODUCER_OPTIONS(.send_timeout_ms = 60000);
    assert_ok(smq_producer_new(&producer, client, &options, &err), &err);
    return producer;
}

/* Nothing is left of a topic of one slot but what is always there. */
static void assert_no_bodies(const char *topic)
{
    redisContext *redis = keys_connect_to(topic);

    assert_int_equal(keys_read_number(redis, "HLEN body{%s_0}", topic), 1);
    redisFree(redis);
}

static const struct message_counts ALL_DONE_1 = {.dead = 0, .done = 1};
static const struct message_counts ALL_DONE_2 = {.dead = 0, .done = 2};
static const struct message_counts ONE_DEAD = {.dead = 1, .done = -1};

static void delivery_has_key_id_and_body(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = keyed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    int64_t before = clock_wall_ms();
    struct seen seen;

    messages_send(client, topic, (struct test_message){.body = "b", .key = "k", .id = "i"});
    handler_log_await(log, 1);
    messages_send(client, topic, (struct test_message){.body = "c", .id = "j", .ttl_ms = 600000});
    handler_log_await(log, 2);
    seen = handler_log_seen(log, 0);
    assert_string_equal(seen.key, "k");
    assert_string_equal(seen.id, "i");
    assert_string_equal(seen.body, "b");
    assert_in_range(seen.sent_at_ms, before, clock_wall_ms());
    assert_int_equal(seen.expires_at_ms, 0);
    seen = handler_log_seen(log, 1);
    assert_string_equal(seen.key, "j");
    assert_string_equal(seen.id, "j");
    assert_string_equal(seen.body, "c");
    assert_int_equal(seen.expires_at_ms, seen.sent_at_ms + 600000);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void waiting_id_merges_and_the_last_body_wins(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = keyed_topic(client, SMQ_TYPE_PRIORITY, 1);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;

    assert_false(messages_send(client, topic,
                               (struct test_message){.body = "old", .id = "i", .priority = 1}));
    assert_false(messages_send(client, topic,
                               (struct test_message){.body = "other", .id = "j", .priority = 2}));
    assert_true(messages_send(client, topic,
                              (struct test_message){.body = "new", .id = "i", .priority = 3}));
    assert_true(messages_send(client, topic,
                              (struct test_message){.body = "newest", .id = "i", .priority = 3}));
    worker = handler_log_worker(client, topic, log);
    handler_log_await(log, 2);
    assert_string_equal(handler_log_seen(log, 0).body, "newest");
    assert_int_equal(handler_log_seen(log, 0).priority, 3);
    assert_string_equal(handler_log_seen(log, 1).body, "other");
    messages_await_counts(client, topic, ALL_DONE_2);
    assert_int_equal(messages_stats(client, topic).merged, 2);
    assert_no_bodies(topic);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void same_id_under_another_key_is_another_message(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = keyed_topic(client, SMQ_TYPE_FIXED_TIME, 1);

    assert_false(messages_send(client, topic, (struct test_message){.id = "i", .key = "a"}));
    assert_false(messages_send(client, topic, (struct test_message){.id = "i", .key = "b"}));
    assert_false(messages_send(client, topic, (struct test_message){.id = "i"}));
    assert_true(messages_send(client, topic, (struct test_message){.id = "i", .key = "i"}));
    assert_true(messages_send(client, topic, (struct test_message){.id = "i", .key = "a"}));
    assert_int_equal(messages_stats(client, topic).waiting, 3);
    smq_client_free(client);
}

/* A send while a message is claimed is one more message; they share a body, the last. */
static void send_during_the_handling_is_one_more_delivery(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = keyed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;

    handler_log_gate(log);
    worker = handler_log_worker(client, topic, log);
    messages_send(client, topic, (struct test_message){.body = "one", .id = "i"});
    handler_log_await(log, 1);
    assert_false(messages_send(client, topic, (struct test_message){.body = "two", .id = "i"}));
    handler_log_open(log, 2);
    handler_log_await(log, 2);
    assert_string_equal(handler_log_seen(log, 0).body, "one");
    assert_string_equal(handler_log_seen(log, 1).body, "two");
    messages_await_counts(client, topic, ALL_DONE_2);
    assert_no_bodies(topic);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* --- bodies --- */

struct expected {
    const void *body, *key, *id;
    size_t body_len, key_len, id_len;
};

static struct expected expected;

static smq_verdict compare(smq_delivery *delivery, const struct seen *seen, int index)
{
    const smq_message_info *info = smq_delivery_info(delivery);

    (void) seen;
    (void) index;
    if (info->body.len != expected.body_len || info->key.len != expected.key_len ||
        info->id.len != expected.id_len ||
        (info->body.len > 0 && memcmp(info->body.data, expected.body, info->body.len) != 0) ||
        memcmp(info->key.data, expected.key, info->key.len) != 0 ||
        memcmp(info->id.data, expected.id, info->id.len) != 0) {
        return SMQ_REJECT;
    }
    return SMQ_DONE;
}

/* Send what is expected, and have it delivered. */
static void goes_through(const smq_topic_options *options)
{
    smq_client_options patient = SMQ_CLIENT_OPTIONS_INIT;
    smq_client *client;
    const char *topic;
    struct handler_log *log = handler_log_new(compare);
    smq_consumer *worker;
    smq_producer *producer;
    smq_message message = SMQ_MESSAGE_INIT;
    smq_receipt receipt;
    smq_error err = SMQ_ERROR_INIT;

    patient.request_timeout_ms = 60000; /* others wait behind a body of 64 MiB */
    client = cluster_client_with(&patient);
    topic = cluster_topic(client, options);
    worker = handler_log_worker(client, topic, log);
    producer = producer_of(client);
    message.body = (smq_bytes){expected.body, expected.body_len};
    message.key = (smq_bytes){expected.key, expected.key_len};
    message.id = (smq_bytes){expected.id, expected.id_len};
    assert_ok(smq_send(producer, topic, &message, &receipt, &err), &err);
    assert_false(receipt.merged);
    assert_string_equal(receipt.id, "");
    messages_await_counts(client, topic, ALL_DONE_1);
    assert_no_bodies(topic);
    smq_producer_free(producer);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static smq_topic_options keyed_options(void)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .layout = SMQ_LAYOUT_KEYED);
    return options;
}

static void empty_body_goes_through(void **state)
{
    smq_topic_options options = keyed_options();

    expected = (struct expected){.key = "k", .key_len = 1, .id = "i", .id_len = 1};
    goes_through(&options);
}

static void any_bytes_go_through(void **state)
{
    smq_topic_options options = keyed_options();
    char bytes[1024];

    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (char) i;
    }
    expected = (struct expected){.body = bytes,
                                 .body_len = sizeof(bytes),
                                 .key = bytes,
                                 .key_len = 256,
                                 .id = bytes,
                                 .id_len = sizeof(bytes)};
    goes_through(&options);
    expected.key = bytes;
    expected.key_len = sizeof(bytes); /* the same as the id, which begins with a NUL */
    goes_through(&options);
}

static void large_bodies_go_through(void **state)
{
    smq_topic_options options = keyed_options();
    char *body = malloc(LARGEST);

    assert_non_null(body);
    for (size_t i = 0; i < LARGEST; i++) {
        body[i] = (char) (i * 7 + i / 1000);
    }
    expected = (struct expected){
        .body = body, .body_len = BIG, .key = "k", .key_len = 1, .id = "i", .id_len = 1};
    goes_through(&options);
    options.max_body = LARGEST;
    expected.body_len = LARGEST;
    goes_through(&options);
    free(body);
}

/* More than fits into one request, and one reply. */
static void many_large_bodies_go_through(void **state)
{
    enum { COUNT = 40, SIZE = 200 * 1024 };
    smq_client *client = cluster_client();
    const char *topic = keyed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
    struct handler_log *log = handler_log_new(NULL);
    smq_producer *producer = producer_of(client);
    smq_receipt receipts[COUNT];
    smq_message messages[COUNT];
    char *body = calloc(1, SIZE);
    smq_consumer *worker;
    smq_error err = SMQ_ERROR_INIT;

    assert_non_null(body);
    for (int i = 0; i < COUNT; i++) {
        messages[i] = SMQ_MESSAGE(.body = {body, SIZE});
    }
    assert_ok(smq_send_batch(producer, topic, messages, COUNT, receipts, &err), &err);
    worker = handler_log_worker(client, topic, log);
    messages_await_counts(client, topic, (struct message_counts){.dead = 0, .done = COUNT});
    for (int i = 0; i < COUNT; i++) {
        assert_string_equal(handler_log_seen(log, i).id, receipts[i].id);
        assert_int_equal(strlen(receipts[i].id), 32);
        assert_true(i == 0 || strcmp(receipts[i - 1].id, receipts[i].id) < 0);
    }
    assert_no_bodies(topic);
    free(body);
    smq_producer_free(producer);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void two_workers_share_a_topic(void **state)
{
    enum { COUNT = 300 };
    smq_topic_options options = keyed_options();
    smq_client *client = cluster_client(), *other = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *one, *two;
    const char *topic;

    options.shared = true;
    topic = cluster_topic(client, &options);
    one = handler_log_worker(client, topic, log);
    two = handler_log_worker(other, topic, log);
    for (int i = 0; i < COUNT; i++) {
        char id[16];

        snprintf(id, sizeof(id), "id%d", i);
        messages_send(client, topic, (struct test_message){.body = id, .key = "k", .id = id});
    }
    messages_await_counts(client, topic, (struct message_counts){.dead = 0, .done = COUNT});
    assert_int_equal(handler_log_count(log), COUNT);
    for (int i = 0; i < COUNT; i++) {
        assert_string_equal(handler_log_seen(log, i).body, handler_log_seen(log, i).id);
    }
    assert_no_bodies(topic);
    handler_log_stop_worker(one);
    handler_log_stop_worker(two);
    handler_log_free(log);
    smq_client_free(client);
    smq_client_free(other);
}

/* --- retries --- */

static smq_verdict fail_always(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    (void) seen;
    (void) index;
    return SMQ_RETRY;
}

static void message_has_a_retry_limit_of_its_own(void **state)
{
    static const struct {
        int32_t max_retries, deliveries;
    } cases[] = {{0, 17}, {2, 3}, {SMQ_NONE, 1}, {20, 21}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        smq_client *client = cluster_client();
        const char *topic = keyed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
        struct handler_log *log = handler_log_new(fail_always);
        smq_consumer *worker = handler_log_worker(client, topic, log);

        messages_send(
            client, topic,
            (struct test_message){.body = "b", .id = "i", .max_retries = cases[i].max_retries});
        messages_await_counts(client, topic, ONE_DEAD);
        assert_int_equal(handler_log_count(log), cases[i].deliveries);
        for (int n = 0; n < cases[i].deliveries; n++) {
            assert_int_equal(handler_log_seen(log, n).attempt, n + 1);
            assert_int_equal(handler_log_seen(log, n).retries_left, cases[i].deliveries - 1 - n);
            assert_string_equal(handler_log_seen(log, n).body, "b");
        }
        assert_no_bodies(topic); /* the dead letter has its own */
        handler_log_stop_worker(worker);
        handler_log_free(log);
        smq_client_free(client);
    }
}

static char last_dead[256]; /* of the events */

static void on_event(const smq_event *event, void *user)
{
    (void) user;
    if (event->kind == SMQ_EVENT_DEAD) {
        snprintf(last_dead, sizeof(last_dead), "%s", event->message_id);
    }
}

/* The event of a death goes by the message's limit, too, and names its id. */
static void death_is_told_with_the_id(void **state)
{
    smq_client *client;
    const char *topic;
    struct handler_log *log = handler_log_new(fail_always);
    smq_consumer *worker;

    smq_client_options options = SMQ_CLIENT_OPTIONS(.event = on_event);
    client = cluster_client_with(&options);
    topic = keyed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
    worker = handler_log_worker(client, topic, log);
    messages_send(client, topic,
                  (struct test_message){.body = "b", .id = "the\x01id", .max_retries = 1});
    messages_await_counts(client, topic, ONE_DEAD);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client); /* every event was reported */
    assert_string_equal(last_dead, "the\\x01id");
}

struct dead {
    int count;
    char key[64], id[64], body[64], reason[256];
};

static bool see_dead(const smq_message_info *message, void *user)
{
    struct dead *dead = user;

    dead->count++;
    snprintf(dead->key, sizeof(dead->key), "%.*s", (int) message->key.len,
             (const char *) message->key.data);
    snprintf(dead->id, sizeof(dead->id), "%.*s", (int) message->id.len,
             (const char *) message->id.data);
    snprintf(dead->body, sizeof(dead->body), "%.*s", (int) message->body.len,
             (const char *) message->body.data);
    snprintf(dead->reason, sizeof(dead->reason), "%s", message->reason);
    return true;
}

static smq_verdict reject(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) seen;
    (void) index;
    assert_int_equal(smq_reject(delivery, "no good", NULL), SMQ_OK);
    return SMQ_LATER;
}

/* What is sent under the same id afterwards does not touch it. */
static void dead_letter_keeps_its_body(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = keyed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
    struct handler_log *log = handler_log_new(reject);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    struct dead dead = {0};
    smq_error err = SMQ_ERROR_INIT;

    messages_send(client, topic, (struct test_message){.body = "old", .key = "k", .id = "i"});
    messages_await_counts(client, topic, ONE_DEAD);
    handler_log_stop_worker(worker);
    messages_send(client, topic, (struct test_message){.body = "new", .key = "k", .id = "i"});
    smq_filter filter = SMQ_FILTER(.states = SMQ_STATE_DEAD);
    assert_ok(smq_message_each(client, topic, &filter, see_dead, &dead, &err), &err);
    assert_int_equal(dead.count, 1);
    assert_string_equal(dead.key, "k");
    assert_string_equal(dead.id, "i");
    assert_string_equal(dead.body, "old");
    assert_string_equal(dead.reason, "no good");
    handler_log_free(log);
    smq_client_free(client);
}

/* --- bad messages --- */

static void bad_messages_are_refused_and_nothing_is_stored(void **state)
{
    static char big[BIG + 1];
    static const struct {
        smq_message message;
        smq_status status;
    } cases[] = {
        {{.body = {"b", 1}, .id = {"i", 0}}, SMQ_INVALID},
        {{.body = {"b", 1}, .id = {big, 1025}}, SMQ_TOO_BIG},
        {{.body = {"b", 1}, .ttl_ms = -2}, SMQ_INVALID},
        {{.body = {"b", 1}, .max_retries = 64}, SMQ_INVALID},
        {{.body = {"b", 1}, .priority = 8192}, SMQ_INVALID},
        {{.body = {big, BIG + 1}}, SMQ_TOO_BIG},
        {{.body = {NULL, 1}}, SMQ_INVALID},
    };
    smq_client *client = cluster_client();
    const char *topic = keyed_topic(client, SMQ_TYPE_PRIORITY, 1);
    smq_producer *producer = producer_of(client);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        smq_message message = cases[i].message;
        smq_receipt receipt;
        smq_error err = SMQ_ERROR_INIT;

        message.struct_size = sizeof(message);
        assert_int_equal(smq_send(producer, topic, &message, &receipt, &err), cases[i].status);
        assert_int_equal(receipt.status, cases[i].status);
        assert_string_not_equal(err.text, "");
    }
    assert_int_equal(messages_stats(client, topic).waiting, 0);
    assert_no_bodies(topic);
    smq_producer_free(producer);
    smq_client_free(client);
}

static void inline_topics_take_no_ids(void **state)
{
    smq_client *client = cluster_client();
    smq_producer *producer = producer_of(client);
    smq_message message = SMQ_MESSAGE_INIT;
    const char *topic;
    smq_receipt receipt;
    smq_error err = SMQ_ERROR_INIT;

    smq_topic_options options = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME);
    topic = cluster_topic(client, &options);
    message.body = (smq_bytes){"b", 1};
    message.id = (smq_bytes){"i", 1};
    assert_int_equal(smq_send(producer, topic, &message, &receipt, &err), SMQ_WRONG_TYPE);
    assert_non_null(strstr(err.text, "layout keyed"));
    message = SMQ_MESSAGE();
    assert_int_equal(smq_send(producer, topic, &message, &receipt, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "empty"));
    message.body = (smq_bytes){"b", 1};
    assert_ok(smq_send(producer, topic, &message, &receipt, &err), &err);
    assert_string_equal(receipt.id, "");
    assert_int_equal(messages_stats(client, topic).waiting, 1);
    smq_producer_free(producer);
    smq_client_free(client);
}

TEST_GROUP(keyed)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delivery_has_key_id_and_body),
        cmocka_unit_test(waiting_id_merges_and_the_last_body_wins),
        cmocka_unit_test(same_id_under_another_key_is_another_message),
        cmocka_unit_test(send_during_the_handling_is_one_more_delivery),
        cmocka_unit_test(empty_body_goes_through),
        cmocka_unit_test(any_bytes_go_through),
        cmocka_unit_test(large_bodies_go_through),
        cmocka_unit_test(many_large_bodies_go_through),
        cmocka_unit_test(two_workers_share_a_topic),
        cmocka_unit_test(message_has_a_retry_limit_of_its_own),
        cmocka_unit_test(death_is_told_with_the_id),
        cmocka_unit_test(dead_letter_keeps_its_body),
        cmocka_unit_test(bad_messages_are_refused_and_nothing_is_stored),
        cmocka_unit_test(inline_topics_take_no_ids),
    };

    return cmocka_run_group_tests(tests, cluster_start_masters, cluster_end);
}
