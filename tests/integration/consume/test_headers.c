/* test_headers.c - headers of messages on a cluster: from the send over retries, death, requeue and
 * restore, in groups and in pushes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"

static const smq_header two[] = {{"traceparent", {"00-4bf9-01", 10}}, {"bytes", {"\0\xff:", 3}}};
static const smq_header other[] = {{"other", {NULL, 0}}};

#define TWO   .headers = two, .header_count = 2
#define OTHER .headers = other, .header_count = 1

static void send(smq_client *client, const char *topic, const smq_message *message)
{
    smq_producer *producer = messages_producer(client, NULL);

    messages_send_by(producer, topic, message);
    smq_producer_free(producer);
}

static void assert_headers(const smq_message_info *info, const smq_header *headers, size_t count,
                           const char *body)
{
    assert_int_equal(info->header_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(info->headers[i].name, headers[i].name);
        assert_int_equal(info->headers[i].value.len, headers[i].value.len);
        assert_memory_equal(info->headers[i].value.data, headers[i].value.data,
                            headers[i].value.len);
        assert_ptr_equal(smq_header_get(info, headers[i].name), &info->headers[i]);
    }
    assert_null(smq_header_get(info, "another"));
    assert_int_equal(info->body.len, strlen(body));
    assert_memory_equal(info->body.data, body, strlen(body));
}

struct expected {
    const smq_header *headers;
    size_t count;
    const char *body;
    smq_state state;
    int seen;
};

static bool on_message(const smq_message_info *info, void *user)
{
    struct expected *expected = user;

    assert_int_equal(info->state, expected->state);
    assert_headers(info, expected->headers, expected->count, expected->body);
    expected->seen++;
    return true;
}

/* One is visited, in this state, with these headers and this body. */
static void assert_visited(smq_client *client, const char *topic, struct expected expected)
{
    smq_error err = SMQ_ERROR_INIT;

    smq_filter filter = SMQ_FILTER(.states = expected.state);
    assert_ok(smq_message_each(client, topic, &filter, on_message, &expected, &err), &err);
    assert_int_equal(expected.seen, 1);
}

static smq_client *client;
static const char *topic;

static int open_topic(void **state)
{
    client = cluster_client();
    topic = cluster_topic(client, &SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .slots = 1,
                                                     .layout = SMQ_LAYOUT_KEYED, .max_retries = 1,
                                                     .backoff = "none"));
    return 0;
}

static int close_topic(void **state)
{
    smq_client_free(client);
    return 0;
}

static void headers_stay_until_the_message_is_done(void **state)
{
    const smq_message_ref which = SMQ_MESSAGE_REF(.id = {"i", 1});
    smq_consumer *consumer = messages_consumer(client, topic);
    smq_message_info *found = NULL;
    smq_error err = SMQ_ERROR_INIT;
    smq_delivery *delivery;

    send(client, topic, &SMQ_MESSAGE(.body = {"body", 4}, .id = {"i", 1}, TWO));
    delivery = messages_poll(consumer);
    assert_headers(smq_delivery_info(delivery), two, 2, "body");
    assert_ok(smq_retry(delivery, 0, "first", &err), &err);
    delivery = messages_poll(consumer);
    assert_int_equal(smq_delivery_info(delivery)->attempt, 2);
    assert_headers(smq_delivery_info(delivery), two, 2, "body");
    assert_visited(client, topic, (struct expected){two, 2, "body", SMQ_STATE_CLAIMED, 0});
    assert_ok(smq_retry(delivery, 0, "last", &err), &err);
    messages_await_counts(client, topic, (struct message_counts){0, 0, 0, 1, 0});
    assert_visited(client, topic, (struct expected){two, 2, "body", SMQ_STATE_DEAD, 0});
    assert_ok(smq_message_get(client, topic, &which, &found, &err), &err);
    assert_headers(found, two, 2, "body");
    smq_message_info_free(found);
    assert_ok(smq_dead_requeue(client, topic, NULL, NULL, NULL, NULL, &err), &err);
    delivery = messages_poll(consumer);
    assert_headers(smq_delivery_info(delivery), two, 2, "body");
    messages_done(delivery);
    messages_await_counts(client, topic, (struct message_counts){0, 0, 0, 0, 1});
    smq_consumer_free(consumer);
}

