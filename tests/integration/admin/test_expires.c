/* test_expires.c - topics that are deleted when they were not used for a while. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/fresh_client.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { SLOTS = 4, SHORT_MS = 1000, LONG_MS = 600000, BURST = 8, TOPICS = 40, NAME_MAX_ = 16 };

#define LIST    "slotmq{expiring}"
#define CREATED SMQ_TOPIC_OPTIONS(.slots = SLOTS, .expires_ms = SHORT_MS)

static void create(const char *name, smq_topic_options options)
{
    options.name = name;
    cluster_create_topic(client, &options);
}

/* --- what is there --- */

static bool is_gone(void *name)
{
    char key[64];

    (void) snprintf(key, sizeof(key), "topic{%s}", (const char *) name);
    return keys_number(key, "EXISTS %s", key) == 0;
}

static bool is_unlisted(void *name)
{
    char text[512];

    return keys_text(text, LIST, "ZSCORE " LIST " %s", (const char *) name)[0] == '\0';
}

/* It was looked at, and nobody had marked it. */
static bool is_doubted(void *name)
{
    char key[64];

    (void) snprintf(key, sizeof(key), "topic{%s}", (const char *) name);
    return keys_number(key, "HEXISTS %s doubted", key) == 1;
}

static void await(wait_condition *condition, const char *name)
{
    char copy[NAME_MAX_];

    (void) snprintf(copy, sizeof(copy), "%s", name);
    if (!wait_until(condition, copy, TIMEOUT_MS)) {
        fail_msg("topic %s", name);
    }
}

static void await_deleted(const char *name)
{
    await(is_gone, name);
    await(is_unlisted, name);
}

/* Keys of all nodes that do not end by themselves, without those of the fleet. */
static int keys_left(void)
{
    int left = 0;

    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        const struct server *node = servers_node(cluster_servers(), i);
        redisReply *keys = keys_command_at(node, "KEYS *");

        for (size_t k = 0; k < keys->elements; k++) {
            redisReply *ttl = keys_command_at(node, "PTTL %s", keys->element[k]->str);

            if (ttl->integer < 0 && strncmp(keys->element[k]->str, "tree{", 5) != 0) {
                print_message("left: %s\n", keys->element[k]->str);
                left++;
            }
            freeReplyObject(ttl);
        }
        freeReplyObject(keys);
    }
    return left;
}

/* --- messages --- */

static void send_one(const char *topic)
{
    (void) messages_send(client, topic, (struct test_message){.body = "b"});
}

/* Of a topic with a waiting message, or none. */
static smq_consumer *consumer_after(const char *topic, bool handled)
{
    smq_consumer *consumer = messages_consumer(client, topic);

    if (handled) {
        messages_done(messages_poll(consumer));
    }
    return consumer;
}

static void handle_one(const char *topic)
{
    smq_error err;
    smq_consumer *consumer = consumer_after(topic, true);

    assert_ok(smq_consumer_flush(consumer, TIMEOUT_MS, &err), &err);
    smq_consumer_free(consumer);
}

/* Nobody has marked the topic for long; it is due, and was perhaps doubted before. */
static void make_due(const char *name, bool doubted)
{
    char key[64];

    (void) snprintf(key, sizeof(key), "topic{%s}", name);
    freeReplyObject(keys_command(key, "HSET %s used 1", key));
    if (doubted) {
        freeReplyObject(keys_command(key, "HSET %s doubted 1", key));
    }
    freeReplyObject(keys_command(LIST, "ZADD " LIST " 1 %s", name));
}

/* It was due, and whoever has looked at it has put it off. */
static bool is_put_off(void *name)
{
    int64_t at = keys_number(LIST, "ZSCORE " LIST " %s", (const char *) name);

    return at > 1 && at < (int64_t) time(NULL) * 1000 + INT64_C(10) * SHORT_MS;
}

/* --- disuse --- */

