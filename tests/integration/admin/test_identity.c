/* test_identity.c - what makes a message of layout inline another one: its key and its body, any
 * bytes, in every state and for every call that names a message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/fresh_client.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"

enum { CUSTOMERS = 120, BODY_MAX = 65536, KEY_MAX = 1024, HOUR_MS = 3600000 };

static const char order[] = "two books";

/* --- messages --- */

static smq_message message_for(const char *key, const char *body)
{
    smq_message message = messages_text(body);

    message.key = smq_text(key);
    return message;
}

static void topic_with(const char *name, smq_topic_type type, int32_t slots)
{
    smq_topic_options options = cluster_topic_options(name, type, slots);

    options.backoff = "none";
    cluster_create_topic(client, &options);
}

/* The same order of every customer; how many of the sends merged. */
static int order_for_all(const char *topic)
{
    static char keys[CUSTOMERS][16];
    static smq_message messages[CUSTOMERS];
    static smq_receipt receipts[CUSTOMERS];
    smq_error err;
    int merged = 0;

    for (int i = 0; i < CUSTOMERS; i++) {
        snprintf(keys[i], sizeof(keys[i]), "customer-%d", i);
        messages[i] = message_for(keys[i], order);
    }
    assert_ok(smq_send_batch(producer, topic, messages, CUSTOMERS, receipts, &err), &err);
    for (int i = 0; i < CUSTOMERS; i++) {
        merged += receipts[i].merged;
    }
    return merged;
}

static smq_stats stats_of(const char *topic)
{
    smq_stats stats = SMQ_STATS_INIT;
    smq_error err;

    assert_ok(smq_topic_stats(client, topic, &stats, &err), &err);
    return stats;
}

/* --- who was seen --- */

struct customers {
    int times[CUSTOMERS];
    int count;
};

static void note(struct customers *customers, const smq_message_info *info)
{
    char key[32] = "";
    int number = -1;

    assert_int_equal(info->body.len, strlen(order));
    assert_memory_equal(info->body.data, order, info->body.len);
    assert_int_equal(info->id.len, strlen(order));
    assert_memory_equal(info->id.data, order, info->id.len);
    assert_non_null(info->key.data);
    assert_true(info->key.len < sizeof(key));
    memcpy(key, info->key.data, info->key.len);
    assert_int_equal(sscanf(key, "customer-%d", &number), 1);
    assert_in_range(number, 0, CUSTOMERS - 1);
    customers->times[number]++;
    customers->count++;
}

static bool visit(const smq_message_info *info, void *user)
{
    note(user, info);
    return true;
}

/* Each once, but for `without`, who is not there; -1: all are. */
static void assert_all_seen(const struct customers *customers, int without)
{
    for (int i = 0; i < CUSTOMERS; i++) {
        assert_int_equal(customers->times[i], i == without ? 0 : 1);
    }
}

static void equal_bodies_of_different_keys_are_different_messages(void **state)
{
    smq_message second = message_for("customer-2", order);
    smq_message first = message_for("customer-1", order);
    struct customers customers = {.count = 0};
    smq_error err;

    topic_with("orders", SMQ_TYPE_PRIORITY, 64);
    assert_int_equal(order_for_all("orders"), 0);
    assert_int_equal(stats_of("orders").waiting, CUSTOMERS);
    assert_int_equal(order_for_all("orders"), CUSTOMERS); /* sent again, each merges */
    assert_int_equal(stats_of("orders").waiting, CUSTOMERS);
    assert_ok(smq_message_remove(client, "orders", MESSAGE_SENT(&second), &err), &err);
    assert_int_equal(smq_message_get(client, "orders", MESSAGE_SENT(&second), NULL, &err),
                     SMQ_NO_MESSAGE);
    assert_ok(smq_message_get(client, "orders", MESSAGE_SENT(&first), NULL, &err), &err);
    assert_ok(smq_message_each(client, "orders", NULL, visit, &customers, &err), &err);
    assert_all_seen(&customers, 2);
}

/* --- delivered --- */

static smq_consumer *consumer_made(const char *topic)
{
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.per_slot = CUSTOMERS);
    return messages_consumer_with(client, &options, topic);
}