static void a_merge_keeps_the_headers_of_the_later_send(void **state)
{
    send(client, topic, &SMQ_MESSAGE(.body = {"one", 3}, .id = {"i", 1}, TWO));
    send(client, topic, &SMQ_MESSAGE(.body = {"two", 3}, .id = {"i", 1}, OTHER));
    assert_visited(client, topic, (struct expected){other, 1, "two", SMQ_STATE_WAITING, 0});
    send(client, topic, &SMQ_MESSAGE(.body = {"", 0}, .id = {"i", 1}, TWO));
    assert_visited(client, topic, (struct expected){two, 2, "", SMQ_STATE_WAITING, 0});
    send(client, topic, &SMQ_MESSAGE(.body = {"four", 4}, .id = {"i", 1}));
    assert_visited(client, topic, (struct expected){NULL, 0, "four", SMQ_STATE_WAITING, 0});
}

static void on_sent(const smq_receipt *receipt, void *user)
{
    *(smq_status *) user = receipt->status;
}

/* Nothing of the caller is used once the call has returned. */
static void a_send_without_waiting_copies_headers(void **state)
{
    char name[] = "other", value[] = "value";
    smq_header mine = {name, {value, 5}};
    static const smq_header kept = {"other", {"value", 5}};
    smq_producer *producer = messages_producer(client, NULL);
    smq_error err = SMQ_ERROR_INIT;
    smq_status status = SMQ_INTERNAL;

    assert_ok(smq_send_async(producer, topic,
                             &SMQ_MESSAGE(.body = {"b", 1}, .headers = &mine, .header_count = 1),
                             on_sent, &status, &err),
              &err);
    memset(name, 'x', sizeof(name) - 1);
    memset(value, 'x', sizeof(value) - 1);
    mine.name = NULL;
    assert_ok(smq_producer_flush(producer, TIMEOUT_MS, &err), &err);
    assert_int_equal(status, SMQ_OK);
    smq_producer_free(producer);
    assert_visited(client, topic, (struct expected){&kept, 1, "b", SMQ_STATE_WAITING, 0});
}

static void a_message_is_restored_with_its_headers(void **state)
{
    smq_producer *producer = messages_producer(client, NULL);
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_restore(producer, topic,
                          &SMQ_MESSAGE_COPY(.body = {"b", 1}, .id = {"i", 1}, .sent_at_ms = 1000,
                                            .expires_at_ms = INT64_C(1) << 42, .max_retries = 5,
                                            .attempt = 1, TWO),
                          NULL, &err),
              &err);
    assert_visited(client, topic, (struct expected){two, 2, "b", SMQ_STATE_WAITING, 0});
    smq_producer_free(producer);
}

/* A push has at most 4 KiB; for more the owner is told to look. */
static void pushes_have_headers(void **state)
{
    static char value[SMQ_HEADERS_BYTES_MAX];
    static const struct {
        size_t len;
        int pushes;
    } rows[] = {{10, 1}, {3000, 1}, {5000, 0}, {8000, 0}};
    smq_consumer *consumer = messages_consumer(client, topic);

    memset(value, 'v', sizeof(value));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const smq_header large = {"large", {value, rows[i].len}};
        int64_t before = keys_pushes();
        smq_delivery *delivery;

        keys_await_open(topic, 1, 1);
        send(client, topic,
             &SMQ_MESSAGE(.body = {"body", 4}, .headers = &large, .header_count = 1));
        delivery = messages_poll(consumer);
        assert_headers(smq_delivery_info(delivery), &large, 1, "body");
        assert_int_equal(keys_pushes() - before, rows[i].pushes);
        messages_done(delivery);
        messages_await_counts(client, topic, (struct message_counts){0, 0, 0, 0, (int64_t) i + 1});
    }
    smq_consumer_free(consumer);
}

