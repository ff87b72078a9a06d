/* test_poll.c - polling for messages on a cluster: what a poll gives and when, the descriptor,
 * answers and flushes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>
#include <pthread.h>

#include "base/clock.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"

/* How many a poll gives that does not wait. */
static size_t poll_now(smq_consumer *consumer, smq_delivery **out, size_t capacity)
{
    size_t count = 0;
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_consumer_poll(consumer, out, capacity, &count, 0, &err), &err);
    return count;
}

static bool is_readable(smq_consumer *consumer)
{
    struct pollfd wait = {.fd = smq_consumer_fd(consumer), .events = POLLIN};

    return poll(&wait, 1, 0) == 1;
}

static void await_readable(smq_consumer *consumer)
{
    struct pollfd wait = {.fd = smq_consumer_fd(consumer), .events = POLLIN};

    assert_int_equal(poll(&wait, 1, TIMEOUT_MS), 1);
}

static void flush(smq_consumer *consumer)
{
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_consumer_flush(consumer, TIMEOUT_MS, &err), &err);
}

/* Poll 200 messages, all different. */
static void poll_all_numbers(smq_consumer *consumer)
{
    bool seen[200] = {false};
    smq_error err = SMQ_ERROR_INIT;

    for (size_t total = 0; total < 200;) {
        smq_delivery *deliveries[32];
        size_t count = 0;

        assert_ok(smq_consumer_poll(consumer, deliveries, 32, &count, TIMEOUT_MS, &err), &err);
        assert_in_range(count, 1, 32);
        for (size_t i = 0; i < count; i++) {
            int number = atoi(messages_body(deliveries[i]));

            assert_false(seen[number]);
            seen[number] = true;
            messages_done(deliveries[i]);
        }
        total += count;
    }
}

static void polls_give_all_messages_once(void **state)
{
    static const struct {
        smq_topic_type type;
        smq_layout layout;
        bool shared;
        int32_t per_slot;
    } rows[] = {
        {SMQ_TYPE_PRIORITY, SMQ_LAYOUT_INLINE, false, 1},
        {SMQ_TYPE_PRIORITY, SMQ_LAYOUT_INLINE, true, 5},
        {SMQ_TYPE_FIXED_TIME, SMQ_LAYOUT_KEYED, false, 3},
        {SMQ_TYPE_RANGE_MERGE, SMQ_LAYOUT_KEYED, true, 1},
        {SMQ_TYPE_RANGE_MERGE, SMQ_LAYOUT_INLINE, false, 2},
        {SMQ_TYPE_FIFO, SMQ_LAYOUT_KEYED, false, 1},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        smq_client *client = cluster_client();
        smq_consumer *consumer;
        const char *topic;

        smq_topic_options options =
            SMQ_TOPIC_OPTIONS(.type = rows[i].type, .layout = rows[i].layout,
                              .shared = rows[i].shared, .slots = 16,
                              .delay_ms = rows[i].type == SMQ_TYPE_RANGE_MERGE ? 1 : 0);
        topic = cluster_topic(client, &options);
        smq_consumer_options consume = SMQ_CONSUMER_OPTIONS(.per_slot = rows[i].per_slot);
        consumer = messages_consumer_with(client, &consume, topic);
        messages_send_numbers(client, topic, 0, 200);
        poll_all_numbers(consumer);
        flush(consumer);
        assert_int_equal(messages_stats(client, topic).done, 200);
        assert_int_equal(messages_stats(client, topic).claimed, 0);
        smq_consumer_free(consumer);
        smq_client_free(client);
    }
}

static void each_answer_does_what_it_says(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, false, 1);
    smq_consumer *consumer = messages_consumer(client, topic);
    smq_delivery *delivery;
    smq_stats stats;

    messages_send(client, topic, (struct test_message){.body = "a"});
    delivery = messages_poll(consumer);
    assert_int_equal(smq_delivery_info(delivery)->attempt, 1);
    assert_int_equal(smq_release(delivery, 0, NULL), SMQ_OK);
    delivery = messages_poll(consumer);
    assert_int_equal(smq_delivery_info(delivery)->attempt, 1);
    assert_int_equal(smq_retry(delivery, 0, "again", NULL), SMQ_OK);
    delivery = messages_poll(consumer);
    assert_int_equal(smq_delivery_info(delivery)->attempt, 2);
    assert_int_equal(smq_delivery_check(delivery), SMQ_OK);
    assert_int_equal(smq_reject(delivery, "never", NULL), SMQ_OK);
    flush(consumer);
    stats = messages_stats(client, topic);
    assert_int_equal(stats.released, 1);
    assert_int_equal(stats.retried, 1);
    assert_int_equal(stats.dead, 1);
    smq_consumer_free(consumer);
    smq_client_free(client);
}

