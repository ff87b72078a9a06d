/* test_topic.c - creating, describing and deleting topics on a real cluster. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "model/topic.h"
#include "support/group.h"

static smq_client *client;

static int set_up(void **state)
{
    keys_flush();
    client = cluster_client();
    return 0;
}

static int tear_down(void **state)
{
    smq_client_free(client);
    return 0;
}

/* --- creating --- */

static void assert_type(const char *key, const char *type)
{
    char text[512];

    assert_string_equal(keys_text(text, key, "TYPE %s", key), type);
}

static void keys_stand_as_designed(void **state)
{
    static const smq_topic_type types[] = {SMQ_TYPE_RANGE_MERGE, SMQ_TYPE_PRIORITY,
                                           SMQ_TYPE_FIXED_TIME};
    static const char *const sentinels[] = {"inf", "-inf", "inf"};

    for (int t = 0; t < 3; t++) {
        smq_topic_options options = cluster_topic_options("t", types[t], 4);
        char text[512], nonce[64];
        smq_error err;

        options.delay_ms = types[t] == SMQ_TYPE_RANGE_MERGE ? 1000 : 0;
        cluster_create_topic(client, &options);
        keys_text(nonce, "topic{t}", "HGET topic{t} nonce");
        assert_int_equal(strlen(nonce), 16);
        assert_string_equal(keys_text(text, "topic{t}", "HGET topic{t} state"), "ready");
        assert_int_equal(keys_number("topic{t}", "HGET topic{t} version"), 1);
        assert_int_equal(keys_number("topic{t}", "HGET topic{t} generation"), t + 1);
        assert_true(keys_number("slotmq{topics}", "HGET slotmq{topics} t") > 1600000000000);
        for (int i = 0; i < 4; i++) {
            char store[32], prepare[32], dead[32], why[32], slot[32], stamp[80];
            int64_t hash;

            snprintf(store, sizeof(store), "t_%d", i);
            snprintf(prepare, sizeof(prepare), "prepare{t_%d}", i);
            snprintf(dead, sizeof(dead), "dead{t_%d}", i);
            snprintf(why, sizeof(why), "why{t_%d}", i);
            snprintf(slot, sizeof(slot), "slot{t_%d}", i);
            snprintf(stamp, sizeof(stamp), "%s.1", nonce);
            assert_type(store, "zset");
            assert_type(prepare, "zset");
            assert_type(dead, "zset");
            assert_type(why, "hash");
            assert_type(slot, "hash");
            assert_string_equal(keys_text(text, store, "ZSCORE %s %b", store, "", (size_t) 0),
                                sentinels[t]);
            assert_string_equal(keys_text(text, store, "ZSCORE %s %b", prepare, "", (size_t) 0),
                                "inf");
            assert_string_equal(keys_text(text, store, "HGET %s def", slot), stamp);
            assert_string_equal(keys_text(text, store, "HGET %s token", slot),
                                "000000000000000000000000");
            hash = keys_number(store, "CLUSTER KEYSLOT %s", store);
            assert_int_equal(keys_number(store, "CLUSTER KEYSLOT %s", prepare), hash);
            assert_int_equal(keys_number(store, "CLUSTER KEYSLOT %s", dead), hash);
            assert_int_equal(keys_number(store, "CLUSTER KEYSLOT %s", why), hash);
            assert_int_equal(keys_number(store, "CLUSTER KEYSLOT %s", slot), hash);
        }
        assert_ok(smq_topic_delete(client, "t", false, &err), &err);
        assert_string_equal(keys_text(text, "slotmq{topics}", "HGET slotmq{topics} t"), "");
        assert_string_equal(keys_text(text, "topic{t}", "HGET topic{t} state"), "");
        assert_string_equal(keys_text(text, "t_0", "HGET slot{t_0} def"), "");
    }
}

static void a_shared_topic_has_no_tokens(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_PRIORITY, 1);
    char text[512];

    options.shared = true;
    cluster_create_topic(client, &options);
    assert_string_equal(keys_text(text, "t_0", "HGET slot{t_0} token"), "shared");
}