/* A visit finds messages by a header, and text in bodies but not in headers. */
static void a_filter_matches_a_header(void **state)
{
    static const smq_header yes[] = {{"tenant", {"a", 1}}, {"city", {"Bonn", 4}}},
                            no[] = {{"city", {"tenant", 6}}};
    const struct {
        smq_header header;
        const char *contains;
        int seen;
    } rows[] = {
        {{"tenant", {"a", 1}}, NULL, 1},   {{"city", {"Bonn", 4}}, NULL, 1},
        {{"city", {"Bon", 3}}, NULL, 0},   {{"nobody", {"a", 1}}, NULL, 0},
        {{"city", {"Bonn", 4}}, "bod", 1}, {{"city", {"Bonn", 4}}, "Bonn", 0},
    };
    smq_error err = SMQ_ERROR_INIT;

    send(client, topic, &SMQ_MESSAGE(.body = {"body", 4}, .headers = yes, .header_count = 2));
    send(client, topic, &SMQ_MESSAGE(.body = {"else", 4}, .headers = no, .header_count = 1));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct expected expected = {yes, 2, "body", SMQ_STATE_WAITING, 0};

        smq_filter filter = SMQ_FILTER(.header = &rows[i].header, .contains = rows[i].contains);
        assert_ok(smq_message_each(client, topic, &filter, on_message, &expected, &err), &err);
        assert_int_equal(expected.seen, rows[i].seen);
    }
}

static void each_group_has_the_headers(void **state)
{
    const char *grouped =
        cluster_topic(client, &SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .slots = 1,
                                                 .layout = SMQ_LAYOUT_KEYED, .groups = "one,two"));
    static const char *const groups[] = {"one", "two"};

    send(client, grouped, &SMQ_MESSAGE(.body = {"body", 4}, TWO));
    for (size_t i = 0; i < 2; i++) {
        char name[160];

        snprintf(name, sizeof(name), "%s/%s", grouped, groups[i]);
        assert_visited(client, name, (struct expected){two, 2, "body", SMQ_STATE_WAITING, 0});
    }
}

static void layout_inline_refuses_headers(void **state)
{
    const char *plain =
        cluster_topic(client, &SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .slots = 1));
    smq_producer *producer = messages_producer(client, NULL);
    smq_error err = SMQ_ERROR_INIT;
    struct expected expected = {0};

    assert_int_equal(smq_send(producer, plain, &SMQ_MESSAGE(.body = {"b", 1}, TWO), NULL, &err),
                     SMQ_WRONG_TYPE);
    assert_non_null(strstr(err.text, "does not have layout keyed, which a header needs"));
    smq_filter filter = SMQ_FILTER(.header = two);
    assert_int_equal(smq_message_each(client, plain, &filter, on_message, &expected, &err),
                     SMQ_WRONG_TYPE);
    smq_producer_free(producer);
}

#define TOPIC_TEST(test) cmocka_unit_test_setup_teardown(test, open_topic, close_topic)

TEST_GROUP(headers)
{
    const struct CMUnitTest tests[] = {
        TOPIC_TEST(headers_stay_until_the_message_is_done),
        TOPIC_TEST(a_merge_keeps_the_headers_of_the_later_send),
        TOPIC_TEST(a_send_without_waiting_copies_headers),
        TOPIC_TEST(a_message_is_restored_with_its_headers),
        TOPIC_TEST(pushes_have_headers),
        TOPIC_TEST(a_filter_matches_a_header),
        TOPIC_TEST(each_group_has_the_headers),
        TOPIC_TEST(layout_inline_refuses_headers),
    };

    return cmocka_run_group_tests(tests, cluster_start_masters, cluster_end);
}
