/* test_change.c - topics that are altered, paused and resumed while a fleet works on them, on a
 * cluster of three masters. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { SLOTS = 8 };

static const char *shared_topic(smq_client *client)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .slots = SLOTS, .shared = true);
    return cluster_topic(client, &options);
}

static void alter(smq_client *client, const char *topic, const char *option, const char *value)
{
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(cluster_alter(client, topic, option, value, &err), &err);
}

/* A field of a slot's hash as text, "" for none. */
static void field_of(char out[64], const char *topic, int slot, const char *field)
{
    char key[64];
    redisContext *redis;
    redisReply *reply;

    snprintf(key, sizeof(key), "slot{%s_%d}", topic, slot);
    redis = redisConnect("127.0.0.1", server_port(servers_node_of(cluster_servers(), key)));
    assert_non_null(redis);
    reply = redisCommand(redis, "HGET %s %s", key, field);
    assert_non_null(reply);
    snprintf(out, 64, "%s", reply->str != NULL ? reply->str : "");
    freeReplyObject(reply);
    redisFree(redis);
}

struct described {
    int32_t max_retries;
    int64_t lease_ms, delay_ms;
    bool paused;
};

static bool describe(const smq_topic_info *topic, void *user)
{
    *(struct described *) user = (struct described){.max_retries = topic->options->max_retries,
                                                    .lease_ms = topic->options->lease_ms,
                                                    .delay_ms = topic->options->delay_ms,
                                                    .paused = topic->paused};
    return true;
}

static struct described described(smq_client *client, const char *topic)
{
    struct described seen = {0};
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(cluster_visit(client, topic, describe, &seen, &err), &err);
    return seen;
}

/* --- alter --- */

static smq_verdict retry(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    (void) seen;
    (void) index;
    return SMQ_RETRY;
}

static void an_alteration_reaches_consumers(void **state)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME);
    smq_client *client = cluster_client(), *other = cluster_client();
    struct handler_log *log = handler_log_new(retry);
    const char *topic = cluster_topic(client, &options);
    smq_consumer *worker = handler_log_worker(client, topic, log);

    alter(other, topic, "max_retries", "2");
    assert_int_equal(described(client, topic).max_retries, 2);
    messages_send(client, topic, (struct test_message){.body = "a"});
    messages_await_counts(client, topic, (struct message_counts){.waiting = 0, .dead = 1});
    assert_int_equal(handler_log_count(log), 3);
    assert_int_equal(handler_log_seen(log, 2).retries_left, 0);
    alter(other, topic, "max_retries", "none");
    messages_send(client, topic, (struct test_message){.body = "b"});
    messages_await_counts(client, topic, (struct message_counts){.waiting = 0, .dead = 2});
    assert_int_equal(handler_log_count(log), 4);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
    smq_client_free(other);
}

static void an_alteration_reaches_producers(void **state)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_RANGE_MERGE, .delay_ms = 1, .slots = SLOTS);
    smq_client *client = cluster_client(), *other = cluster_client();
    const char *topic = cluster_topic(client, &options);
    smq_producer *producer = NULL;
    smq_message message = SMQ_MESSAGE_INIT;
    smq_error err = SMQ_ERROR_INIT;

    message.body = (smq_bytes){"a", 1};
    message.delay_ms = SMQ_TOPIC_DELAY;
    assert_ok(smq_producer_new(&producer, client, NULL, &err), &err);
    assert_ok(smq_send(producer, topic, &message, NULL, &err), &err);
    alter(other, topic, "delay_ms", "1h");
    message.body = smq_text("b");
    assert_ok(smq_send(producer, topic, &message, NULL, &err), &err);
    assert_int_equal(messages_stats(client, topic).waiting, 2);
    assert_true(messages_stats(client, topic).due <= 1);
    alter(other, topic, "delay_ms", "none");
    message.body = smq_text("c");
    assert_ok(smq_send(producer, topic, &message, NULL, &err), &err);
    assert_int_equal(messages_stats(client, topic).due, 2); /* all but the second one */
    smq_producer_free(producer);
    smq_client_free(client);
    smq_client_free(other);
}

struct sending {
    smq_producer *producer;
    const char *topic;
};

static bool is_sent(void *user)
{
    const struct sending *sending = user;

    smq_message message = SMQ_MESSAGE(.body = smq_text("aa"));
    return smq_send(sending->producer, sending->topic, &message, NULL, NULL) == SMQ_OK;
}