static void creating_again_is_fine_if_it_is_the_same(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 4);
    char before[512], after[512];
    smq_error err;

    cluster_create_topic(client, &options);
    keys_text(before, "topic{t}", "HGET topic{t} nonce");
    cluster_create_topic(client, &options);
    assert_string_equal(keys_text(after, "topic{t}", "HGET topic{t} nonce"), before);
    options.slots = 8;
    assert_int_equal(smq_topic_create(client, &options, NULL, &err), SMQ_TOPIC_DIFFERS);
    assert_non_null(strstr(err.text, "slots is 4, not 8"));
    options.slots = 4;
    options.type = SMQ_TYPE_PRIORITY;
    assert_int_equal(smq_topic_create(client, &options, NULL, &err), SMQ_TOPIC_DIFFERS);
    assert_non_null(strstr(err.text, "type"));
    assert_int_equal(keys_number("t_7", "EXISTS t_7"), 0);
}

/* Of all nodes. */
static long long count_keys(void)
{
    long long count = 0;

    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        redisReply *reply = keys_command_at(servers_node(cluster_servers(), i), "DBSIZE");

        count += reply->integer;
        freeReplyObject(reply);
    }
    return count;
}

static void bad_definitions_change_nothing(void **state)
{
    static const struct {
        const char *name;
        int32_t slots;
    } cases[] = {{"a{b}", 4}, {"", 4}, {NULL, 4}, {"t", 3}, {"t", 131072}, {"t", -1}};
    smq_topic_options options;
    smq_error err;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        options = cluster_topic_options(cases[i].name, SMQ_TYPE_PRIORITY, cases[i].slots);
        assert_int_equal(smq_topic_create(client, &options, NULL, &err), SMQ_INVALID);
        assert_true(strlen(err.text) > 0);
    }
    options = cluster_topic_options("t", SMQ_TYPE_PRIORITY, 4);
    options.struct_size = 0;
    assert_int_equal(smq_topic_create(client, &options, NULL, &err), SMQ_INVALID);
    assert_int_equal(smq_topic_create(client, NULL, NULL, &err), SMQ_INVALID);
    assert_int_equal(smq_topic_create(NULL, &options, NULL, &err), SMQ_INVALID);
    assert_int_equal(count_keys(), 0);
}

/* As if the process had died after some of the slots. */
static void a_cut_creation_is_completed(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 4);
    smq_producer *producer = messages_producer(client, NULL);
    smq_message message = messages_text("hello");
    char text[512];
    smq_error err;

    cluster_create_topic(client, &options);
    freeReplyObject(keys_command("topic{t}", "HSET topic{t} state creating"));
    freeReplyObject(keys_command("slotmq{topics}", "HDEL slotmq{topics} t"));
    freeReplyObject(keys_command("t_2", "DEL t_2 prepare{t_2} dead{t_2} why{t_2} slot{t_2}"));
    assert_int_equal(smq_send(producer, "t", &message, NULL, &err), SMQ_NO_TOPIC);
    options.slots = 8;
    assert_int_equal(smq_topic_create(client, &options, NULL, &err), SMQ_TOPIC_DIFFERS);
    options.slots = 4;
    cluster_create_topic(client, &options);
    assert_string_equal(keys_text(text, "topic{t}", "HGET topic{t} state"), "ready");
    assert_int_equal(keys_number("t_2", "ZCARD t_2"), 1);
    assert_int_equal(keys_number("slotmq{topics}", "HEXISTS slotmq{topics} t"), 1);
    (void) messages_send_by(producer, "t", &message);
    smq_producer_free(producer);
}

static void keys_of_others_are_not_touched(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 4);
    char text[512];
    smq_error err;

    freeReplyObject(keys_command("t_2", "SET t_2 precious"));
    assert_int_equal(smq_topic_create(client, &options, NULL, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "t_2"));
    assert_string_equal(keys_text(text, "t_2", "GET t_2"), "precious");
    assert_int_equal(count_keys(), 1); /* nothing of ours is left */
    freeReplyObject(keys_command("t_2", "DEL t_2"));
    cluster_create_topic(client, &options);
}

/* A slot that may not be opened takes back what was made before it, and what was made of itself:
 * here the other node's slots.  A user who may do so can create the topic then. */
