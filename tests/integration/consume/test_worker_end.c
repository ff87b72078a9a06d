/* test_worker_end.c - how workers begin and end: drain, limits, misuse. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "integration/fixture/scene.h"
#include "support/wait.h"

static int start(void **state)
{
    struct servers_options options = {.redis = REDIS_SINGLE};

    (void) state;
    return scene_start(&options);
}

static const char *topic_of(smq_client *client, bool shared, int32_t slots)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS_INIT;

    options.type = SMQ_TYPE_FIXED_TIME;
    options.shared = shared;
    options.slots = slots;
    return scene_topic(client, &options);
}

static void stop_lets_the_handler_end_and_gives_back_the_rest(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, false, 1);
    struct recorder *recorder = recorder_new(NULL);
    smq_worker *worker;
    smq_stats stats;
    smq_error err = SMQ_ERROR_INIT;

    (void) state;
    scene_send_numbers(client, topic, 0, 50);
    recorder_gate(recorder);
    worker = scene_worker(client, topic, recorder);
    recorder_await(recorder, 1);
    scene_await_counts(client, topic, (struct scene_counts){.claimed = 50});
    smq_worker_stop(worker);
    scene_await_counts(client, topic, (struct scene_counts){.waiting = 49, .claimed = 1});
    assert_int_equal(smq_worker_wait(worker, 0, &err), SMQ_TIMED_OUT);
    assert_int_equal(smq_delivery_check(recorder_seen(recorder, 0).delivery), SMQ_CLOSED);
    recorder_open(recorder, 1);
    scene_must(smq_worker_wait(worker, SMQ_FOREVER, &err), &err, "smq_worker_wait");
    smq_worker_free(worker);
    stats = scene_stats(client, topic);
    assert_int_equal(stats.done, 1);
    assert_int_equal(stats.waiting, 49);
    assert_int_equal(stats.released, 49);
    assert_int_equal(stats.lease_lost, 0);

    recorder_open(recorder, 49);
    worker = scene_worker(client, topic, recorder);
    recorder_await(recorder, 50);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(recorder_seen(recorder, i).attempt, 1);
    }
    scene_stop(worker);
    recorder_free(recorder);
    smq_client_free(client);
}

static void hung_handler_is_abandoned_and_its_late_answer_dropped(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, false, 1);
    struct recorder *recorder = recorder_new(NULL), *second = recorder_new(NULL);
    smq_worker_options options = SMQ_WORKER_OPTIONS_INIT;
    smq_client *other;
    smq_worker *worker, *heir;
    smq_error err = SMQ_ERROR_INIT;

    (void) state;
    options.drain_timeout_ms = 100;
    scene_send_numbers(client, topic, 0, 1);
    recorder_gate(recorder);
    worker = scene_worker_with(client, &options, topic, recorder);
    recorder_await(recorder, 1);
    smq_worker_stop(worker);
    assert_int_equal(smq_worker_wait(worker, SMQ_FOREVER, &err), SMQ_TIMED_OUT);
    assert_int_equal(smq_delivery_check(recorder_seen(recorder, 0).delivery), SMQ_LEASE_LOST);
    other = scene_client();
    heir = scene_worker(other, topic, second);
    recorder_await(second, 1); /* it is delivered again while the first handler still hangs */
    assert_int_equal(recorder_seen(second, 0).attempt, 1);
    assert_true(strcmp(recorder_seen(second, 0).token, recorder_seen(recorder, 0).token) > 0);
    scene_await_counts(client, topic, (struct scene_counts){.done = 1});
    recorder_open(recorder, 1);
    smq_worker_free(worker);
    assert_int_equal(scene_stats(client, topic).done, 1);
    assert_int_equal(scene_stats(client, topic).lease_lost, 1);
    scene_stop(heir);
    recorder_free(recorder);
    recorder_free(second);
    smq_client_free(other);
    smq_client_free(client);
}

static smq_verdict keep(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    (void) seen;
    (void) index;
    return SMQ_LATER;
}

static void delivery_outlives_its_worker(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, false, 1);
    struct recorder *recorder = recorder_new(keep);
    smq_worker_options options = SMQ_WORKER_OPTIONS_INIT;
    smq_worker *worker;
    smq_delivery *delivery;
    smq_error err = SMQ_ERROR_INIT;
    smq_status status;

    (void) state;
    options.drain_timeout_ms = SMQ_NONE;
    scene_send_numbers(client, topic, 0, 1);
    worker = scene_worker_with(client, &options, topic, recorder);
    recorder_await(recorder, 1);
    delivery = recorder_seen(recorder, 0).delivery;
    smq_worker_free(worker);
    smq_client_free(client);
    assert_string_equal(smq_delivery_info(delivery)->topic, topic);
    status = smq_done(delivery, &err);
    assert_true(status == SMQ_LEASE_LOST || status == SMQ_CLOSED);
    recorder_free(recorder);
}