/* It never reaches a slot, which could tell it. */
static void an_alteration_reaches_a_producer_that_is_refused(void **state)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS(.max_body = 1);
    smq_client *client = cluster_client(), *other = cluster_client();
    struct sending sending = {.topic = cluster_topic(client, &options)};
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_producer_new(&sending.producer, client, NULL, &err), &err);
    assert_false(is_sent(&sending)); /* the body is too big */
    alter(other, sending.topic, "max_body", "2");
    assert_true(wait_until(is_sent, &sending, TIMEOUT_MS));
    smq_producer_free(sending.producer);
    smq_client_free(client);
    smq_client_free(other);
}

/* As if the process had died when topic{T} was written, but no slot. */
static void a_cut_alteration_is_completed(void **state)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .slots = SLOTS);
    smq_client *client = cluster_client();
    const char *topic = cluster_topic(client, &options);
    char before[64], after[64], key[64];
    redisContext *redis;

    field_of(before, topic, 3, "def");
    alter(client, topic, "lease_ms", "5s");
    field_of(after, topic, 3, "def");
    assert_string_not_equal(before, after);
    snprintf(key, sizeof(key), "slot{%s_3}", topic);
    redis = redisConnect("127.0.0.1", server_port(servers_node_of(cluster_servers(), key)));
    freeReplyObject(redisCommand(redis, "HSET %s def %s", key, before));
    redisFree(redis);
    alter(client, topic, "lease_ms", "5s");
    field_of(before, topic, 3, "def");
    assert_string_equal(before, after); /* the same version: nothing was to be altered */
    assert_int_equal(described(client, topic).lease_ms, 5000);
    smq_client_free(client);
}

struct altering {
    smq_client *client;
    const char *topic, *option;
};

static void *alter_often(void *user)
{
    const struct altering *altering = user;
    char value[16];
    smq_error err = SMQ_ERROR_INIT;

    for (int i = 1; i <= 10; i++) {
        snprintf(value, sizeof(value), "%d", 1000 + i);
        if (cluster_alter(altering->client, altering->topic, altering->option, value, &err) !=
            SMQ_OK) {
            return memcpy(malloc(sizeof(err.text)), err.text, sizeof(err.text));
        }
    }
    return NULL;
}

static void two_alterations_at_once_are_both_kept(void **state)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_RANGE_MERGE, .delay_ms = 1, .slots = SLOTS);
    smq_client *client = cluster_client(), *other = cluster_client();
    const char *topic = cluster_topic(client, &options);
    struct altering one = {client, topic, "delay_ms"}, two = {other, topic, "lease_ms"};
    pthread_t thread;
    void *failure = NULL;
    char *own;

    assert_int_equal(pthread_create(&thread, NULL, alter_often, &two), 0);
    own = alter_often(&one);
    pthread_join(thread, &failure);
    if (own != NULL || failure != NULL) {
        fail_msg("%s", own != NULL ? own : (char *) failure);
    }
    assert_int_equal(described(client, topic).delay_ms, 1010);
    assert_int_equal(described(client, topic).lease_ms, 1010);
    smq_client_free(client);
    smq_client_free(other);
}

static void what_cannot_be_altered_is_told(void **state)
{
    static const struct {
        const char *option, *value, *told;
    } cases[] = {{"slots", "8", "fixed"},       {"type", "priority", "fixed"},
                 {"max_retries", "64", "63"},   {"lease", "1", "\"lease_ms\""},
                 {"lease_ms", "soon", "soon"},  {NULL, "1", "name"},
                 {"max_retries", NULL, "value"}};
    smq_topic_options options = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME);
    smq_client *client = cluster_client();
    const char *topic = cluster_topic(client, &options);
    smq_error err;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(cluster_alter(client, topic, cases[i].option, cases[i].value, &err),
                         SMQ_INVALID);
        assert_non_null(strstr(err.text, cases[i].told));
    }
    assert_int_equal(cluster_alter(client, "none", "max_retries", "1", &err), SMQ_NO_TOPIC);
    assert_int_equal(cluster_alter(client, "n{}", "max_retries", "1", &err), SMQ_INVALID);
    assert_int_equal(cluster_alter(NULL, topic, "max_retries", "1", &err), SMQ_INVALID);
    assert_int_equal(smq_topic_pause(client, "none", &err), SMQ_NO_TOPIC);
    assert_int_equal(smq_topic_resume(client, "n{}", &err), SMQ_INVALID);
    smq_client_free(client);
}

/* --- pause, resume --- */

struct paused_slots {
    const char *topic;
};

/* Has every consumer looked since, and seen that it must not claim? */
static bool all_looked(void *user)
{
    const struct paused_slots *paused = user;
    char parked[64];

    for (int i = 0; i < SLOTS; i++) {
        field_of(parked, paused->topic, i, "parked");
        if (strcmp(parked, "0") != 0) {
            return false;
        }
    }
    return true;
}

