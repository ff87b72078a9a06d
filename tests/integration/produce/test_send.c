/* test_send.c - sending to a real cluster: what the sets hold afterwards, and what is lost
 * when connections break. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/waiter.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/fresh_client.h"
#include "integration/fixture/hash_slots.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/commandstats.h"
#include "support/group.h"

static int64_t server_now_ms(const char *key)
{
    redisReply *reply = keys_command(key, "TIME");
    int64_t now_ms = strtoll(reply->element[0]->str, NULL, 10) * 1000 +
                     strtoll(reply->element[1]->str, NULL, 10) / 1000;

    freeReplyObject(reply);
    return now_ms;
}

static double score_of(const char *key, const char *member)
{
    char text[512];

    keys_text(text, key, "ZSCORE %s %s", key, member);
    assert_true(text[0] != '\0');
    return strtod(text, NULL);
}

/* --- what each type does --- */

static void send_range(const char *body, int64_t delay_ms, bool merged)
{
    smq_message message = messages_text(body);

    message.delay_ms = delay_ms;
    assert_int_equal(messages_send_by(producer, "t", &message), merged);
}

static void range_merge_keeps_the_first_time(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_RANGE_MERGE, 1);
    int64_t before_ms, after_ms;
    double first, second;
    char order[512];
    smq_message message = messages_text("later");
    smq_error err;

    cluster_create_topic(client, &options);
    before_ms = server_now_ms("t_0");
    send_range("later", 50000, false);
    after_ms = server_now_ms("t_0");
    first = score_of("t_0", "later");
    assert_true(first >= (double) (before_ms + 50000) && first <= (double) (after_ms + 50000));
    send_range("later", 1000, true);
    second = score_of("t_0", "later");
    assert_true(first == second);
    send_range("now", 0, false);
    send_range("soon", 20000, false);
    assert_string_equal(keys_order(order, "t", 0, ""), "now,soon,later");
    message.delay_ms = SMQ_NONE; /* it was now in 0.1 */
    assert_int_equal(smq_send(producer, "t", &message, NULL, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "at once is 0"));
    message.delay_ms = 0;
    message.due_at_ms = before_ms;
    assert_int_equal(smq_send(producer, "t", &message, NULL, &err), SMQ_WRONG_TYPE);
    assert_int_equal(keys_number("t_0", "HGET slot{t_0} sent"), 3);
    assert_int_equal(keys_number("t_0", "HGET slot{t_0} merged"), 1);
}

static void a_send_may_have_the_delay_of_the_topic(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_RANGE_MERGE, 1);
    smq_message message = messages_text("a");
    int64_t before_ms;

    options.delay_ms = 70000;
    cluster_create_topic(client, &options);
    message.delay_ms = SMQ_TOPIC_DELAY;
    before_ms = server_now_ms("t_0");
    (void) messages_send_by(producer, "t", &message);
    assert_true(score_of("t_0", "a") >= (double) (before_ms + 70000));
}

static void send_fixed(const char *body, int64_t due_at_ms, bool merged)
{
    smq_message message = messages_text(body);

    message.due_at_ms = due_at_ms;
    assert_int_equal(messages_send_by(producer, "t", &message), merged);
}

static void fixed_time_takes_the_last_time(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 1);
    int64_t now_ms;
    char order[512];

    cluster_create_topic(client, &options);
    now_ms = server_now_ms("t_0");
    send_fixed("a", now_ms + 50000, false);
    send_fixed("b", now_ms + 60000, false);
    assert_true(score_of("t_0", "a") == (double) (now_ms + 50000));
    send_fixed("a", now_ms + 70000, true);
    assert_true(score_of("t_0", "a") == (double) (now_ms + 70000));
    assert_string_equal(keys_order(order, "t", 0, ""), "b,a");
    send_fixed("past", 1, false); /* is now */
    assert_true(score_of("t_0", "past") >= (double) now_ms);
    send_fixed("none", 0, false);
    assert_true(score_of("t_0", "none") <= (double) server_now_ms("t_0"));
}

static void send_priority(const char *body, int64_t priority, bool merged)
{
    smq_message message = messages_text(body);

    message.priority = priority;
    assert_int_equal(messages_send_by(producer, "t", &message), merged);
}