static void a_denied_creation_leaves_nothing(void **state)
{
    /* Before anything of a slot is written, and when all of its keys are there. */
    static const char *const rights[] = {"-zadd +zadd", "-hdel +hdel", "-hsetnx +hsetnx",
                                         "-hset +hset"};
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 16);
    smq_error err;

    for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
        char without[16], with[16];
        smq_status status;

        assert_int_equal(sscanf(rights[i], "%15s %15s", without, with), 2);
        freeReplyObject(keys_command("t_2", "ACL SETUSER default %s", without));
        status = smq_topic_create(client, &options, NULL, &err);
        freeReplyObject(keys_command("t_2", "ACL SETUSER default %s", with));
        assert_int_equal(status, SMQ_DENIED);
        assert_int_equal(count_keys(), 0);
        assert_null(strstr(err.text, "half created"));
        cluster_create_topic(client, &options);
        assert_ok(smq_topic_delete(client, "t", false, &err), &err);
        keys_flush();
    }
}

/* As if the process that creates the topic had died before the first of its slots. */
static void creation_begun(const smq_topic_options *options)
{
    cluster_create_topic(client, options);
    freeReplyObject(keys_command("topic{t}", "HSET topic{t} state creating"));
    freeReplyObject(keys_command("slotmq{topics}", "HDEL slotmq{topics} t"));
    for (int i = 0; i < options->slots; i++) {
        char store[16];

        snprintf(store, sizeof(store), "t_%d", i);
        freeReplyObject(keys_command(store, "DEL %s prepare{%s} dead{%s} why{%s} slot{%s}", store,
                                     store, store, store, store));
    }
    assert_int_equal(count_keys(), 1);
}

/* Keys that the user may not touch at all. */
static void creation_without_its_keys_leaves_nothing(const smq_topic_options *options)
{
    smq_status status;
    smq_error err;

    freeReplyObject(keys_command("t_2", "ACL SETUSER default resetkeys ~topic{t} ~slotmq{topics}"));
    status = smq_topic_create(client, options, NULL, &err);
    freeReplyObject(keys_command("t_2", "ACL SETUSER default allkeys"));
    assert_int_equal(status, SMQ_DENIED);
    assert_null(strstr(err.text, "half created"));
    assert_int_equal(count_keys(), 0);
    cluster_create_topic(client, options);
}

/* It looks at its slots before it makes anything, and ends there. */
static void a_creation_without_its_keys_leaves_nothing(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 16);

    creation_without_its_keys_leaves_nothing(&options);
}

/* This one opens the slots of the other node, and takes that back. */
static void nor_does_one_that_completes_what_was_begun(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 16);

    creation_begun(&options);
    creation_without_its_keys_leaves_nothing(&options);
}

/* --- deleting --- */

static void only_an_empty_topic_is_deleted_without_force(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 4);
    smq_producer *producer = messages_producer(client, NULL);
    smq_message message = messages_text("hello");
    char text[512];
    smq_error err;

    cluster_create_topic(client, &options);
    for (int i = 0; i < 5; i++) {
        char body[16];

        snprintf(body, sizeof(body), "m-%d", i);
        message.body = smq_text(body);
        (void) messages_send_by(producer, "t", &message);
    }
    assert_int_equal(smq_topic_delete(client, "t", false, &err), SMQ_NOT_EMPTY);
    assert_non_null(strstr(err.text, "5 messages"));
    assert_string_equal(keys_text(text, "topic{t}", "HGET topic{t} state"), "ready");
    message = messages_text("again");
    (void) messages_send_by(producer, "t", &message);
    assert_ok(smq_topic_delete(client, "t", true, &err), &err);
    assert_int_equal(smq_send(producer, "t", &message, NULL, &err), SMQ_NO_TOPIC);
    for (int i = 0; i < 4; i++) {
        char store[16];

        snprintf(store, sizeof(store), "t_%d", i);
        assert_int_equal(keys_number(store, "EXISTS %s", store), 0);
    }
    assert_int_equal(smq_topic_delete(client, "t", true, &err), SMQ_NO_TOPIC);
    assert_int_equal(smq_topic_delete(client, "never", false, &err), SMQ_NO_TOPIC);
    cluster_create_topic(client, &options);
    assert_false(messages_send_by(producer, "t", &message));
    smq_producer_free(producer);
}