/* Poll until there are as many. */
static void poll_some(smq_consumer *consumer, smq_delivery **out, size_t count)
{
    for (size_t have = 0, some; have < count; have += some) {
        assert_int_equal(
            smq_consumer_poll(consumer, out + have, count - have, &some, TIMEOUT_MS, NULL), SMQ_OK);
        assert_true(some > 0);
    }
}

/* Of two topics, one behind the other and mixed. */
static void several_answers_are_given_in_one_call(void **state)
{
    enum { EACH = 8 };
    smq_client *client = cluster_client();
    smq_consumer *consumers[2];
    const char *topics[2];
    smq_delivery *polled[2][EACH];
    smq_answer answers[2 * EACH];
    smq_stats stats;
    smq_error err;

    for (int t = 0; t < 2; t++) {
        topics[t] = cluster_priority_topic(client, false, 4);
        consumers[t] = messages_consumer(client, topics[t]);
        messages_send_numbers(client, topics[t], 0, EACH);
        poll_some(consumers[t], polled[t], EACH);
    }
    for (int i = 0; i < 2 * EACH; i++) { /* of each: 4 done, 1 retry, 1 reject, 1 release */
        static const smq_verdict verdicts[EACH] = {SMQ_DONE,   SMQ_DONE,    SMQ_RETRY, SMQ_DONE,
                                                   SMQ_REJECT, SMQ_RELEASE, SMQ_DONE,  SMQ_LATER};

        answers[i] = (smq_answer){.delivery = polled[i % 2][i / 2], .verdict = verdicts[i / 2]};
        answers[i].delay_ms = answers[i].verdict == SMQ_DONE ? -5 : 60000; /* it has no delay */
        answers[i].reason = "in one call";
    }
    assert_int_equal(smq_answer_all(answers, (size_t) 2 * EACH, &err), SMQ_INVALID);
    assert_string_equal(err.text, "verdict 4 is no answer: the message is retried");
    for (int i = 0; i < 2 * EACH; i++) {
        assert_int_equal(answers[i].status, i / 2 == EACH - 1 ? SMQ_INVALID : SMQ_OK);
    }
    for (int t = 0; t < 2; t++) {
        flush(consumers[t]);
        stats = messages_stats(client, topics[t]);
        assert_int_equal(stats.done, 4);
        assert_int_equal(stats.retried, 2); /* the last one, too, which comes again */
        assert_int_equal(stats.released, 1);
        assert_int_equal(stats.dead, 1);
        smq_consumer_free(consumers[t]);
    }
    smq_client_free(client);
}

static void what_is_answered_too_late_is_told_for_each(void **state)
{
    enum { COUNT = 3 };
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, false, 4);
    smq_consumer *consumer = messages_consumer(client, topic);
    smq_delivery *polled[2 * COUNT];
    smq_answer answers[COUNT + 1] = {{.delivery = NULL}};
    smq_error err;

    messages_send_numbers(client, topic, 0, 2 * COUNT);
    poll_some(consumer, polled, (size_t) 2 * COUNT);
    assert_ok(smq_done_all(polled, COUNT, &err), &err);
    flush(consumer);
    assert_int_equal(messages_stats(client, topic).done, COUNT);
    smq_consumer_free(consumer);
    for (int i = 0; i < COUNT; i++) {
        answers[i + 1] = (smq_answer){.delivery = polled[COUNT + i], .verdict = SMQ_DONE};
    }
    assert_int_equal(smq_answer_all(answers, COUNT + 1, &err), SMQ_INVALID); /* the first is NULL */
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(answers[i + 1].status, SMQ_CLOSED);
    }
    assert_int_equal(smq_answer_all(NULL, 1, &err), SMQ_INVALID);
    assert_int_equal(smq_done_all(NULL, 1, &err), SMQ_INVALID);
    assert_ok(smq_answer_all(NULL, 0, &err), &err);
    smq_client_free(client);
}