static void priority_takes_the_last_one_and_keeps_arrival(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_PRIORITY, 1);
    smq_message message = messages_text("x");
    char order[512];
    smq_error err;

    cluster_create_topic(client, &options);
    send_priority("first", 5, false);
    send_priority("second", 5, false);
    send_priority("low", -8191, false);
    send_priority("high", 8191, false);
    assert_string_equal(keys_order(order, "t", 0, ""), "low,second,first,high");
    send_priority("first", 5, true); /* the same priority: its place stays */
    assert_string_equal(keys_order(order, "t", 0, ""), "low,second,first,high");
    send_priority("low", 5, true);
    assert_string_equal(keys_order(order, "t", 0, ""), "low,second,first,high");
    send_priority("low", 6, true);
    assert_string_equal(keys_order(order, "t", 0, ""), "second,first,low,high");
    assert_true(score_of("t_0", "high") == 8191.0 * 4294967296.0 + 4294967295.0 - 3.0);
    message.priority = 8192;
    assert_int_equal(smq_send(producer, "t", &message, NULL, &err), SMQ_INVALID);
    message.priority = 0;
    message.delay_ms = 3600000;
    assert_int_equal(smq_send(producer, "t", &message, NULL, &err), SMQ_OK);
    assert_string_equal(keys_order(order, "t", 0, ""), "second,first,low,high"); /* it is not due */
}

static void priority_by_bytes_has_the_larger_range(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_PRIORITY, 1);

    options.ties = SMQ_TIES_BYTES;
    cluster_create_topic(client, &options);
    send_priority("a", INT64_C(1) << 40, false);
    send_priority("b", -(INT64_C(1) << 40), false);
    assert_true(score_of("t_0", "a") == 1099511627776.0);
    assert_true(score_of("t_0", "b") == -1099511627776.0);
}

/* --- bodies, keys, errors --- */

static void bodies_are_any_bytes(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 4);
    smq_message message = SMQ_MESSAGE_INIT;
    smq_receipt receipt;
    smq_error err;
    char *large = malloc((size_t) 64 * 1024 + 1);
    char key[16];

    cluster_create_topic(client, &options);
    memset(large, 'x', 64 * 1024 + 1);
    message.body = (smq_bytes){"\xff\r\n\0{}", 6};
    assert_ok(smq_send(producer, "t", &message, &receipt, &err), &err);
    snprintf(key, sizeof(key), "t_%d", (int) receipt.slot);
    assert_true(keys_number(key, "ZRANK %s %b", key, message.body.data, message.body.len) >= 0);
    message.body.data = "\0\r\n\xff{}"; /* stored as one with a key */
    assert_ok(smq_send(producer, "t", &message, &receipt, &err), &err);
    snprintf(key, sizeof(key), "t_%d", (int) receipt.slot);
    assert_true(keys_number(key, "ZRANK %s %b", key,
                            "\0"
                            "0:\0\r\n\xff{}",
                            (size_t) 9) >= 0);
    message.body = (smq_bytes){large, (size_t) 64 * 1024};
    assert_ok(smq_send(producer, "t", &message, &receipt, &err), &err);
    message.body.len++;
    assert_int_equal(smq_send(producer, "t", &message, &receipt, &err), SMQ_TOO_BIG);
    message.body.len = 0;
    assert_int_equal(smq_send(producer, "t", &message, &receipt, &err), SMQ_INVALID);
    message = messages_text("b");
    message.key = (smq_bytes){large, 1025};
    assert_int_equal(smq_send(producer, "t", &message, &receipt, &err), SMQ_TOO_BIG);
    assert_int_equal(smq_send(producer, "nowhere", &message, &receipt, &err), SMQ_TOO_BIG);
    message.key.len = 1024;
    assert_int_equal(smq_send(producer, "nowhere", &message, &receipt, &err), SMQ_NO_TOPIC);
    assert_non_null(strstr(err.text, "nowhere"));
    assert_ok(smq_send(producer, "t", &message, &receipt, &err), &err);
    free(large);
}