/* As if the process had died between the steps. */
static void a_cut_deletion_is_completed(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 4);
    char text[512];
    smq_error err;

    cluster_create_topic(client, &options);
    freeReplyObject(keys_command("topic{t}", "HSET topic{t} state deleting"));
    freeReplyObject(keys_command("t_1", "HDEL slot{t_1} def"));
    assert_int_equal(smq_topic_create(client, &options, NULL, &err), SMQ_TOPIC_DIFFERS);
    assert_non_null(strstr(err.text, "being deleted"));
    assert_ok(smq_topic_delete(client, "t", false, &err), &err);
    assert_string_equal(keys_text(text, "topic{t}", "HGET topic{t} state"), "");
    cluster_create_topic(client, &options);
    freeReplyObject(
        keys_command("topic{t}", "HSET topic{t} state deleting deletes 2 deleter other"));
    freeReplyObject(
        keys_command("slotmq{topics}", "HDEL slotmq{topics} t")); /* the last step but one */
    assert_ok(smq_topic_delete(client, "t", false, &err), &err);
    freeReplyObject(keys_command("slotmq{topics}", "HSET slotmq{topics} t 1"));
    assert_int_equal(smq_topic_delete(client, "t", false, &err), SMQ_NO_TOPIC);
    assert_non_null(strstr(err.text, "removed from the list"));
    assert_int_equal(keys_number("slotmq{topics}", "HEXISTS slotmq{topics} t"), 0);
    assert_int_equal(smq_topic_delete(client, "t", false, &err), SMQ_NO_TOPIC);
    assert_null(strstr(err.text, "removed from the list"));
}

/* A message that comes between the look and the seal: the deletion is taken back everywhere. */
static void a_deletion_that_finds_messages_is_taken_back(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 4);
    smq_producer *producer = messages_producer(client, NULL);
    smq_message message = messages_text("hello");
    char text[512], stamp[512];
    smq_error err;

    cluster_create_topic(client, &options);
    (void) messages_send_by(producer, "t", &message);
    keys_text(stamp, "t_0", "HGET slot{t_0} def");
    freeReplyObject(keys_command("topic{t}", "HSET topic{t} state deleting"));
    freeReplyObject(keys_command("t_1", "HDEL slot{t_1} def"));
    assert_int_equal(smq_topic_delete(client, "t", false, &err), SMQ_NOT_EMPTY);
    assert_string_equal(keys_text(text, "topic{t}", "HGET topic{t} state"), "deleting");
    assert_ok(smq_topic_delete(client, "t", true, &err), &err);
    smq_producer_free(producer);
}

static void the_largest_topic_takes_seconds(void **state)
{
    smq_topic_options options = cluster_topic_options("big", SMQ_TYPE_FIXED_TIME, TOPIC_SLOTS_MAX);
    smq_producer *producer = messages_producer(client, NULL);
    smq_stats stats = SMQ_STATS_INIT;
    smq_message message = messages_text("hello");
    smq_error err;

    cluster_create_topic(client, &options);
    (void) messages_send_by(producer, "big", &message);
    assert_ok(smq_topic_stats(client, "big", &stats, &err), &err);
    assert_int_equal(stats.waiting, 1);
    assert_int_equal(smq_topic_delete(client, "big", false, &err), SMQ_NOT_EMPTY);
    assert_ok(smq_topic_delete(client, "big", true, &err), &err);
    smq_producer_free(producer);
}

/* --- describing --- */

struct seen {
    int count, limit;
    char names[256];
    smq_topic_options last;
    char backoff[64];
    char why[256]; /* the last that cannot be read */
};

static bool on_topic(const smq_topic_info *topic, void *user)
{
    struct seen *seen = user;

    seen->count++;
    snprintf(seen->names + strlen(seen->names), sizeof(seen->names) - strlen(seen->names), "%s%s ",
             topic->name, topic->unreadable != NULL ? "!" : "");
    seen->last = *topic->options;
    if (topic->unreadable == NULL) {
        snprintf(seen->backoff, sizeof(seen->backoff), "%s", topic->options->backoff);
    } else {
        snprintf(seen->why, sizeof(seen->why), "%s", topic->unreadable);
    }
    return seen->count != seen->limit;
}