static void a_pause_holds_for_the_whole_fleet(void **state)
{
    smq_client *client = cluster_client(), *other = cluster_client();
    const char *topic = shared_topic(client);
    struct handler_log *first = handler_log_new(NULL), *second = handler_log_new(NULL);
    smq_consumer *one = handler_log_worker(client, topic, first),
                 *two = handler_log_worker(other, topic, second);
    struct paused_slots paused = {.topic = topic};
    smq_error err = SMQ_ERROR_INIT;
    char body[16];

    assert_ok(smq_topic_pause(client, topic, &err), &err);
    assert_ok(smq_topic_pause(other, topic, &err), &err);
    assert_true(described(client, topic).paused);
    for (int i = 0; i < 100; i++) {
        snprintf(body, sizeof(body), "m-%d", i);
        messages_send(client, topic, (struct test_message){.body = body});
    }
    assert_true(wait_until(all_looked, &paused, TIMEOUT_MS));
    assert_int_equal(handler_log_count(first) + handler_log_count(second), 0);
    assert_int_equal(messages_stats(client, topic).due, 100);
    assert_ok(smq_topic_resume(other, topic, &err), &err);
    assert_false(described(client, topic).paused);
    messages_await_counts(client, topic, (struct message_counts){.waiting = 0, .done = 100});
    assert_int_equal(handler_log_count(first) + handler_log_count(second), 100);
    handler_log_stop_worker(one);
    handler_log_stop_worker(two);
    handler_log_free(first);
    handler_log_free(second);
    smq_client_free(client);
    smq_client_free(other);
}

static void work_in_flight_ends_and_a_pause_outlives_its_process(void **state)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_PRIORITY);
    smq_client *client = cluster_client(), *other = cluster_client();
    const char *topic = cluster_topic(client, &options);
    struct handler_log *log = handler_log_new(NULL);
    smq_error err = SMQ_ERROR_INIT;
    smq_consumer *worker;

    handler_log_gate(log);
    worker = handler_log_worker(client, topic, log);
    messages_send(client, topic, (struct test_message){.body = "a", .priority = 1});
    handler_log_await(log, 1);
    assert_ok(smq_topic_pause(other, topic, &err), &err);
    smq_client_free(other);
    messages_send(client, topic, (struct test_message){.body = "b", .priority = 9});
    handler_log_open(log, 100);
    messages_await_counts(client, topic,
                          (struct message_counts){.waiting = 1, .claimed = 0, .done = 1});
    handler_log_stop_worker(worker);
    worker = handler_log_worker(client, topic, log);
    other = cluster_client();
    assert_ok(smq_topic_resume(other, topic, &err), &err);
    handler_log_await(log, 2);
    assert_string_equal(handler_log_seen(log, 1).body, "b");
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
    smq_client_free(other);
}

static void a_paused_topic_can_be_altered_and_deleted(void **state)
{
    smq_client *client = cluster_client();
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.name = "again", .type = SMQ_TYPE_FIXED_TIME, .slots = SLOTS);
    smq_error err = SMQ_ERROR_INIT;
    char paused[64];

    assert_ok(smq_topic_create(client, &options, NULL, &err), &err);
    assert_ok(smq_topic_pause(client, "again", &err), &err);
    alter(client, "again", "max_retries", "3");
    assert_true(described(client, "again").paused);
    field_of(paused, "again", 7, "paused");
    assert_string_equal(paused, "1");
    assert_ok(smq_topic_delete(client, "again", false, &err), &err);
    assert_ok(smq_topic_create(client, &options, NULL, &err), &err);
    assert_false(described(client, "again").paused);
    field_of(paused, "again", 7, "paused");
    assert_string_equal(paused, "");
    smq_client_free(client);
}

TEST_GROUP(change)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_alteration_reaches_consumers),
        cmocka_unit_test(an_alteration_reaches_producers),
        cmocka_unit_test(an_alteration_reaches_a_producer_that_is_refused),
        cmocka_unit_test(a_cut_alteration_is_completed),
        cmocka_unit_test(two_alterations_at_once_are_both_kept),
        cmocka_unit_test(what_cannot_be_altered_is_told),
        cmocka_unit_test(a_pause_holds_for_the_whole_fleet),
        cmocka_unit_test(work_in_flight_ends_and_a_pause_outlives_its_process),
        cmocka_unit_test(a_paused_topic_can_be_altered_and_deleted),
    };

    return cmocka_run_group_tests_name("change", tests, cluster_start_masters, cluster_end);
}