static void poll_waits_for_a_message_and_for_its_time(void **state)
{
    smq_client *client = cluster_client();
    const char *topic;
    smq_consumer *consumer;
    smq_delivery *delivery;
    int64_t due;

    smq_topic_options options = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME);
    topic = cluster_topic(client, &options);
    consumer = messages_consumer(client, topic);
    assert_int_equal(poll_now(consumer, &delivery, 1), 0);
    messages_send(client, topic, (struct test_message){.body = "a", .delay_ms = 300});
    delivery = messages_poll(consumer);
    due = smq_delivery_info(delivery)->due_at_ms;
    assert_true(clock_wall_ms() >= due); /* one machine, one clock */
    messages_done(delivery);
    smq_consumer_free(consumer);
    smq_client_free(client);
}

static void per_slot_gives_more_in_order(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, false, 1);
    smq_consumer *consumer;
    smq_delivery *held[8];

    messages_send_numbers(client, topic, 0, 5);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.per_slot = 3);
    consumer = messages_consumer_with(client, &options, topic);
    for (int i = 0; i < 3; i++) {
        held[i] = messages_poll(consumer);
        assert_int_equal(atoi(messages_body(held[i])), i);
    }
    assert_int_equal(poll_now(consumer, held + 3, 5), 0);
    messages_done(held[1]);
    held[1] = messages_poll(consumer);
    assert_string_equal(messages_body(held[1]), "3");
    assert_int_equal(poll_now(consumer, held + 3, 5), 0);
    messages_done(held[0]);
    held[0] = messages_poll(consumer);
    assert_string_equal(messages_body(held[0]), "4");
    for (int i = 0; i < 3; i++) {
        messages_done(held[i]);
    }
    flush(consumer);
    smq_consumer_free(consumer);
    smq_client_free(client);
}

/* What comes later does not wait for the answers of what is held. */
static void per_slot_fills_up_while_others_are_held(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, false, 1);
    smq_consumer *consumer;
    smq_delivery *held[5];

    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.per_slot = 4);
    consumer = messages_consumer_with(client, &options, topic);
    for (int i = 0; i < 4; i++) {
        messages_send_numbers(client, topic, i, 1);
        held[i] = messages_poll(consumer);
    }
    messages_send_numbers(client, topic, 4, 1);
    assert_int_equal(smq_retry(held[2], 200, NULL, NULL), SMQ_OK);
    held[2] = messages_poll(consumer);
    assert_string_equal(messages_body(held[2]), "4");
    messages_done(held[0]);
    held[0] = messages_poll(consumer); /* its rest ends while others are held */
    assert_string_equal(messages_body(held[0]), "2");
    for (int i = 0; i < 4; i++) {
        messages_done(held[i]);
    }
    flush(consumer);
    assert_int_equal(messages_stats(client, topic).done, 5);
    smq_consumer_free(consumer);
    smq_client_free(client);
}

static void descriptor_is_readable_while_a_poll_would_give_something(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, false, 1);
    smq_consumer *consumer;
    smq_delivery *delivery, *more;

    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.per_slot = 1);
    consumer = messages_consumer_with(client, &options, topic);
    assert_true(smq_consumer_fd(consumer) >= 0);
    assert_false(is_readable(consumer));
    messages_send_numbers(client, topic, 0, 1);
    await_readable(consumer);
    assert_true(is_readable(consumer)); /* looking does not change it */
    assert_int_equal(poll_now(consumer, &delivery, 1), 1);
    assert_false(is_readable(consumer));
    messages_send_numbers(client, topic, 1, 2);
    assert_false(is_readable(consumer)); /* they wait for the answer */
    messages_done(delivery);
    await_readable(consumer);
    assert_int_equal(poll_now(consumer, &delivery, 1), 1);
    assert_int_equal(poll_now(consumer, &more, 1), 0);
    assert_false(is_readable(consumer));
    messages_done(delivery);
    await_readable(consumer);
    assert_int_equal(poll_now(consumer, &delivery, 1), 1);
    smq_consumer_stop(consumer);
    messages_done(delivery);
    await_readable(consumer);
    assert_int_equal(smq_consumer_poll(consumer, &more, 1, &(size_t){0}, SMQ_FOREVER, NULL),
                     SMQ_CLOSED);
    assert_true(is_readable(consumer));
    smq_consumer_free(consumer);
    smq_client_free(client);
}