static void each_key_has_its_delivery(void **state)
{
    struct customers customers = {.count = 0};
    smq_consumer *consumer;
    smq_error err;

    topic_with("orders", SMQ_TYPE_FIXED_TIME, 64);
    (void) order_for_all("orders");
    consumer = consumer_made("orders");
    while (customers.count < CUSTOMERS) {
        smq_delivery *delivery = messages_poll(consumer);

        note(&customers, smq_delivery_info(delivery));
        assert_ok(smq_done(delivery, &err), &err);
    }
    assert_ok(smq_consumer_flush(consumer, TIMEOUT_MS, &err), &err);
    assert_all_seen(&customers, -1);
    assert_int_equal(stats_of("orders").done, CUSTOMERS);
    smq_consumer_free(consumer);
}

/* --- one of two with one body, by its key, in every state --- */

static smq_state state_of(const char *topic, const char *key)
{
    smq_message which = message_for(key, order);
    smq_message_info *info = NULL;
    smq_state state;
    smq_error err;

    assert_ok(smq_message_get(client, topic, MESSAGE_SENT(&which), &info, &err), &err);
    if (key == NULL) {
        assert_null(info->key.data);
        assert_int_equal(info->key.len, 0);
    } else {
        assert_int_equal(info->key.len, strlen(key));
        assert_memory_equal(info->key.data, key, info->key.len);
    }
    assert_int_equal(info->body.len, strlen(order));
    assert_memory_equal(info->body.data, order, info->body.len);
    state = info->state;
    smq_message_info_free(info);
    return state;
}

static void a_key_names_one_of_two_in_every_state(void **state)
{
    smq_message ann = message_for("ann", order);
    smq_message bob = message_for("bob", order);
    smq_message nobody = message_for(NULL, order);
    smq_filter filter = SMQ_FILTER(.which = MESSAGE_SENT(&ann));
    smq_consumer *consumer;
    smq_delivery *deliveries[3];
    uint64_t count = 0;
    smq_error err;

    topic_with("two", SMQ_TYPE_FIXED_TIME, 1);
    assert_false(messages_send_by(producer, "two", &ann));
    assert_false(messages_send_by(producer, "two", &bob));
    assert_false(messages_send_by(producer, "two", &nobody));
    ann.delay_ms = HOUR_MS;
    assert_ok(smq_message_reschedule(client, "two", MESSAGE_SENT(&ann), &ann, &err), &err);
    assert_ok(smq_message_rank(client, "two", MESSAGE_SENT(&ann), &count, &err), &err);
    assert_int_equal(count, 2);
    ann.delay_ms = 0;
    assert_ok(smq_message_reschedule(client, "two", MESSAGE_SENT(&ann), &ann, &err), &err);
    consumer = consumer_made("two");
    for (int i = 0; i < 3; i++) {
        deliveries[i] = messages_poll(consumer);
    }
    assert_int_equal(state_of("two", "ann"), SMQ_STATE_CLAIMED);
    assert_int_equal(state_of("two", "bob"), SMQ_STATE_CLAIMED);
    assert_int_equal(state_of("two", NULL), SMQ_STATE_CLAIMED);
    for (int i = 0; i < 3; i++) {
        assert_ok(smq_reject(deliveries[i], "no such book", &err), &err);
    }
    assert_ok(smq_consumer_flush(consumer, TIMEOUT_MS, &err), &err);
    assert_int_equal(state_of("two", "ann"), SMQ_STATE_DEAD);
    assert_int_equal(state_of("two", "bob"), SMQ_STATE_DEAD);
    assert_int_equal(state_of("two", NULL), SMQ_STATE_DEAD);
    smq_consumer_free(consumer);
    assert_ok(smq_dead_requeue(client, "two", &filter, &count, NULL, NULL, &err), &err);
    assert_int_equal(count, 1);
    assert_int_equal(state_of("two", "ann"), SMQ_STATE_WAITING);
    assert_int_equal(state_of("two", "bob"), SMQ_STATE_DEAD);
    assert_ok(smq_message_remove(client, "two", MESSAGE_SENT(&bob), &err), &err);
    assert_int_equal(smq_message_get(client, "two", MESSAGE_SENT(&bob), NULL, &err),
                     SMQ_NO_MESSAGE);
    assert_int_equal(state_of("two", NULL), SMQ_STATE_DEAD);
    assert_int_equal(state_of("two", "ann"), SMQ_STATE_WAITING);
}

