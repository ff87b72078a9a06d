/* test_batch.c - batch handlers: what they are given, and what becomes of their answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { CALLS_MAX = 64 };

/* The calls of the batch handler; guarded by the log's lock. */
static struct {
    struct handler_log *log;
    smq_verdict verdict;
    int count;
    size_t sizes[CALLS_MAX];
} calls;

static const char *topic_of(smq_client *client, int32_t slots)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_PRIORITY, .layout = cluster_layout(), .slots = slots);
    return cluster_topic(client, &options);
}

static void call_begins(size_t count)
{
    pthread_mutex_lock(&calls.log->lock);
    calls.sizes[calls.count++ % CALLS_MAX] = count;
    pthread_mutex_unlock(&calls.log->lock);
}

static smq_verdict note_all(smq_delivery *const *deliveries, size_t count, void *user)
{
    struct handler_log *log = user;
    int index;

    call_begins(count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(smq_delivery_info(deliveries[i])->slot,
                         smq_delivery_info(deliveries[0])->slot);
        (void) handler_log_add(log, deliveries[i], &index);
    }
    handler_log_pass(log);
    return calls.verdict;
}

static smq_consumer *batch_worker(smq_client *client, const char *topic, smq_batch_fn *batch,
                                  int32_t batch_size, struct handler_log *log)
{
    calls.log = log;
    calls.count = 0;
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.batch = batch, .batch_size = batch_size);
    return handler_log_worker_with(client, &options, topic, log);
}

struct watch {
    redisContext *redis;
    const char *topic;
    int64_t done;
};

static bool something_is_done(void *arg)
{
    struct watch *watch = arg;

    watch->done = keys_read_number(watch->redis, "HGET slot{%s_0} done", watch->topic);
    return watch->done > 0;
}

static void batch_comes_in_order_and_is_settled_at_once(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, 1);
    struct handler_log *log = handler_log_new(NULL);
    redisContext *redis = keys_connect_to(topic);
    struct watch watch = {.redis = redis, .topic = topic};
    bool keyed = keys_read_number(redis, "EXISTS body{%s_0}", topic) == 1;
    int count = keyed ? 200 : 1000; /* as many as one call moves */
    smq_consumer *worker;

    messages_send_numbers(client, topic, 0, count + 1);
    calls.verdict = SMQ_DONE;
    handler_log_gate(log);
    worker = batch_worker(client, topic, note_all, count, log);
    handler_log_await(log, count);
    handler_log_open(log, 1);
    assert_true(wait_until(something_is_done, &watch, TIMEOUT_MS));
    assert_int_equal(watch.done, count);
    handler_log_await(log, count + 1);
    handler_log_open(log, 1);
    messages_await_counts(client, topic, (struct message_counts){.done = count + 1});
    assert_int_equal(calls.sizes[0], count);
    assert_int_equal(calls.sizes[1], 1);
    for (int i = 0; i <= count; i++) {
        char body[16];

        snprintf(body, sizeof(body), "%d", i);
        assert_string_equal(handler_log_seen(log, i).body, body);
    }
    handler_log_stop_worker(worker);
    handler_log_free(log);
    redisFree(redis);
    smq_client_free(client);
}

static void batches_of_many_slots_end_well(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, 16);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;

    calls.verdict = SMQ_DONE;
    worker = batch_worker(client, topic, note_all, 10, log);
    messages_send_numbers(client, topic, 0, 500);
    messages_await_counts(client, topic, (struct message_counts){.waiting = 0, .done = 500});
    assert_int_equal(handler_log_count(log), 500);
    for (int i = 0; i < calls.count && i < CALLS_MAX; i++) {
        assert_in_range(calls.sizes[i], 1, 10);
    }
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* Answers one by a call; leaves one that was failed once to the verdict; keeps none. */
static smq_verdict answer_some(smq_delivery *const *deliveries, size_t count, void *user)
{
    struct handler_log *log = user;
    int index = 0;

    for (size_t i = 0; i < count; i++) {
        struct seen seen = handler_log_add(log, deliveries[i], &index);

        if (strcmp(seen.body, "1") == 0) {
            assert_int_equal(smq_reject(deliveries[i], "no use", NULL), SMQ_OK);
        } else if (strcmp(seen.body, "2") == 0 && seen.attempt == 1) {
            assert_int_equal(smq_retry(deliveries[i], 0, NULL, NULL), SMQ_OK);
        }
    }
    return SMQ_DONE;
}

static void verdict_answers_what_no_call_has(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, 1);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;

    messages_send_numbers(client, topic, 0, 5);
    worker = batch_worker(client, topic, answer_some, 5, log);
    messages_await_counts(
        client, topic, (struct message_counts){.waiting = 0, .claimed = 0, .dead = 1, .done = 4});
    assert_int_equal(handler_log_count(log), 6); /* "2" twice */
    assert_int_equal(messages_stats(client, topic).retried, 1);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void retried_batch_comes_again(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, 1);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;

    messages_send_numbers(client, topic, 0, 3);
    calls.verdict = SMQ_RETRY;
    handler_log_gate(log);
    worker = batch_worker(client, topic, note_all, 3, log);
    handler_log_await(log, 3);
    calls.verdict = SMQ_RETRY;
    handler_log_open(log, 1);
    handler_log_await(log, 4);
    calls.verdict = SMQ_DONE; /* the handler waits at the gate */
    handler_log_open(log, 10);
    messages_await_counts(client, topic,
                          (struct message_counts){.waiting = 0, .claimed = 0, .done = 3});
    assert_int_equal(handler_log_seen(log, 3).attempt, 2);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