static void all_keys_of_an_unused_topic_go(void **state)
{
    const smq_topic_options forms[] = {
        SMQ_TOPIC_OPTIONS(.name = "keyed", .slots = SLOTS, .expires_ms = LONG_MS),
        SMQ_TOPIC_OPTIONS(.name = "inline", .slots = SLOTS, .expires_ms = LONG_MS,
                          .type = SMQ_TYPE_PRIORITY),
        SMQ_TOPIC_OPTIONS(.name = "shared", .slots = SLOTS, .expires_ms = LONG_MS, .shared = true),
        SMQ_TOPIC_OPTIONS(.name = "never", .slots = SLOTS, .expires_ms = LONG_MS),
        SMQ_TOPIC_OPTIONS(.name = "g", .slots = SLOTS, .expires_ms = LONG_MS, .groups = "a,b"),
        /* also with messages, if it says so */
        SMQ_TOPIC_OPTIONS(.name = "full", .slots = SLOTS, .expires_ms = LONG_MS,
                          .expires_with_messages = true),
    };
    smq_error err;

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        cluster_create_topic(client, &forms[i]);
    }
    for (int i = 0; i < 3; i++) {
        send_one(forms[i].name);
        handle_one(forms[i].name);
    }
    send_one("g");
    handle_one("g/a");
    handle_one("g/b");
    messages_send_numbers(client, "full", 0, 20);
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        assert_ok(cluster_alter(client, forms[i].name, "expires_ms", "1s", &err), &err);
    }
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        await_deleted(forms[i].name);
    }
    assert_int_equal(keys_left(), 0);
}

/* One is kept by a consumer, of a group one, and one by sends. */
static void a_topic_in_use_stays(void **state)
{
    smq_topic_options with_groups = CREATED;
    smq_consumer *consumers[2];

    with_groups.groups = "a,b";
    create("consumed", CREATED);
    create("sent", CREATED);
    create("g", with_groups);
    consumers[0] = consumer_after("consumed", false);
    consumers[1] = consumer_after("g/b", false);
    create("unused", CREATED);
    while (!is_gone("unused")) {
        send_one("sent");
        handle_one("sent");
        assert_false(is_doubted("consumed"));
    }
    assert_false(is_gone("consumed"));
    assert_false(is_gone("g"));
    assert_false(is_gone("sent"));
    smq_consumer_free(consumers[0]);
    smq_consumer_free(consumers[1]);
    await_deleted("consumed");
    await_deleted("g");
    await_deleted("sent");
}

static void reject_one(const char *topic)
{
    smq_consumer *consumer = messages_consumer(client, topic);
    smq_error err;

    assert_ok(smq_reject(messages_poll(consumer), "bad", &err), &err);
    assert_ok(smq_consumer_flush(consumer, TIMEOUT_MS, &err), &err);
    smq_consumer_free(consumer);
}

static void retry_one(const char *topic)
{
    smq_consumer *consumer = messages_consumer(client, topic);
    smq_error err;

    assert_ok(smq_retry(messages_poll(consumer), LONG_MS, "later", &err), &err);
    assert_ok(smq_consumer_flush(consumer, TIMEOUT_MS, &err), &err);
    smq_consumer_free(consumer);
}

/* Each is looked at, and kept, until its message is gone. */
static void messages_keep_their_topic(void **state)
{
    static const struct {
        const char *name, *holder;
        void (*make)(const char *topic);
    } kinds[] = {{"waiting", "waiting", NULL},
                 {"resting", "resting", retry_one},
                 {"dead", "dead", reject_one},
                 {"g", "g/b", NULL}};
    smq_topic_options with_groups = CREATED;
    smq_error err;

    with_groups.groups = "a,b";
    for (int i = 0; i < 4; i++) {
        create(kinds[i].name, i < 3 ? CREATED : with_groups);
        send_one(kinds[i].name);
        if (kinds[i].make != NULL) {
            kinds[i].make(kinds[i].holder);
        }
    }
    handle_one("g/a");
    for (int i = 0; i < 4; i++) {
        await(is_doubted, kinds[i].name);
    }
    for (int i = 0; i < 4; i++) {
        make_due(kinds[i].name, true);
    }
    for (int i = 0; i < 4; i++) {
        await(is_put_off, kinds[i].name);
    }
    for (int i = 0; i < 4; i++) {
        uint64_t count;

        smq_filter filter =
            SMQ_FILTER(.states = SMQ_STATE_WAITING | SMQ_STATE_RESTING | SMQ_STATE_DEAD);
        assert_ok(smq_topic_purge(client, kinds[i].holder, &filter, &count, NULL, NULL, &err),
                  &err);
        assert_int_equal(count, 1);
        make_due(kinds[i].name, true);
    }
    for (int i = 0; i < 4; i++) {
        await_deleted(kinds[i].name);
    }
    assert_int_equal(keys_left(), 0);
}

