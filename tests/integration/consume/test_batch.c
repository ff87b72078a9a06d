/* test_batch.c - batch handlers: what they are given, and what becomes of their answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "integration/fixture/scene.h"
#include "support/wait.h"

enum { CALLS_MAX = 64 };

/* The calls of the batch handler; guarded by the recorder's lock. */
static struct {
    struct recorder *recorder;
    smq_verdict verdict;
    int count;
    size_t sizes[CALLS_MAX];
} calls;

static const char *topic_of(smq_client *client, int32_t slots)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS_INIT;

    options.type = SMQ_TYPE_PRIORITY;
    options.layout = scene_layout();
    options.slots = slots;
    return scene_topic(client, &options);
}

static void call_begins(size_t count)
{
    pthread_mutex_lock(&calls.recorder->lock);
    calls.sizes[calls.count++ % CALLS_MAX] = count;
    pthread_mutex_unlock(&calls.recorder->lock);
}

static smq_verdict note_all(smq_delivery *const *deliveries, size_t count, void *user)
{
    struct recorder *recorder = user;
    int index;

    call_begins(count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(smq_delivery_info(deliveries[i])->slot,
                         smq_delivery_info(deliveries[0])->slot);
        (void) recorder_note(recorder, deliveries[i], &index);
    }
    recorder_pass(recorder);
    return calls.verdict;
}

static smq_worker *batch_worker(smq_client *client, const char *topic, smq_batch_fn *batch,
                                int32_t batch_size, struct recorder *recorder)
{
    smq_worker_options options = SMQ_WORKER_OPTIONS_INIT;

    calls.recorder = recorder;
    calls.count = 0;
    options.batch = batch;
    options.batch_size = batch_size;
    return scene_worker_with(client, &options, topic, recorder);
}

struct watch {
    redisContext *redis;
    const char *topic;
    int64_t done;
};

static bool something_is_done(void *arg)
{
    struct watch *watch = arg;

    watch->done = scene_redis_number(watch->redis, "HGET slot{%s_0} done", watch->topic);
    return watch->done > 0;
}

static void batch_comes_in_order_and_is_settled_at_once(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, 1);
    struct recorder *recorder = recorder_new(NULL);
    redisContext *redis = scene_redis_of(topic);
    struct watch watch = {.redis = redis, .topic = topic};
    bool keyed = scene_redis_number(redis, "EXISTS body{%s_0}", topic) == 1;
    int count = keyed ? 200 : 1000; /* as many as one call moves */
    smq_worker *worker;

    (void) state;
    scene_send_numbers(client, topic, 0, count + 1);
    calls.verdict = SMQ_DONE;
    recorder_gate(recorder);
    worker = batch_worker(client, topic, note_all, count, recorder);
    recorder_await(recorder, count);
    recorder_open(recorder, 1);
    assert_true(wait_until(something_is_done, &watch, SCENE_TIMEOUT_MS));
    assert_int_equal(watch.done, count);
    recorder_await(recorder, count + 1);
    recorder_open(recorder, 1);
    scene_await_counts(client, topic, (struct scene_counts){.done = count + 1});
    assert_int_equal(calls.sizes[0], count);
    assert_int_equal(calls.sizes[1], 1);
    for (int i = 0; i <= count; i++) {
        char body[16];

        snprintf(body, sizeof(body), "%d", i);
        assert_string_equal(recorder_seen(recorder, i).body, body);
    }
    scene_stop(worker);
    recorder_free(recorder);
    redisFree(redis);
    smq_client_free(client);
}

static void batches_of_many_slots_end_well(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, 16);
    struct recorder *recorder = recorder_new(NULL);
    smq_worker *worker;

    (void) state;
    calls.verdict = SMQ_DONE;
    worker = batch_worker(client, topic, note_all, 10, recorder);
    scene_send_numbers(client, topic, 0, 500);
    scene_await_counts(client, topic, (struct scene_counts){.waiting = 0, .done = 500});
    assert_int_equal(recorder_count(recorder), 500);
    for (int i = 0; i < calls.count && i < CALLS_MAX; i++) {
        assert_in_range(calls.sizes[i], 1, 10);
    }
    scene_stop(worker);
    recorder_free(recorder);
    smq_client_free(client);
}