static void a_batch_goes_to_its_slots(void **state)
{
    enum { COUNT = 3000 };
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 64);
    smq_message *messages = calloc(COUNT, sizeof(*messages));
    smq_receipt *receipts = calloc(COUNT, sizeof(*receipts));
    char(*bodies)[32] = calloc(COUNT, sizeof(*bodies));
    smq_stats stats = SMQ_STATS_INIT;
    smq_error err;

    cluster_create_topic(client, &options);
    for (int i = 0; i < COUNT; i++) {
        snprintf(bodies[i], sizeof(bodies[i]), "body-%d", i % 2000);
        messages[i] = messages_text(bodies[i]);
    }
    assert_ok(smq_send_batch(producer, "t", messages, COUNT, receipts, &err), &err);
    for (int i = 0; i < COUNT; i++) {
        char key[16];

        assert_int_equal(receipts[i].status, SMQ_OK);
        assert_int_equal(receipts[i].merged, i >= 2000);
        if (i % 100 == 0) {
            snprintf(key, sizeof(key), "t_%d", (int) receipts[i].slot);
            assert_true(keys_number(key, "ZRANK %s %s", key, bodies[i]) >= 0);
        }
    }
    assert_ok(smq_topic_stats(client, "t", &stats, &err), &err);
    assert_int_equal(stats.waiting, 2000);
    assert_int_equal(stats.sent, 2000);
    assert_int_equal(stats.merged, 1000);
    free(bodies);
    free(receipts);
    free(messages);
}

/* A few go to as many slots, so that consumers share them; each is found by the id of its
 * receipt. */
static void messages_without_a_key_go_to_different_slots(void **state)
{
    enum { COUNT = 16 };
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, COUNT);
    smq_message messages[COUNT];
    smq_receipt receipts[COUNT];
    smq_error err;
    unsigned seen = 0;

    options.layout = SMQ_LAYOUT_KEYED;
    cluster_create_topic(client, &options);
    for (int i = 0; i < COUNT; i++) {
        messages[i] = messages_text("job");
    }
    assert_ok(smq_send_batch(producer, "t", messages, COUNT, receipts, &err), &err);
    for (int i = 0; i < COUNT; i++) {
        messages[i].id = (smq_bytes){receipts[i].id, strlen(receipts[i].id)};
        assert_ok(smq_message_get(client, "t", MESSAGE_SENT(&messages[i]), NULL, &err), &err);
        seen |= 1U << receipts[i].slot;
    }
    assert_int_equal(seen, (1U << COUNT) - 1);
}

/* --- definitions that changed --- */

static void a_known_definition_may_be_old(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 64);
    smq_client *other = cluster_client();
    smq_message message = messages_text("x");
    smq_receipt receipt;
    smq_error err;

    cluster_create_topic(other, &options);
    (void) messages_send_by(producer, "t", &message);
    assert_ok(smq_topic_delete(other, "t", true, &err), &err);
    assert_int_equal(smq_send(producer, "t", &message, &receipt, &err), SMQ_NO_TOPIC);
    assert_int_equal(keys_number("t_0", "ZCARD t_0"), 0); /* no key is left */
    options.slots = 2; /* most messages were for slots that are not there any more */
    cluster_create_topic(other, &options);
    for (int i = 0; i < 200; i++) {
        char body[16];

        snprintf(body, sizeof(body), "b-%d", i);
        message.body = smq_text(body);
        assert_ok(smq_send(producer, "t", &message, &receipt, &err), &err);
        assert_in_range(receipt.slot, 0, 1);
    }
    assert_ok(smq_topic_delete(other, "t", true, &err), &err);
    options.slots = 128;
    cluster_create_topic(other, &options);
    message = messages_text("x");
    assert_false(messages_send_by(producer, "t", &message));
    smq_client_free(other);
}

/* --- load --- */

struct load {
    pthread_mutex_t lock;
    int receipts, merged, failed;
};

static void on_sent(const smq_receipt *receipt, void *user)
{
    struct load *load = user;

    pthread_mutex_lock(&load->lock);
    load->receipts++;
    load->merged += receipt->merged ? 1 : 0;
    load->failed += receipt->status != SMQ_OK ? 1 : 0;
    pthread_mutex_unlock(&load->lock);
}

static void send_load(struct load *load, int count)
{
    for (int i = 0; i < count; i++) {
        char body[32];
        smq_message message;
        smq_error err;

        snprintf(body, sizeof(body), "message-%d", i);
        message = messages_text(body);
        assert_ok(smq_send_async(producer, "t", &message, on_sent, load, &err), &err);
    }
}