/* --- any bytes --- */

static char zeros[BODY_MAX];
static char letters[BODY_MAX];

/* Different messages all of them, in one slot. */
static const struct {
    smq_bytes key, body;
} forms[] = {
    {{NULL, 0}, {"b", 1}},
    {{"k", 1}, {"b", 1}},
    {{"kk", 2}, {"b", 1}},
    {{"k", 1}, {"kb", 2}},
    {{NULL, 0}, {"kb", 2}},
    {{"\0", 1}, {"b", 1}},
    {{NULL, 0}, {"\0", 1}},
    {{"k", 1}, {"\0", 1}},
    {{NULL, 0}, {"\0001:kb", 5}}, /* as the stored form of another */
    {{NULL, 0}, {"\0000:b", 4}},
    {{NULL, 0}, {zeros, BODY_MAX}},
    {{zeros, KEY_MAX}, {zeros, BODY_MAX}},
    {{letters, KEY_MAX}, {letters, BODY_MAX}},
    {{NULL, 0}, {letters, BODY_MAX}},
    {{letters, KEY_MAX}, {"b", 1}},
};

enum { FORMS = sizeof(forms) / sizeof(forms[0]) };

static smq_message form(size_t i)
{
    smq_message message = SMQ_MESSAGE(.key = forms[i].key, .body = forms[i].body);
    return message;
}

static bool same(const smq_bytes *bytes, const void *data, size_t len)
{
    if (bytes->data == NULL || data == NULL) {
        return bytes->data == NULL && data == NULL && len == 0;
    }
    return bytes->len == len && memcmp(bytes->data, data, len) == 0;
}

/* Which of the forms is it? */
static size_t form_of(const smq_message_info *info)
{
    for (size_t i = 0; i < FORMS; i++) {
        if (same(&forms[i].key, info->key.data, info->key.len) &&
            same(&forms[i].body, info->body.data, info->body.len)) {
            return i;
        }
    }
    fail_msg("key of %zu bytes, body of %zu", info->key.len, info->body.len);
    return FORMS;
}

static bool count_form(const smq_message_info *info, void *user)
{
    int *times = user;

    times[form_of(info)]++;
    return true;
}

static void any_bytes_are_a_key_and_a_body(void **state)
{
    int visited[FORMS] = {0};
    int delivered[FORMS] = {0};
    smq_consumer *consumer;
    smq_message message;
    smq_error err;

    memset(letters, 'x', sizeof(letters));
    topic_with("bytes", SMQ_TYPE_FIXED_TIME, 1);
    for (size_t i = 0; i < FORMS; i++) {
        message = form(i);
        assert_false(messages_send_by(producer, "bytes", &message));
    }
    for (size_t i = 0; i < FORMS; i++) {
        message = form(i);
        assert_true(messages_send_by(producer, "bytes", &message));
    }
    assert_int_equal(stats_of("bytes").waiting, FORMS);
    assert_ok(smq_message_each(client, "bytes", NULL, count_form, visited, &err), &err);
    consumer = consumer_made("bytes");
    for (size_t i = 0; i < FORMS; i++) {
        smq_delivery *delivery = messages_poll(consumer);

        (void) count_form(smq_delivery_info(delivery), delivered);
        assert_ok(smq_done(delivery, &err), &err);
    }
    for (size_t i = 0; i < FORMS; i++) {
        assert_int_equal(visited[i], 1);
        assert_int_equal(delivered[i], 1);
    }
    smq_consumer_free(consumer);
}

static void a_key_that_is_the_body_counts_as_none(void **state)
{
    smq_message plain = message_for(NULL, "b");
    smq_message doubled = message_for("b", "b");
    char order_text[512];

    topic_with("plain", SMQ_TYPE_FIXED_TIME, 1);
    assert_false(messages_send_by(producer, "plain", &plain));
    assert_true(messages_send_by(producer, "plain", &doubled));
    assert_string_equal(keys_order(order_text, "plain", 0, ""), "b");
}