/* Answers one by a call; leaves one that was failed once to the verdict; keeps none. */
static smq_verdict answer_some(smq_delivery *const *deliveries, size_t count, void *user)
{
    struct recorder *recorder = user;
    int index = 0;

    for (size_t i = 0; i < count; i++) {
        struct seen seen = recorder_note(recorder, deliveries[i], &index);

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
    smq_client *client = scene_client();
    const char *topic = topic_of(client, 1);
    struct recorder *recorder = recorder_new(NULL);
    smq_worker *worker;

    (void) state;
    scene_send_numbers(client, topic, 0, 5);
    worker = batch_worker(client, topic, answer_some, 5, recorder);
    scene_await_counts(client, topic,
                       (struct scene_counts){.waiting = 0, .claimed = 0, .dead = 1, .done = 4});
    assert_int_equal(recorder_count(recorder), 6); /* "2" twice */
    assert_int_equal(scene_stats(client, topic).retried, 1);
    scene_stop(worker);
    recorder_free(recorder);
    smq_client_free(client);
}

static void retried_batch_comes_again(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, 1);
    struct recorder *recorder = recorder_new(NULL);
    smq_worker *worker;

    (void) state;
    scene_send_numbers(client, topic, 0, 3);
    calls.verdict = SMQ_RETRY;
    recorder_gate(recorder);
    worker = batch_worker(client, topic, note_all, 3, recorder);
    recorder_await(recorder, 3);
    calls.verdict = SMQ_RETRY;
    recorder_open(recorder, 1);
    recorder_await(recorder, 4);
    calls.verdict = SMQ_DONE; /* the handler waits at the gate */
    recorder_open(recorder, 10);
    scene_await_counts(client, topic, (struct scene_counts){.waiting = 0, .claimed = 0, .done = 3});
    assert_int_equal(recorder_seen(recorder, 3).attempt, 2);
    scene_stop(worker);
    recorder_free(recorder);
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

/* The slot waits until the last of a batch is answered, by whatever thread. */
static void batch_left_for_later_is_answered_from_other_threads(void **state)
{
    enum { COUNT = 8 };
    smq_client *client = scene_client();
    const char *topic = topic_of(client, 1);
    struct recorder *recorder = recorder_new(NULL);
    struct answering answering[COUNT];
    smq_worker *worker;

    (void) state;
    scene_send_numbers(client, topic, 0, COUNT + 1);
    calls.verdict = SMQ_LATER;
    worker = batch_worker(client, topic, note_all, COUNT, recorder);
    recorder_await(recorder, COUNT);
    for (int i = 0; i < COUNT - 1; i++) {
        answering[i] = (struct answering){.delivery = recorder_seen(recorder, i).delivery};
        assert_int_equal(smq_delivery_check(answering[i].delivery), SMQ_OK);
        assert_int_equal(
            pthread_create(&answering[i].thread, NULL, answer_from_a_thread, &answering[i]), 0);
    }
    for (int i = 0; i < COUNT - 1; i++) {
        pthread_join(answering[i].thread, NULL);
        assert_int_equal(answering[i].status, SMQ_OK);
    }
    /* the last one may be claimed, if the handler had not returned, but not handled */
    scene_await_counts(client, topic,
                       (struct scene_counts){.waiting = -1, .claimed = -1, .done = COUNT - 1});
    assert_int_equal(recorder_count(recorder), COUNT);
    assert_int_equal(smq_done(recorder_seen(recorder, COUNT - 1).delivery, NULL), SMQ_OK);
    recorder_await(recorder, COUNT + 1);
    assert_int_equal(smq_done(recorder_seen(recorder, COUNT).delivery, NULL), SMQ_OK);
    scene_await_counts(client, topic, (struct scene_counts){.done = COUNT + 1});
    scene_stop(worker);
    recorder_free(recorder);
    smq_client_free(client);
}

static void stop_waits_for_the_batch_and_gives_back_the_rest(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, 1);
    struct recorder *recorder = recorder_new(NULL);
    smq_error err = SMQ_ERROR_INIT;
    smq_worker *worker;

    (void) state;
    scene_send_numbers(client, topic, 0, 30);
    calls.verdict = SMQ_DONE;
    recorder_gate(recorder);
    worker = batch_worker(client, topic, note_all, 20, recorder);
    recorder_await(recorder, 20);
    smq_worker_stop(worker);
    assert_int_equal(smq_worker_wait(worker, 0, &err), SMQ_TIMED_OUT);
    scene_await_standing(recorder_seen(recorder, 19).delivery, SMQ_CLOSED);
    recorder_open(recorder, 1);
    scene_must(smq_worker_wait(worker, SCENE_TIMEOUT_MS, &err), &err, "smq_worker_wait");
    smq_worker_free(worker);
    assert_int_equal(scene_stats(client, topic).done, 20);
    assert_int_equal(scene_stats(client, topic).waiting, 10);
    assert_int_equal(scene_stats(client, topic).lease_lost, 0);
    recorder_free(recorder);
    smq_client_free(client);
}

static smq_verdict never(smq_delivery *delivery, void *user)
{
    (void) delivery;
    (void) user;
    abort();
}

static void exactly_one_kind_of_handler_is_wanted(void **state)
{
    smq_client *client = scene_client();
    smq_worker_options options = SMQ_WORKER_OPTIONS_INIT;
    smq_worker *worker = NULL;
    smq_error err = SMQ_ERROR_INIT;

    (void) state;
    options.topic = topic_of(client, 1);
    assert_int_equal(smq_worker_new(&worker, client, &options, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "no handler"));
    options.handler = never;
    options.batch = note_all;
    assert_int_equal(smq_worker_new(&worker, client, &options, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "two kinds of handler"));
    assert_null(worker);
    smq_client_free(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_comes_in_order_and_is_settled_at_once),
        cmocka_unit_test(batches_of_many_slots_end_well),
        cmocka_unit_test(verdict_answers_what_no_call_has),
        cmocka_unit_test(retried_batch_comes_again),
        cmocka_unit_test(batch_left_for_later_is_answered_from_other_threads),
        cmocka_unit_test(stop_waits_for_the_batch_and_gives_back_the_rest),
        cmocka_unit_test(exactly_one_kind_of_handler_is_wanted),
    };

    int failed = cmocka_run_group_tests_name("inline", tests, scene_start_inline, scene_end);

    return failed + cmocka_run_group_tests_name("keyed", tests, scene_start_keyed, scene_end);
}