static void assert_all_there(uint64_t count)
{
    smq_stats stats = SMQ_STATS_INIT;
    smq_error err;

    assert_ok(smq_topic_stats(client, "t", &stats, &err), &err);
    assert_int_equal(stats.waiting, count);
}

static void a_hundred_thousand_are_sent_without_waiting(void **state)
{
    enum { COUNT = 100000 };
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 64);
    struct load load = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_error err;

    cluster_create_topic(client, &options);
    send_load(&load, COUNT);
    assert_ok(smq_producer_flush(producer, TIMEOUT_MS, &err), &err);
    assert_int_equal(load.receipts, COUNT);
    assert_int_equal(load.failed, 0);
    assert_int_equal(load.merged, 0);
    assert_all_there(COUNT);
}

static void nothing_is_lost_when_connections_are_killed(void **state)
{
    enum { COUNT = 100000 };
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 64);
    struct load load = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_error err;
    int kills = 0, sent_before = 0;

    cluster_create_topic(client, &options);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < COUNT / 10; i++) {
            char body[32];
            smq_message message;

            snprintf(body, sizeof(body), "message-%d", sent_before + i);
            message = messages_text(body);
            assert_ok(smq_send_async(producer, "t", &message, on_sent, &load, &err), &err);
        }
        sent_before += COUNT / 10;
        for (size_t i = 0; i < 3; i++) {
            redisReply *reply = keys_command_at(servers_node(cluster_servers(), i),
                                                "CLIENT KILL TYPE normal SKIPME yes");

            kills += (int) reply->integer;
            freeReplyObject(reply);
        }
    }
    assert_ok(smq_producer_flush(producer, TIMEOUT_MS, &err), &err);
    assert_true(kills > 0);
    assert_int_equal(load.receipts, COUNT);
    assert_int_equal(load.failed, 0);
    assert_all_there(COUNT);
}

static void a_paused_master_delays_only_its_slots(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 64);
    smq_producer *impatient;
    struct server *paused = servers_node(cluster_servers(), 0);
    smq_message message = messages_text("x");
    smq_receipt *receipts = calloc(200, sizeof(*receipts));
    smq_message *messages = calloc(200, sizeof(*messages));
    char bodies[200][16];
    int stored = 0, unknown = 0;
    smq_error err;

    cluster_create_topic(client, &options);
    smq_producer_options short_time = SMQ_PRODUCER_OPTIONS(.send_timeout_ms = 500);
    impatient = messages_producer(client, &short_time);
    assert_ok(smq_send(impatient, "t", &message, NULL, &err), &err);
    for (int i = 0; i < 200; i++) {
        snprintf(bodies[i], sizeof(bodies[i]), "m-%d", i);
        messages[i] = messages_text(bodies[i]);
    }
    server_pause(paused);
    (void) smq_send_batch(impatient, "t", messages, 200, receipts, &err);
    server_resume(paused);
    for (int i = 0; i < 200; i++) {
        stored += receipts[i].status == SMQ_OK ? 1 : 0;
        unknown += receipts[i].status == SMQ_UNKNOWN || receipts[i].status == SMQ_UNAVAILABLE;
    }
    assert_int_equal(stored + unknown, 200);
    assert_true(stored > 0 && unknown > 0);
    assert_true(servers_wait(cluster_servers(), TIMEOUT_MS));
    assert_ok(smq_send_batch(producer, "t", messages, 200, receipts, &err), &err);
    assert_all_there(201);
    smq_producer_free(impatient);
    free(receipts);
    free(messages);
}

static void a_full_server_says_so(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 1);
    const struct server *server;
    smq_message message = messages_text("x");
    smq_receipt receipt;
    smq_error err;

    cluster_create_topic(client, &options);
    server = servers_node_of(cluster_servers(), "t_0");
    freeReplyObject(keys_command_at(server, "CONFIG SET maxmemory 1"));
    assert_int_equal(smq_send(producer, "t", &message, &receipt, &err), SMQ_FULL);
    assert_int_equal(receipt.status, SMQ_FULL);
    assert_ok(smq_topic_delete(client, "t", false, &err), &err);
    freeReplyObject(keys_command_at(server, "CONFIG SET maxmemory 0"));
}

/* --- callbacks --- */

struct inside {
    struct waiter waiter;
    smq_status created, sent, stats;
};