/* --- bounds and filters --- */

static void largest_body_counts_the_body_alone(void **state)
{
    smq_topic_options options = cluster_topic_options("small", SMQ_TYPE_FIXED_TIME, 1);
    smq_message message = SMQ_MESSAGE_INIT;
    smq_receipt receipt;
    smq_error err;

    options.max_body = 3;
    cluster_create_topic(client, &options);
    message.key = (smq_bytes){zeros, KEY_MAX};
    message.body = (smq_bytes){"\0bc", 3};
    assert_false(messages_send_by(producer, "small", &message));
    message.body = (smq_bytes){"abcd", 4};
    assert_int_equal(smq_send(producer, "small", &message, &receipt, &err), SMQ_TOO_BIG);
    message.body = (smq_bytes){NULL, 0};
    assert_int_equal(smq_send(producer, "small", &message, &receipt, &err), SMQ_INVALID);
    assert_int_equal(stats_of("small").waiting, 1);
}

static bool count_up(const smq_message_info *info, void *user)
{
    (void) info;
    ++*(int *) user;
    return true;
}

static void a_text_is_found_in_key_and_body_and_nowhere_else(void **state)
{
    static const struct {
        const char *text;
        int found;
    } rows[] = {{"mann", 1}, {"books", 2}, {"two", 2}, {"nntwo", 0}, {"7:", 0}, {"tmann t", 0}};
    smq_message keyed = message_for("hartman", "nobody");
    smq_message first = message_for("hartmann", order);
    smq_message second = message_for("schmidt", order);
    smq_error err;

    topic_with("texts", SMQ_TYPE_FIXED_TIME, 1);
    assert_false(messages_send_by(producer, "texts", &keyed));
    assert_false(messages_send_by(producer, "texts", &first));
    assert_false(messages_send_by(producer, "texts", &second));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        smq_filter filter = SMQ_FILTER(.contains = rows[i].text);
        int found = 0;

        assert_ok(smq_message_each(client, "texts", &filter, count_up, &found, &err), &err);
        assert_int_equal(found, rows[i].found);
    }
}

/* --- topics of other versions --- */

static void a_topic_of_a_newer_version_is_refused(void **state)
{
    smq_message message = message_for("ann", order);
    smq_consumer *consumer = NULL;
    smq_receipt receipt;
    smq_error err = SMQ_ERROR_INIT;

    topic_with("newer", SMQ_TYPE_FIXED_TIME, 4);
    freeReplyObject(keys_command("topic{newer}", "HSET topic{newer} definition %s",
                                 "format=6 type=fixed_time layout=woven"));
    assert_int_equal(smq_send(producer, "newer", &message, &receipt, &err), SMQ_TOPIC_DIFFERS);
    assert_non_null(strstr(err.text, "a newer slotmq"));
    assert_non_null(strstr(err.text, "update this program"));
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.topic = "newer");
    assert_int_equal(smq_consumer_new(&consumer, client, &options, &err), SMQ_TOPIC_DIFFERS);
    assert_non_null(strstr(err.text, "update this program"));
    assert_int_equal(smq_topic_delete(client, "newer", true, &err), SMQ_TOPIC_DIFFERS);
    assert_int_equal(keys_number("newer_0", "EXISTS newer_0"), 1);
}

TEST_GROUP(identity)
{
    const struct CMUnitTest tests[] = {
        FRESH_CLIENT_TEST(equal_bodies_of_different_keys_are_different_messages),
        FRESH_CLIENT_TEST(each_key_has_its_delivery),
        FRESH_CLIENT_TEST(a_key_names_one_of_two_in_every_state),
        FRESH_CLIENT_TEST(any_bytes_are_a_key_and_a_body),
        FRESH_CLIENT_TEST(a_key_that_is_the_body_counts_as_none),
        FRESH_CLIENT_TEST(largest_body_counts_the_body_alone),
        FRESH_CLIENT_TEST(a_text_is_found_in_key_and_body_and_nowhere_else),
        FRESH_CLIENT_TEST(a_topic_of_a_newer_version_is_refused),
    };

    return cmocka_run_group_tests(tests, cluster_start_masters, cluster_end);
}