static void max_in_flight_bounds_what_is_claimed(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, false, 16);
    smq_consumer *consumer;
    smq_delivery *held[6];

    messages_send_numbers(client, topic, 0, 60);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.max_in_flight = 5);
    consumer = messages_consumer_with(client, &options, topic);
    for (int i = 0; i < 5; i++) {
        held[i] = messages_poll(consumer);
    }
    assert_int_equal(poll_now(consumer, held + 5, 1), 0);
    assert_int_equal(messages_stats(client, topic).claimed, 5);
    for (int i = 0; i < 5; i++) {
        messages_done(held[i]);
    }
    for (int i = 5; i < 60; i++) {
        messages_done(messages_poll(consumer));
    }
    flush(consumer);
    assert_int_equal(messages_stats(client, topic).done, 60);
    smq_consumer_free(consumer);
    smq_client_free(client);
}

/* --- threads --- */

enum { THREADS = 4, MESSAGES = 400 };

struct pool {
    smq_consumer *consumer;
    pthread_mutex_t lock;
    int running[16];  /* by slot */
    int count, clash; /* answered; two of one slot at once */
};

static void pool_take(struct pool *pool, const smq_delivery *delivery, int change)
{
    int *running = &pool->running[smq_delivery_info(delivery)->slot];

    pthread_mutex_lock(&pool->lock);
    *running += change;
    pool->clash += *running > 1 ? 1 : 0;
    pool->count += change < 0 ? 1 : 0;
    if (pool->count == MESSAGES) {
        smq_consumer_stop(pool->consumer);
    }
    pthread_mutex_unlock(&pool->lock);
}

static void *answer_later(void *arg)
{
    (void) smq_done(arg, NULL);
    return NULL;
}

/* Each delivery is answered by yet another thread. */
static void *poll_all(void *arg)
{
    struct pool *pool = arg;
    smq_delivery *delivery;
    pthread_t thread;
    size_t count = 0;

    while (smq_consumer_poll(pool->consumer, &delivery, 1, &count, SMQ_FOREVER, NULL) == SMQ_OK) {
        pool_take(pool, delivery, 1);
        pool_take(pool, delivery, -1);
        if (pthread_create(&thread, NULL, answer_later, delivery) == 0) {
            pthread_join(thread, NULL);
        }
    }
    return NULL;
}

static void many_threads_poll_and_others_answer(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, false, 16);
    struct pool pool = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[THREADS];

    pool.consumer = messages_consumer(client, topic);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, poll_all, &pool), 0);
    }
    messages_send_numbers(client, topic, 0, MESSAGES);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL); /* the stop wakes all of them */
    }
    assert_int_equal(pool.count, MESSAGES);
    assert_int_equal(pool.clash, 0);
    assert_int_equal(messages_stats(client, topic).done, MESSAGES);
    smq_consumer_free(pool.consumer);
    smq_client_free(client);
}

/* --- flushes --- */

static void flush_waits_for_what_cannot_be_stored_yet(void **state)
{
    smq_client *client;
    const char *topic;
    smq_consumer *consumer;
    smq_delivery *delivery;
    struct server *node;
    char key[64];
    smq_error err = SMQ_ERROR_INIT;

    smq_client_options options = SMQ_CLIENT_OPTIONS(.request_timeout_ms = 500);
    client = cluster_client_with(&options);
    topic = cluster_priority_topic(client, false, 1);
    consumer = messages_consumer(client, topic);
    flush(consumer); /* nothing to wait for */
    messages_send_numbers(client, topic, 0, 1);
    delivery = messages_poll(consumer);
    snprintf(key, sizeof(key), "%s_0", topic);
    node = servers_node_of(cluster_servers(), key);
    server_pause(node);
    messages_done(delivery);
    assert_int_equal(smq_consumer_flush(consumer, 50, &err), SMQ_TIMED_OUT);
    assert_non_null(strstr(err.text, topic));
    server_resume(node);
    flush(consumer);
    assert_int_equal(messages_stats(client, topic).done, 1);
    smq_consumer_free(consumer);
    smq_client_free(client);
}