static void the_time_is_altered(void **state)
{
    smq_error err;

    create("t", CREATED);
    assert_ok(cluster_alter(client, "t", "expires_ms", "none", &err), &err);
    make_due("t", true);
    await(is_unlisted, "t");
    assert_false(is_gone("t"));
    assert_ok(cluster_alter(client, "t", "expires_ms", "1s", &err), &err);
    await_deleted("t");
}

/* Redis lost when it was used, and the list: whoever uses it tells both again. */
static void what_redis_has_lost_is_told_again(void **state)
{
    smq_consumer *consumer;

    create("t", CREATED);
    consumer = consumer_after("t", false);
    freeReplyObject(keys_command(LIST, "DEL " LIST));
    while (is_unlisted("t")) {
        send_one("t");
        messages_done(messages_poll(consumer));
    }
    freeReplyObject(keys_command("topic{t}", "HDEL topic{t} used"));
    while (keys_number("topic{t}", "HEXISTS topic{t} used") == 0) {
        send_one("t");
        messages_done(messages_poll(consumer));
    }
    smq_consumer_free(consumer);
    await_deleted("t");
}

/* --- deletions that meet others --- */

static void begin_deletion(const char *name, const char *deleter)
{
    char key[64];

    (void) snprintf(key, sizeof(key), "topic{%s}", name);
    freeReplyObject(keys_command(key, "HSET %s state deleting deletes 1 deleter %s", key, deleter));
}

static void an_interrupted_deletion_is_completed(void **state)
{
    char text[512];

    create("ours", CREATED);
    create("users", CREATED);
    make_due("users", true);
    begin_deletion("users", "0123");
    make_due("ours", true);
    begin_deletion("ours", "x123");
    await_deleted("ours");
    assert_string_equal(keys_text(text, "topic{users}", "HGET topic{users} state"), "deleting");
}

static void so_does_whoever_creates_the_topic_again(void **state)
{
    smq_topic_report report = SMQ_TOPIC_REPORT_INIT;
    smq_topic_options options = CREATED;
    smq_error err;

    options.expires_ms = LONG_MS;
    create("t", options);
    begin_deletion("t", "x123");
    options.name = "t";
    assert_ok(smq_topic_create(client, &options, &report, &err), &err);
    assert_true(report.created);
    send_one("t");
    handle_one("t");
}

/* --- sends that meet a deletion --- */

struct raced {
    char name[NAME_MAX_];
    atomic_int stored, refused, other;
};

static void on_sent(const smq_receipt *receipt, void *user)
{
    struct raced *raced = user;

    atomic_fetch_add(receipt->status == SMQ_OK         ? &raced->stored
                     : receipt->status == SMQ_NO_TOPIC ? &raced->refused
                                                       : &raced->other,
                     1);
}

static void send_burst(struct raced *raced)
{
    for (int i = 0; i < BURST; i++) {
        char key[8];
        smq_message message = messages_text("b");
        smq_error err;

        (void) snprintf(key, sizeof(key), "%d", i);
        message.key = (smq_bytes){key, strlen(key)};
        assert_ok(smq_send_async(producer, raced->name, &message, on_sent, raced, &err), &err);
    }
}

/* Somebody deletes it, or has looked at it and found a message. */
static bool is_met(void *name)
{
    char key[64], text[512];

    (void) snprintf(key, sizeof(key), "topic{%s}", (const char *) name);
    return strcmp(keys_text(text, key, "HGET %s state", key), "ready") != 0 ||
           keys_number(LIST, "ZSCORE " LIST " %s", (const char *) name) >
               (int64_t) time(NULL) * 1000 + LONG_MS / 2;
}

/* That has ended. */
static bool is_settled(void *name)
{
    char key[64], text[512];

    (void) snprintf(key, sizeof(key), "topic{%s}", (const char *) name);
    keys_text(text, key, "HGET %s state", key);
    return text[0] == '\0' || strcmp(text, "ready") == 0;
}