static void topics_are_described_with_their_defaults(void **state)
{
    smq_topic_options options = cluster_topic_options("one", SMQ_TYPE_PRIORITY, 0);
    struct seen seen = {.count = 0};
    smq_error err;

    cluster_create_topic(client, &options);
    assert_ok(cluster_visit(client, "one", on_topic, &seen, &err), &err);
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.names, "one ");
    assert_int_equal(seen.last.type, SMQ_TYPE_PRIORITY);
    assert_int_equal(seen.last.slots, 64);
    assert_int_equal(seen.last.max_retries, 16);
    assert_int_equal(seen.last.lease_ms, 30000);
    assert_string_equal(seen.backoff, "exp:1000:600000");
    assert_int_equal(cluster_visit(client, "two", on_topic, &seen, &err), SMQ_NO_TOPIC);
    assert_int_equal(smq_topic_each(client, NULL, &seen, &err), SMQ_INVALID);
    assert_ok(smq_topic_get(client, "one", NULL, &err), &err);
    assert_int_equal(smq_topic_get(NULL, "one", NULL, &err), SMQ_INVALID);
    smq_topic_info_free(NULL);
}

static void all_topics_are_visited_and_broken_ones_are_told(void **state)
{
    static const char *const names[] = {"b", "a", "c", "d"};
    struct seen seen = {.count = 0};
    smq_error err;

    assert_ok(cluster_visit(client, NULL, on_topic, &seen, &err), &err);
    assert_int_equal(seen.count, 0);
    for (int i = 0; i < 4; i++) {
        smq_topic_options options = cluster_topic_options(names[i], SMQ_TYPE_PRIORITY, 2);

        cluster_create_topic(client, &options);
    }
    assert_ok(cluster_visit(client, NULL, on_topic, &seen, &err), &err);
    assert_string_equal(seen.names, "a b c d ");
    freeReplyObject(keys_command("topic{c}", "HSET topic{c} state creating"));
    seen = (struct seen){.limit = 2};
    assert_ok(cluster_visit(client, NULL, on_topic, &seen, &err), &err);
    assert_string_equal(seen.names, "a b ");
    freeReplyObject(keys_command("topic{a}", "HSET topic{a} definition nonsense"));
    seen = (struct seen){.limit = 0};
    assert_ok(cluster_visit(client, NULL, on_topic, &seen, &err), &err);
    assert_string_equal(seen.names, "a! b d ");
    assert_non_null(strstr(seen.why, "topic a cannot be read"));
    freeReplyObject(
        keys_command("topic{b}", "HSET topic{b} definition %s", "format=99 type=priority"));
    seen = (struct seen){.limit = 0};
    assert_ok(cluster_visit(client, NULL, on_topic, &seen, &err), &err);
    assert_string_equal(seen.names, "a! b! d ");
    assert_non_null(strstr(seen.why, "topic b was made by a newer slotmq"));
    assert_int_equal(cluster_visit(client, "a", on_topic, &seen, &err), SMQ_INTERNAL);
    assert_int_equal(cluster_visit(client, "b", on_topic, &seen, &err), SMQ_TOPIC_DIFFERS);
}

#define TOPIC_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

TEST_GROUP(topic)
{
    const struct CMUnitTest tests[] = {
        TOPIC_TEST(keys_stand_as_designed),
        TOPIC_TEST(a_shared_topic_has_no_tokens),
        TOPIC_TEST(creating_again_is_fine_if_it_is_the_same),
        TOPIC_TEST(bad_definitions_change_nothing),
        TOPIC_TEST(a_cut_creation_is_completed),
        TOPIC_TEST(keys_of_others_are_not_touched),
        TOPIC_TEST(a_denied_creation_leaves_nothing),
        TOPIC_TEST(a_creation_without_its_keys_leaves_nothing),
        TOPIC_TEST(nor_does_one_that_completes_what_was_begun),
        TOPIC_TEST(only_an_empty_topic_is_deleted_without_force),
        TOPIC_TEST(a_cut_deletion_is_completed),
        TOPIC_TEST(a_deletion_that_finds_messages_is_taken_back),
        TOPIC_TEST(the_largest_topic_takes_seconds),
        TOPIC_TEST(topics_are_described_with_their_defaults),
        TOPIC_TEST(all_topics_are_visited_and_broken_ones_are_told),
    };

    return cmocka_run_group_tests_name("topic", tests, cluster_start_masters, cluster_end);
}