static void flush_tells_of_an_answer_that_came_too_late(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, false, 1);
    smq_consumer *consumer = messages_consumer(client, topic);
    redisContext *redis = keys_connect_to(topic);
    smq_delivery *delivery;
    smq_error err = SMQ_ERROR_INIT;

    messages_send_numbers(client, topic, 0, 1);
    delivery = messages_poll(consumer);
    assert_int_equal(keys_read_number(redis, "ZREMRANGEBYRANK prepare{%s_0} 0 0", topic), 1);
    messages_done(delivery); /* it is not known yet */
    assert_int_equal(smq_consumer_flush(consumer, TIMEOUT_MS, &err), SMQ_LEASE_LOST);
    assert_non_null(strstr(err.text, topic));
    flush(consumer); /* said once */
    redisFree(redis);
    smq_consumer_free(consumer);
    smq_client_free(client);
}

static void flush_tells_of_a_newer_owner(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, false, 1);
    smq_consumer *consumer = messages_consumer(client, topic);
    redisContext *redis = keys_connect_to(topic);
    smq_delivery *delivery;
    smq_error err = SMQ_ERROR_INIT;

    messages_send_numbers(client, topic, 0, 1);
    delivery = messages_poll(consumer);
    keys_await_open(topic, 1, 1); /* from here on it calls Redis only with the answer */
    freeReplyObject(redisCommand(redis, "HSET slot{%s_0} token 0000000200000000000000ff", topic));
    messages_done(delivery);
    assert_int_equal(smq_consumer_flush(consumer, TIMEOUT_MS, &err), SMQ_FENCED);
    redisFree(redis);
    smq_consumer_free(consumer);
    smq_client_free(client);
}

static void overdue_delivery_lets_its_key_go_on(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, false, 1);
    smq_consumer *consumer;
    smq_delivery *held, *next;

    messages_send(client, topic, (struct test_message){.key = "k", .body = "0"});
    messages_send(client, topic, (struct test_message){.key = "k", .body = "1"});
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.handler_timeout_ms = 200);
    consumer = messages_consumer_with(client, &options, topic);
    held = messages_poll(consumer);
    assert_string_equal(messages_body(held), "0");
    next = messages_poll(consumer);
    assert_string_equal(messages_body(next), "1");
    messages_done(next);
    assert_int_equal(smq_delivery_check(held), SMQ_LEASE_LOST);
    assert_int_equal(smq_done(held, NULL), SMQ_LEASE_LOST);
    assert_int_equal(smq_consumer_flush(consumer, TIMEOUT_MS, NULL), SMQ_LEASE_LOST);
    smq_consumer_free(consumer);
    smq_client_free(client);
}

TEST_GROUP(poll)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(polls_give_all_messages_once),
        cmocka_unit_test(each_answer_does_what_it_says),
        cmocka_unit_test(several_answers_are_given_in_one_call),
        cmocka_unit_test(what_is_answered_too_late_is_told_for_each),
        cmocka_unit_test(poll_waits_for_a_message_and_for_its_time),
        cmocka_unit_test(per_slot_gives_more_in_order),
        cmocka_unit_test(per_slot_fills_up_while_others_are_held),
        cmocka_unit_test(descriptor_is_readable_while_a_poll_would_give_something),
        cmocka_unit_test(max_in_flight_bounds_what_is_claimed),
        cmocka_unit_test(many_threads_poll_and_others_answer),
        cmocka_unit_test(flush_waits_for_what_cannot_be_stored_yet),
        cmocka_unit_test(flush_tells_of_an_answer_that_came_too_late),
        cmocka_unit_test(flush_tells_of_a_newer_owner),
        cmocka_unit_test(overdue_delivery_lets_its_key_go_on),
    };

    return cmocka_run_group_tests(tests, cluster_start_masters, cluster_end);
}