/* The producer knows the definition, and its next sends do not mark the topic for a while, so only
 * the slots decide. */
static void prepare_race(struct raced *raced, int number)
{
    const smq_filter all = SMQ_FILTER(.states = SMQ_STATE_WAITING);
    smq_topic_options options = CREATED;
    char key[64];
    smq_error err;

    (void) snprintf(raced->name, sizeof(raced->name), "r%02d", number);
    (void) snprintf(key, sizeof(key), "topic{%s}", raced->name);
    options.expires_ms = LONG_MS;
    create(raced->name, options);
    freeReplyObject(keys_command(key, "HSET %s used 0", key));
    (void) messages_send_by(producer, raced->name, &SMQ_MESSAGE(.body = {"b", 1}));
    while (keys_number(key, "HGET %s used", key) == 0) {
    }
    assert_ok(smq_topic_purge(client, raced->name, &all, NULL, NULL, NULL, &err), &err);
}

/* Either the topic lives with all that was stored, or it is gone and nothing was. */
static bool judge_race(struct raced *raced)
{
    smq_stats stats = SMQ_STATS_INIT;
    smq_status status;
    smq_error err;

    assert_int_equal(raced->other, 0);
    status = smq_topic_stats(client, raced->name, &stats, &err);
    if (status == SMQ_NO_TOPIC) {
        assert_int_equal(raced->stored, 0);
        return false;
    }
    assert_ok(status, &err);
    assert_int_equal(stats.waiting, raced->stored);
    return true;
}

static void a_send_that_meets_the_deletion_is_refused_or_stored(void **state)
{
    static struct raced raced[TOPICS];
    smq_error err;
    int kept = 0;

    memset(raced, 0, sizeof(raced));
    for (int i = 0; i < TOPICS; i++) {
        prepare_race(&raced[i], i);
    }
    for (int i = 0; i < TOPICS; i++) {
        make_due(raced[i].name, true);
    }
    create("unused", CREATED); /* this client asks for those that are due each second */
    for (int i = 0; i < TOPICS; i += 2) {
        await(is_met, raced[i].name);
        send_burst(&raced[i]);
        send_burst(&raced[i + 1]);
    }
    for (int i = 0; i < TOPICS; i++) {
        await(is_met, raced[i].name);
    }
    assert_ok(smq_producer_flush(producer, TIMEOUT_MS, &err), &err);
    for (int i = 0; i < TOPICS; i++) {
        if (!is_gone(raced[i].name)) {
            await(is_settled, raced[i].name);
        }
        kept += judge_race(&raced[i]) ? 1 : 0;
    }
    print_message("%d of %d topics were kept by their sends\n", kept, TOPICS);
    assert_in_range(kept, 1, TOPICS - 1);
}

/* The client waits for what it has begun. */
static void a_client_may_end_while_it_deletes(void **state)
{
    smq_client *deleting = cluster_client();
    char name[NAME_MAX_];

    for (int i = 0; i < TOPICS; i++) {
        (void) snprintf(name, sizeof(name), "t%02d", i);
        cluster_create_topic(
            deleting, &SMQ_TOPIC_OPTIONS(.name = name, .slots = SLOTS, .expires_ms = SHORT_MS));
        make_due(name, true);
    }
    await(is_gone, "t00");
    smq_client_free(deleting);
}

TEST_GROUP(expires)
{
    const struct CMUnitTest tests[] = {
        FRESH_CLIENT_TEST(all_keys_of_an_unused_topic_go),
        FRESH_CLIENT_TEST(a_topic_in_use_stays),
        FRESH_CLIENT_TEST(messages_keep_their_topic),
        FRESH_CLIENT_TEST(the_time_is_altered),
        FRESH_CLIENT_TEST(what_redis_has_lost_is_told_again),
        FRESH_CLIENT_TEST(an_interrupted_deletion_is_completed),
        FRESH_CLIENT_TEST(so_does_whoever_creates_the_topic_again),
        FRESH_CLIENT_TEST(a_send_that_meets_the_deletion_is_refused_or_stored),
        FRESH_CLIENT_TEST(a_client_may_end_while_it_deletes),
    };

    return cmocka_run_group_tests_name("expires", tests, cluster_start_masters, cluster_end);
}
