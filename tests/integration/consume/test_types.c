/* test_types.c - order, merging and due times of the three types of topic, through a worker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "integration/fixture/scene.h"

enum { LONG_MS = 600000 };

static int start(void **state)
{
    struct servers_options options = {.redis = REDIS_SINGLE};

    (void) state;
    return scene_start(&options);
}

static const char *topic_of(smq_client *client, smq_topic_type type)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS_INIT;

    options.type = type;
    return scene_topic(client, &options);
}

/* The bodies seen first, as one string. */
static void assert_order(struct recorder *recorder, const char *bodies)
{
    int count = (int) strlen(bodies);
    char seen[64] = "";

    recorder_await(recorder, count);
    for (int i = 0; i < count; i++) {
        seen[i] = recorder_seen(recorder, i).body[0];
    }
    assert_string_equal(seen, bodies);
}

static void assert_never_early(struct recorder *recorder)
{
    for (int i = 0; i < recorder_count(recorder); i++) {
        struct seen seen = recorder_seen(recorder, i);

        assert_true(seen.at_ms >= seen.due_at_ms);
    }
}

static void range_merge_delivers_by_due_time_and_not_before(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, SMQ_TYPE_RANGE_MERGE);
    struct recorder *recorder = recorder_new(NULL);
    smq_worker *worker = scene_worker(client, topic, recorder);

    (void) state;
    scene_send(client, topic, (struct scene_message){.body = "c", .delay_ms = 900});
    scene_send(client, topic, (struct scene_message){.body = "a", .delay_ms = 300});
    scene_send(client, topic, (struct scene_message){.body = "b", .delay_ms = 600});
    assert_order(recorder, "abc");
    assert_never_early(recorder);
    scene_stop(worker);
    recorder_free(recorder);
    smq_client_free(client);
}

static void range_merge_keeps_the_first_time(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, SMQ_TYPE_RANGE_MERGE);
    struct recorder *recorder = recorder_new(NULL);
    smq_worker *worker;

    (void) state;
    assert_false(scene_send(client, topic, (struct scene_message){.body = "a", .delay_ms = 400}));
    assert_true(
        scene_send(client, topic, (struct scene_message){.body = "a", .delay_ms = LONG_MS}));
    worker = scene_worker(client, topic, recorder);
    assert_order(recorder, "a");
    assert_never_early(recorder);
    scene_await_counts(client, topic,
                       (struct scene_counts){.waiting = 0, .resting = -1, .dead = -1, .done = 1});
    scene_stop(worker);
    recorder_free(recorder);
    smq_client_free(client);
}

static void fixed_time_delivers_by_due_time_and_not_before(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, SMQ_TYPE_FIXED_TIME);
    struct recorder *recorder = recorder_new(NULL);
    smq_worker *worker = scene_worker(client, topic, recorder);
    int64_t now = scene_now_ms();

    (void) state;
    scene_send(client, topic, (struct scene_message){.body = "c", .due_at_ms = now + 900});
    scene_send(client, topic, (struct scene_message){.body = "b", .due_at_ms = now + 500});
    scene_send(client, topic, (struct scene_message){.body = "a"}); /* none: now */
    assert_order(recorder, "abc");
    assert_int_equal(recorder_seen(recorder, 1).due_at_ms, now + 500);
    assert_never_early(recorder);
    scene_stop(worker);
    recorder_free(recorder);
    smq_client_free(client);
}

static void fixed_time_takes_the_last_time(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, SMQ_TYPE_FIXED_TIME);
    struct recorder *recorder = recorder_new(NULL);
    smq_worker *worker = scene_worker(client, topic, recorder);
    int64_t now = scene_now_ms();

    (void) state;
    scene_send(client, topic, (struct scene_message){.body = "a", .due_at_ms = now + LONG_MS});
    scene_send(client, topic, (struct scene_message){.body = "b", .due_at_ms = now + 2000});
    assert_true(
        scene_send(client, topic, (struct scene_message){.body = "b", .due_at_ms = now + LONG_MS}));
    assert_true(
        scene_send(client, topic, (struct scene_message){.body = "a", .due_at_ms = now + 100}));
    assert_order(recorder, "a");
    assert_int_equal(recorder_seen(recorder, 0).due_at_ms, now + 100);
    scene_await_counts(client, topic,
                       (struct scene_counts){.waiting = 1, .resting = -1, .dead = -1, .done = 1});
    scene_stop(worker);
    recorder_free(recorder);
    smq_client_free(client);
}

static void priority_delivers_the_largest_and_among_equals_the_first_sent(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, SMQ_TYPE_PRIORITY);
    struct recorder *recorder = recorder_new(NULL);
    smq_worker *worker;

    (void) state;
    scene_send(client, topic, (struct scene_message){.body = "d", .priority = -5});
    scene_send(client, topic, (struct scene_message){.body = "y", .priority = 0});
    scene_send(client, topic, (struct scene_message){.body = "x", .priority = 0});
    scene_send(client, topic, (struct scene_message){.body = "z", .priority = 0});
    scene_send(client, topic, (struct scene_message){.body = "a", .priority = 8191});
    worker = scene_worker(client, topic, recorder);
    assert_order(recorder, "ayxzd");
    assert_int_equal(recorder_seen(recorder, 0).priority, 8191);
    assert_int_equal(recorder_seen(recorder, 4).priority, -5);
    scene_stop(worker);
    recorder_free(recorder);
    smq_client_free(client);
}