static void work_inside(const smq_receipt *receipt, void *user)
{
    struct inside *inside = user;
    smq_topic_options options = cluster_topic_options("inside", SMQ_TYPE_FIXED_TIME, 2);
    smq_stats stats = SMQ_STATS_INIT;
    smq_message message = messages_text("y");

    (void) receipt;
    inside->created = smq_topic_create(client, &options, NULL, NULL);
    inside->sent = smq_send(producer, "inside", &message, NULL, NULL);
    inside->stats = smq_topic_stats(client, "inside", &stats, NULL);
    waiter_done(&inside->waiter);
}

static void callbacks_may_call_everything_that_does_not_wait_for_them(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 1);
    smq_message message = messages_text("x");
    struct inside inside;
    smq_error err;

    cluster_create_topic(client, &options);
    waiter_init(&inside.waiter, 1);
    assert_ok(smq_send_async(producer, "t", &message, work_inside, &inside, &err), &err);
    assert_true(waiter_wait(&inside.waiter, TIMEOUT_MS));
    assert_int_equal(inside.created, SMQ_OK);
    assert_int_equal(inside.sent, SMQ_OK);
    assert_int_equal(inside.stats, SMQ_OK);
    waiter_fini(&inside.waiter);
}

/* A producer that would wait for long. */
static smq_producer *patient(void)
{
    smq_producer *made = NULL;
    smq_error err;

    smq_producer_options options = SMQ_PRODUCER_OPTIONS(.send_timeout_ms = TIMEOUT_MS);
    assert_ok(smq_producer_new(&made, client, &options, &err), &err);
    return made;
}

/* Since CONFIG RESETSTAT the node that holds t_0 has run one script. */
struct failure {
    smq_status status;
    char text[256];
};

static void on_failed(const smq_receipt *receipt, void *user)
{
    struct failure *failure = user;

    failure->status = receipt->status;
    if (receipt->text != NULL) {
        snprintf(failure->text, sizeof(failure->text), "%s", receipt->text);
    }
}

static void a_receipt_says_why_its_send_failed(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 1);
    smq_message message = messages_text("one");
    struct failure good = {.status = SMQ_OK}, full = {.status = SMQ_OK};
    smq_error err;

    options.max_waiting = 1;
    cluster_create_topic(client, &options);
    assert_ok(smq_send_async(producer, "t", &message, on_failed, &good, &err), &err);
    message = messages_text("two");
    assert_ok(smq_send_async(producer, "t", &message, on_failed, &full, &err), &err);
    assert_ok(smq_producer_flush(producer, TIMEOUT_MS, &err), &err);
    assert_int_equal(good.status, SMQ_OK);
    assert_string_equal(good.text, "");
    assert_int_equal(full.status, SMQ_FULL);
    assert_non_null(strstr(full.text, "slot 0 of topic t is full: max_waiting is 1"));
}

static void assert_tried_once(void)
{
    redisReply *reply = keys_command("t_0", "INFO commandstats");

    assert_int_equal(commandstats_read(reply->str, "evalsha", "calls"), 1);
    freeReplyObject(reply);
}

static void key_of_another_type_ends_a_send_at_once(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 1);
    smq_message message = messages_text("x");
    smq_producer *own = patient();
    smq_error err;

    cluster_create_topic(client, &options);
    freeReplyObject(keys_command("t_0", "RENAME t_0 kept{t_0}"));
    freeReplyObject(keys_command("t_0", "SET t_0 text"));
    freeReplyObject(keys_command("t_0", "CONFIG RESETSTAT"));
    assert_int_equal(smq_send(own, "t", &message, NULL, &err), SMQ_INVALID);
    assert_tried_once();
    assert_non_null(strstr(err.text, "WRONGTYPE"));
    freeReplyObject(keys_command("t_0", "RENAME kept{t_0} t_0"));
    assert_int_equal(keys_number("t_0", "ZCARD t_0"), 1); /* the sentinel */
    assert_false(messages_send_by(own, "t", &message));
    smq_producer_free(own);
}