static void max_messages_ends_the_worker_and_claims_no_more(void **state)
{
    static const bool shared[] = {false, true};

    (void) state;
    for (int i = 0; i < 2; i++) {
        smq_client *client = scene_client();
        const char *topic = topic_of(client, shared[i], 4);
        struct recorder *recorder = recorder_new(NULL);
        smq_worker_options options = SMQ_WORKER_OPTIONS_INIT;
        smq_error err = SMQ_ERROR_INIT;
        smq_worker *worker;
        smq_stats stats;

        scene_send_numbers(client, topic, 0, 20);
        options.max_messages = 7;
        worker = scene_worker_with(client, &options, topic, recorder);
        scene_must(smq_worker_wait(worker, SCENE_TIMEOUT_MS, &err), &err, "smq_worker_wait");
        smq_worker_free(worker);
        stats = scene_stats(client, topic);
        assert_int_equal(recorder_count(recorder), 7);
        assert_int_equal(stats.done, 7);
        assert_int_equal(stats.released, 0);
        assert_int_equal(stats.waiting, 13);
        recorder_free(recorder);
        smq_client_free(client);
    }
}

static void max_in_flight_bounds_what_is_claimed(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, false, 8);
    struct recorder *recorder = recorder_new(NULL);
    smq_worker_options options = SMQ_WORKER_OPTIONS_INIT;
    smq_worker *worker;

    (void) state;
    scene_send_numbers(client, topic, 0, 60);
    options.max_in_flight = 5;
    recorder_gate(recorder);
    worker = scene_worker_with(client, &options, topic, recorder);
    recorder_await(recorder, 1);
    for (int i = 1; i < 60; i++) {
        assert_in_range(scene_stats(client, topic).claimed, 0, 6); /* one may wait to be settled */
        recorder_open(recorder, 1);
        recorder_await(recorder, i + 1);
    }
    recorder_open(recorder, 1);
    scene_await_counts(client, topic, (struct scene_counts){.done = 60});
    scene_stop(worker);
    recorder_free(recorder);
    smq_client_free(client);
}

static smq_worker *own;
static smq_status own_wait;

static smq_verdict misuse(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    (void) seen;
    if (index == 0) {
        own_wait = smq_worker_wait(own, SMQ_FOREVER, NULL);
        smq_worker_free(own); /* only stops it */
    }
    return SMQ_DONE;
}

static void waiting_for_oneself_is_refused(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, false, 1);
    struct recorder *recorder = recorder_new(misuse);
    smq_error err = SMQ_ERROR_INIT;

    (void) state;
    own = scene_worker(client, topic, recorder);
    scene_send(client, topic, (struct scene_message){.body = "a"});
    scene_must(smq_worker_wait(own, SCENE_TIMEOUT_MS, &err), &err, "smq_worker_wait");
    smq_worker_free(own);
    assert_int_equal(own_wait, SMQ_WRONG_THREAD);
    assert_int_equal(scene_stats(client, topic).done, 1);
    recorder_free(recorder);
    smq_client_free(client);
}

static void worker_that_was_not_started_can_be_stopped_and_freed(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, false, 1);
    smq_worker_options options = SMQ_WORKER_OPTIONS_INIT;
    smq_worker *worker = NULL;
    smq_error err = SMQ_ERROR_INIT;

    (void) state;
    options.topic = topic;
    options.handler = (smq_handler_fn *) abort;
    scene_must(smq_worker_new(&worker, client, &options, &err), &err, "smq_worker_new");
    smq_worker_stop(worker);
    scene_must(smq_worker_wait(worker, SMQ_FOREVER, &err), &err, "smq_worker_wait");
    assert_int_equal(smq_worker_start(worker, &err), SMQ_CLOSED);
    smq_worker_free(worker);
    scene_must(smq_worker_new(&worker, client, &options, &err), &err, "smq_worker_new");
    smq_worker_free(worker);
    smq_client_free(client);
}

static void one_worker_after_another_takes_the_same_topic(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, false, 4);
    struct recorder *recorder = recorder_new(NULL);

    (void) state;
    for (int i = 1; i <= 5; i++) {
        smq_worker *worker = scene_worker(client, topic, recorder);

        scene_send(client, topic, (struct scene_message){.body = "a"});
        recorder_await(recorder, i);
        scene_stop(worker);
    }
    recorder_free(recorder);
    smq_client_free(client);
}