static void priority_takes_the_last_priority(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, SMQ_TYPE_PRIORITY);
    struct recorder *recorder = recorder_new(NULL);
    smq_worker *worker;

    (void) state;
    scene_send(client, topic, (struct scene_message){.body = "a", .priority = 9});
    scene_send(client, topic, (struct scene_message){.body = "b", .priority = 5});
    assert_true(scene_send(client, topic, (struct scene_message){.body = "a", .priority = 1}));
    worker = scene_worker(client, topic, recorder);
    assert_order(recorder, "ba");
    assert_int_equal(recorder_seen(recorder, 1).priority, 1);
    scene_stop(worker);
    recorder_free(recorder);
    smq_client_free(client);
}

/* One message at a time: the most urgent is always next, also one that came during a handler. */
static void priority_with_batches_of_one_is_strict(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, SMQ_TYPE_PRIORITY);
    struct recorder *recorder = recorder_new(NULL);
    smq_worker_options options = SMQ_WORKER_OPTIONS_INIT;
    smq_worker *worker;

    (void) state;
    options.batch_size = 1;
    recorder_gate(recorder);
    scene_send(client, topic, (struct scene_message){.body = "a", .priority = 9});
    scene_send(client, topic, (struct scene_message){.body = "c", .priority = 1});
    worker = scene_worker_with(client, &options, topic, recorder);
    recorder_await(recorder, 1);
    scene_send(client, topic, (struct scene_message){.body = "b", .priority = 5});
    recorder_open(recorder, 3);
    assert_order(recorder, "abc");
    scene_stop(worker);
    recorder_free(recorder);
    smq_client_free(client);
}

/* --- sent again while it is claimed --- */

static smq_verdict retry_first(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    (void) seen;
    return index == 0 ? SMQ_RETRY : SMQ_DONE;
}

struct again {
    smq_topic_type type;
    struct scene_message first, second;
};

/* Claim `first`, send `second` (the same member) meanwhile, then let the handler answer. */
static struct recorder *send_while_claimed(const struct again *again, recorder_fn *answer,
                                           int deliveries)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, again->type);
    struct recorder *recorder = recorder_new(answer);
    smq_worker *worker;

    recorder_gate(recorder);
    scene_send(client, topic, again->first);
    worker = scene_worker(client, topic, recorder);
    recorder_await(recorder, 1);
    assert_false(scene_send(client, topic, again->second)); /* a new waiting message */
    recorder_open(recorder, deliveries);
    recorder_await(recorder, deliveries);
    scene_await_counts(client, topic, (struct scene_counts){.done = -1});
    scene_stop(worker);
    assert_int_equal(recorder_count(recorder), deliveries);
    smq_client_free(client);
    return recorder;
}

static void sent_again_while_claimed_is_handled_once_more(void **state)
{
    static const struct again rows[] = {
        {SMQ_TYPE_RANGE_MERGE, {.body = "a", .delay_ms = 1}, {.body = "a", .delay_ms = 200}},
        {SMQ_TYPE_FIXED_TIME, {.body = "a"}, {.body = "a"}},
        {SMQ_TYPE_PRIORITY, {.body = "a", .priority = 5}, {.body = "a", .priority = 9}},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct recorder *recorder = send_while_claimed(&rows[i], NULL, 2);

        assert_int_equal(recorder_seen(recorder, 0).attempt, 1);
        assert_int_equal(recorder_seen(recorder, 1).attempt, 1);
        assert_int_equal(recorder_seen(recorder, 1).priority, rows[i].second.priority);
        recorder_free(recorder);
    }
}

static void failed_message_joins_the_one_that_was_sent_meanwhile(void **state)
{
    int64_t now = scene_now_ms();
    const struct again later = {
        SMQ_TYPE_FIXED_TIME, {.body = "a"}, {.body = "a", .due_at_ms = now + 700}};
    const struct again merge = {
        SMQ_TYPE_RANGE_MERGE, {.body = "a", .delay_ms = 1}, {.body = "a", .delay_ms = LONG_MS}};
    const struct again urgent = {
        SMQ_TYPE_PRIORITY, {.body = "a", .priority = 5}, {.body = "a", .priority = 9}};
    struct recorder *recorder;

    (void) state;
    recorder = send_while_claimed(&later, retry_first, 2); /* that of the waiting one */
    assert_int_equal(recorder_seen(recorder, 1).due_at_ms, now + 700);
    assert_int_equal(recorder_seen(recorder, 1).attempt, 2);
    assert_never_early(recorder);
    recorder_free(recorder);

    recorder = send_while_claimed(&merge, retry_first, 2); /* the smaller */
    assert_int_equal(recorder_seen(recorder, 1).due_at_ms, recorder_seen(recorder, 0).due_at_ms);
    assert_int_equal(recorder_seen(recorder, 1).attempt, 2);
    recorder_free(recorder);

    recorder = send_while_claimed(&urgent, retry_first, 2);
    assert_int_equal(recorder_seen(recorder, 1).priority, 9);
    assert_int_equal(recorder_seen(recorder, 1).attempt, 2);
    recorder_free(recorder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(range_merge_delivers_by_due_time_and_not_before),
        cmocka_unit_test(range_merge_keeps_the_first_time),
        cmocka_unit_test(fixed_time_delivers_by_due_time_and_not_before),
        cmocka_unit_test(fixed_time_takes_the_last_time),
        cmocka_unit_test(priority_delivers_the_largest_and_among_equals_the_first_sent),
        cmocka_unit_test(priority_takes_the_last_priority),
        cmocka_unit_test(priority_with_batches_of_one_is_strict),
        cmocka_unit_test(sent_again_while_claimed_is_handled_once_more),
        cmocka_unit_test(failed_message_joins_the_one_that_was_sent_meanwhile),
    };

    return cmocka_run_group_tests(tests, start, scene_end);
}