/* Its script takes back what it has stored; whoever sent it only sees that a call failed midway. */
static void command_that_a_user_may_not_run_ends_a_send_at_once(void **state)
{
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 1);
    smq_message message = messages_text("x");
    smq_producer *own = patient();
    smq_error err;
    smq_status status;

    cluster_create_topic(client, &options);
    freeReplyObject(keys_command("t_0", "ACL SETUSER default -hset"));
    freeReplyObject(keys_command("t_0", "CONFIG RESETSTAT"));
    status = smq_send(own, "t", &message, NULL, &err);
    freeReplyObject(keys_command("t_0", "ACL SETUSER default +hset"));
    assert_tried_once();
    assert_int_equal(status, SMQ_UNKNOWN);
    assert_true(strstr(err.text, "can't run this command") != NULL || /* Redis 7.0 */
                strstr(err.text, "has no permissions to run the 'hset' command") != NULL);
    assert_int_equal(keys_number("t_0", "ZCARD t_0"), 1);
    smq_producer_free(own);
}

/* --- messages that Redis does not take --- */

enum { SMALL = 200, BIG_BYTES = 2 * 1024 * 1024, BIG_TIMEOUT_MS = 10000 };

static struct {
    struct waiter waiter;
    atomic_int by_status[64]; /* of small ones, by the number of the status without its sign */
    smq_status big;
    char text[512]; /* of the big one */
} refused;

static void on_small(const smq_receipt *receipt, void *user)
{
    (void) user;
    atomic_fetch_add(&refused.by_status[-receipt->status], 1);
    waiter_done(&refused.waiter);
}

static void on_big(const smq_receipt *receipt, void *user)
{
    (void) user;
    refused.big = receipt->status;
    (void) snprintf(refused.text, sizeof(refused.text), "%s", receipt->text);
    waiter_done(&refused.waiter);
}

static void send_small(smq_producer *own, int number)
{
    char body[32];
    smq_message message;
    smq_error err;

    (void) snprintf(body, sizeof(body), "small%d", number);
    message = messages_text(body);
    assert_ok(smq_send_async(own, "t", &message, on_small, NULL, &err), &err);
}

static void send_big_among_small(smq_producer *own)
{
    char *body = calloc(1, BIG_BYTES);
    smq_message message = SMQ_MESSAGE_INIT;
    smq_error err;

    assert_non_null(body);
    message.body = (smq_bytes){.data = body, .len = BIG_BYTES};
    for (int i = 0; i < SMALL; i++) {
        if (i == SMALL / 2) {
            assert_ok(smq_send_async(own, "t", &message, on_big, NULL, &err), &err);
        }
        send_small(own, i);
    }
    free(body);
}

static void configure(const char *setting, const char *value)
{
    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        freeReplyObject(keys_command_at(servers_node(cluster_servers(), i), "CONFIG SET %s %s",
                                        setting, value));
    }
}

static uint64_t reconnects(void)
{
    smq_metrics metrics = SMQ_METRICS_INIT;
    smq_error err;

    assert_ok(smq_client_metrics(client, &metrics, &err), &err);
    return metrics.reconnects;
}

/* One limit is told by an error, the other only by the end of the connection. */
static void a_message_that_redis_refuses_costs_no_other(void **state)
{
    static const struct {
        const char *setting, *usual, *named;
    } rows[] = {
        {"proto-max-bulk-len", "512mb", "invalid bulk length"},
        {"client-query-buffer-limit", "1gb", "client-query-buffer-limit"},
    };
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 16);

    options.layout = SMQ_LAYOUT_KEYED;
    options.max_body = 2L * BIG_BYTES;
    cluster_create_topic(client, &options);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t before = reconnects();
        smq_producer *own;

        memset(&refused, 0, sizeof(refused));
        smq_producer_options send = SMQ_PRODUCER_OPTIONS(.send_timeout_ms = BIG_TIMEOUT_MS);
        own = messages_producer(client, &send);
        configure(rows[i].setting, "1mb");
        waiter_init(&refused.waiter, SMALL + 1);
        send_big_among_small(own);
        assert_true(waiter_wait(&refused.waiter, TIMEOUT_MS));
        waiter_fini(&refused.waiter);
        configure(rows[i].setting, rows[i].usual);
        print_message("%s: %d, %s; %d small ones are stored, %d reconnects\n", rows[i].setting,
                      (int) refused.big, refused.text, (int) refused.by_status[0],
                      (int) (reconnects() - before));
        assert_int_equal(refused.big, SMQ_TOO_BIG);
        assert_non_null(strstr(refused.text, rows[i].named));
        assert_int_equal(refused.by_status[0], SMALL);
        smq_producer_free(own);
    }
    assert_int_equal(messages_stats(client, "t").waiting, sizeof(rows) / sizeof(rows[0]) * SMALL);
}