static void deleted_topic_ends_the_worker(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, false, 2);
    struct recorder *recorder = recorder_new(NULL);
    smq_client *other = scene_client();
    smq_worker *worker = scene_worker(client, topic, recorder);
    smq_error err = SMQ_ERROR_INIT;

    (void) state;
    recorder_gate(recorder);
    scene_send(client, topic, (struct scene_message){.body = "a"});
    recorder_await(recorder, 1);
    scene_must(smq_topic_delete(other, topic, true, &err), &err, "smq_topic_delete");
    recorder_open(recorder, 1);
    assert_int_equal(smq_worker_wait(worker, SCENE_TIMEOUT_MS, &err), SMQ_NO_TOPIC);
    assert_non_null(strstr(err.text, topic));
    smq_worker_free(worker);
    recorder_free(recorder);
    smq_client_free(other);
    smq_client_free(client);
}

static void bad_options_are_refused_with_a_clear_text(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, false, 1);
    const struct {
        smq_worker_options options;
        smq_status status;
        const char *text;
    } rows[] = {
        {{.topic = "nothing", .handler = (smq_handler_fn *) abort}, SMQ_NO_TOPIC, "nothing"},
        {{.topic = "no good", .handler = (smq_handler_fn *) abort}, SMQ_INVALID, "topic"},
        {{.topic = NULL, .handler = (smq_handler_fn *) abort}, SMQ_INVALID, "topic"},
        {{.topic = topic}, SMQ_INVALID, "handler"},
        {{.topic = topic, .handler = (smq_handler_fn *) abort, .threads = -1},
         SMQ_INVALID,
         "threads"},
        {{.topic = topic, .handler = (smq_handler_fn *) abort, .batch_size = 1001},
         SMQ_INVALID,
         "batch_size"},
        {{.topic = topic, .handler = (smq_handler_fn *) abort, .max_in_flight = -5},
         SMQ_INVALID,
         "max_in_flight"},
        {{.topic = topic, .handler = (smq_handler_fn *) abort, .max_messages = -1},
         SMQ_INVALID,
         "max_messages"},
        {{.topic = topic, .handler = (smq_handler_fn *) abort, .drain_timeout_ms = -2},
         SMQ_INVALID,
         "drain_timeout_ms"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        smq_worker_options options = rows[i].options;
        smq_worker *worker = NULL;
        smq_error err = SMQ_ERROR_INIT;

        options.struct_size = sizeof(options);
        assert_int_equal(smq_worker_new(&worker, client, &options, &err), rows[i].status);
        assert_null(worker);
        assert_non_null(strstr(err.text, rows[i].text));
    }
    smq_client_free(client);
}

static void second_worker_of_a_topic_is_refused(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, false, 1);
    struct recorder *recorder = recorder_new(NULL);
    smq_worker *worker = scene_worker(client, topic, recorder), *second = NULL;
    smq_worker_options options = SMQ_WORKER_OPTIONS_INIT;
    smq_error err = SMQ_ERROR_INIT;

    (void) state;
    options.topic = topic;
    options.handler = (smq_handler_fn *) abort;
    assert_int_equal(smq_worker_new(&second, client, &options, &err), SMQ_INVALID);
    assert_int_equal(smq_worker_start(worker, &err), SMQ_INVALID);
    scene_stop(worker);
    recorder_free(recorder);
    smq_client_free(client);
}

static void child_of_fork_is_refused(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, false, 1);
    struct recorder *recorder = recorder_new(NULL);
    smq_worker *worker = scene_worker(client, topic, recorder);
    int status = 0;
    pid_t child;

    (void) state;
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool good = smq_worker_wait(worker, 0, NULL) == SMQ_FORKED &&
                    smq_worker_start(worker, NULL) == SMQ_FORKED;

        smq_worker_stop(worker);
        smq_worker_free(worker);
        _exit(good ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    scene_send(client, topic, (struct scene_message){.body = "a"});
    recorder_await(recorder, 1); /* the parent's worker was not stopped */
    scene_stop(worker);
    recorder_free(recorder);
    smq_client_free(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stop_lets_the_handler_end_and_gives_back_the_rest),
        cmocka_unit_test(hung_handler_is_abandoned_and_its_late_answer_dropped),
        cmocka_unit_test(delivery_outlives_its_worker),
        cmocka_unit_test(max_messages_ends_the_worker_and_claims_no_more),
        cmocka_unit_test(max_in_flight_bounds_what_is_claimed),
        cmocka_unit_test(waiting_for_oneself_is_refused),
        cmocka_unit_test(worker_that_was_not_started_can_be_stopped_and_freed),
        cmocka_unit_test(one_worker_after_another_takes_the_same_topic),
        cmocka_unit_test(deleted_topic_ends_the_worker),
        cmocka_unit_test(bad_options_are_refused_with_a_clear_text),
        cmocka_unit_test(second_worker_of_a_topic_is_refused),
        cmocka_unit_test(child_of_fork_is_refused),
    };

    return cmocka_run_group_tests(tests, start, scene_end);
}