struct answering {
    pthread_t thread;
    smq_delivery *delivery;
    smq_status status;
};

static void *answer_from_a_thread(void *arg)
{
    struct answering *answering = arg;

    answering->status = smq_done(answering->delivery, NULL);
    return NULL;
}

/* The key waits until the last of a batch is answered, by whatever thread. */
static void batch_left_for_later_is_answered_from_other_threads(void **state)
{
    enum { COUNT = 8 };
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, 1);
    struct handler_log *log = handler_log_new(NULL);
    struct answering answering[COUNT];
    smq_consumer *worker;

    for (int i = 0; i <= COUNT; i++) {
        char body[16];

        snprintf(body, sizeof(body), "%d", i);
        messages_send(client, topic, (struct test_message){.key = "k", .body = body});
    }
    calls.verdict = SMQ_LATER;
    worker = batch_worker(client, topic, note_all, COUNT, log);
    handler_log_await(log, COUNT);
    for (int i = 0; i < COUNT - 1; i++) {
        answering[i] = (struct answering){.delivery = handler_log_seen(log, i).delivery};
        assert_int_equal(smq_delivery_check(answering[i].delivery), SMQ_OK);
        assert_int_equal(
            pthread_create(&answering[i].thread, NULL, answer_from_a_thread, &answering[i]), 0);
    }
    for (int i = 0; i < COUNT - 1; i++) {
        pthread_join(answering[i].thread, NULL);
        assert_int_equal(answering[i].status, SMQ_OK);
    }
    /* the last one may be claimed, if the handler had not returned, but not handled */
    messages_await_counts(client, topic,
                          (struct message_counts){.waiting = -1, .claimed = -1, .done = COUNT - 1});
    assert_int_equal(handler_log_count(log), COUNT);
    assert_int_equal(smq_done(handler_log_seen(log, COUNT - 1).delivery, NULL), SMQ_OK);
    handler_log_await(log, COUNT + 1);
    assert_int_equal(smq_done(handler_log_seen(log, COUNT).delivery, NULL), SMQ_OK);
    messages_await_counts(client, topic, (struct message_counts){.done = COUNT + 1});
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void stop_waits_for_the_batch_and_gives_back_the_rest(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, 1);
    struct handler_log *log = handler_log_new(NULL);
    smq_error err = SMQ_ERROR_INIT;
    smq_consumer *worker;

    messages_send_numbers(client, topic, 0, 30);
    calls.verdict = SMQ_DONE;
    handler_log_gate(log);
    worker = batch_worker(client, topic, note_all, 20, log);
    handler_log_await(log, 20);
    smq_consumer_stop(worker);
    assert_int_equal(smq_consumer_wait(worker, 0, &err), SMQ_TIMED_OUT);
    messages_await_check(handler_log_seen(log, 19).delivery, SMQ_CLOSED);
    handler_log_open(log, 1);
    assert_ok(smq_consumer_wait(worker, TIMEOUT_MS, &err), &err);
    smq_consumer_free(worker);
    assert_int_equal(messages_stats(client, topic).done, 20);
    assert_int_equal(messages_stats(client, topic).waiting, 10);
    assert_int_equal(messages_stats(client, topic).lease_lost, 0);
    handler_log_free(log);
    smq_client_free(client);
}

static smq_verdict never(smq_delivery *delivery, void *user)
{
    (void) delivery;
    (void) user;
    abort();
}

static void one_kind_of_handler_at_most_is_wanted(void **state)
{
    smq_client *client = cluster_client();
    smq_consumer *worker = NULL;
    smq_error err = SMQ_ERROR_INIT;

    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = topic_of(client, 1), .handler = never, .batch = note_all);
    assert_int_equal(smq_consumer_new(&worker, client, &options, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "two kinds of handler"));
    assert_null(worker);
    smq_client_free(client);
}

TEST_GROUP(batch)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_comes_in_order_and_is_settled_at_once),
        cmocka_unit_test(batches_of_many_slots_end_well),
        cmocka_unit_test(verdict_answers_what_no_call_has),
        cmocka_unit_test(retried_batch_comes_again),
        cmocka_unit_test(batch_left_for_later_is_answered_from_other_threads),
        cmocka_unit_test(stop_waits_for_the_batch_and_gives_back_the_rest),
        cmocka_unit_test(one_kind_of_handler_at_most_is_wanted),
    };

    int failed = cmocka_run_group_tests_name("inline", tests, cluster_start_inline, cluster_end);

    return failed + cmocka_run_group_tests_name("keyed", tests, cluster_start_keyed, cluster_end);
}