/* --- hash slots that are half moved --- */

/* Redis refuses every try, whichever keys have moved.  The sends come one after the other, so when
 * the time of one has ended that of the next is about to. */
static void sends_into_a_half_moved_slot_are_not_done(void **state)
{
    enum { SENDS = 100, APART_MS = 4, KEYS_MOVED = 3 };
    smq_topic_options options = cluster_topic_options("t", SMQ_TYPE_FIXED_TIME, 1);
    struct hash_slot_move move;
    smq_producer *own;
    smq_error err;

    options.layout = SMQ_LAYOUT_KEYED;
    cluster_create_topic(client, &options);
    smq_producer_options send = SMQ_PRODUCER_OPTIONS(.send_timeout_ms = 400);
    own = messages_producer(client, &send);
    assert_ok(smq_send(own, "t", &(smq_message) SMQ_MESSAGE_INIT, NULL, &err), &err);
    move = hash_slot_of("t", 0, NULL);
    hash_slot_open(&move);
    for (int i = 0; i < KEYS_MOVED; i++) {
        assert_true(hash_slot_move_key(&move));
    }
    memset(&refused, 0, sizeof(refused));
    waiter_init(&refused.waiter, SENDS);
    for (int i = 0; i < SENDS; i++) {
        send_small(own, i);
        messages_await_clock(clock_wall_ms() + APART_MS);
    }
    assert_true(waiter_wait(&refused.waiter, TIMEOUT_MS));
    waiter_fini(&refused.waiter);
    while (hash_slot_move_key(&move)) {
    }
    hash_slot_close(&move);
    hash_slot_await(&move);
    print_message("%d unavailable, %d timed out, %d unknown\n",
                  (int) refused.by_status[-SMQ_UNAVAILABLE],
                  (int) refused.by_status[-SMQ_TIMED_OUT], (int) refused.by_status[-SMQ_UNKNOWN]);
    assert_int_equal(refused.by_status[-SMQ_UNKNOWN], 0);
    assert_true(refused.by_status[-SMQ_UNAVAILABLE] > SENDS / 2);
    assert_int_equal(refused.by_status[-SMQ_UNAVAILABLE] + refused.by_status[-SMQ_TIMED_OUT],
                     SENDS);
    assert_int_equal(messages_stats(client, "t").waiting, 1);
    smq_producer_free(own);
}

TEST_GROUP(send)
{
    const struct CMUnitTest tests[] = {
        FRESH_CLIENT_TEST(range_merge_keeps_the_first_time),
        FRESH_CLIENT_TEST(a_send_may_have_the_delay_of_the_topic),
        FRESH_CLIENT_TEST(fixed_time_takes_the_last_time),
        FRESH_CLIENT_TEST(priority_takes_the_last_one_and_keeps_arrival),
        FRESH_CLIENT_TEST(priority_by_bytes_has_the_larger_range),
        FRESH_CLIENT_TEST(bodies_are_any_bytes),
        FRESH_CLIENT_TEST(a_batch_goes_to_its_slots),
        FRESH_CLIENT_TEST(messages_without_a_key_go_to_different_slots),
        FRESH_CLIENT_TEST(a_known_definition_may_be_old),
        FRESH_CLIENT_TEST(a_hundred_thousand_are_sent_without_waiting),
        FRESH_CLIENT_TEST(nothing_is_lost_when_connections_are_killed),
        FRESH_CLIENT_TEST(a_paused_master_delays_only_its_slots),
        FRESH_CLIENT_TEST(a_full_server_says_so),
        FRESH_CLIENT_TEST(callbacks_may_call_everything_that_does_not_wait_for_them),
        FRESH_CLIENT_TEST(a_receipt_says_why_its_send_failed),
        FRESH_CLIENT_TEST(a_message_that_redis_refuses_costs_no_other),
        FRESH_CLIENT_TEST(sends_into_a_half_moved_slot_are_not_done),
        FRESH_CLIENT_TEST(key_of_another_type_ends_a_send_at_once),
        FRESH_CLIENT_TEST(command_that_a_user_may_not_run_ends_a_send_at_once),
    };

    return cmocka_run_group_tests_name("send", tests, cluster_start_masters, cluster_end);
}
