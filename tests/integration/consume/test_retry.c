/* test_retry.c - what becomes of a message by its answer: retry, rest, reject, release, later,
 * death and requeue. */
#include <inttypes.h>
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

struct dead {
    int count;
    char body[64], reason[256];
    int64_t priority;
    int32_t attempt;
};

static bool see_dead(const smq_message_info *message, void *user)
{
    struct dead *dead = user;

    dead->count++;
    dead->priority = message->priority;
    dead->attempt = message->attempt;
    snprintf(dead->body, sizeof(dead->body), "%.*s", (int) message->body.len,
             (const char *) message->body.data);
    snprintf(dead->reason, sizeof(dead->reason), "%s", message->reason);
    return true;
}

static struct dead dead_of(smq_client *client, const char *topic)
{
    struct dead dead = {0};
    smq_filter filter = SMQ_FILTER_INIT;
    smq_error err = SMQ_ERROR_INIT;

    filter.states = SMQ_STATE_DEAD;
    scene_must(smq_message_each(client, topic, &filter, see_dead, &dead, &err), &err,
               "smq_message_each");
    return dead;
}

static const struct scene_counts ONE_DEAD = {.waiting = 0, .dead = 1, .done = -1};
static const struct scene_counts ONE_DONE = {.waiting = 0, .dead = 0, .done = 1};

static smq_verdict fail_always(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) seen;
    (void) index;
    assert_int_equal(smq_retry(delivery, SMQ_BACKOFF, "no good", NULL), SMQ_OK);
    return SMQ_LATER;
}

static void always_failing_message_is_delivered_17_times_and_dead(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, SMQ_TYPE_PRIORITY);
    struct recorder *recorder = recorder_new(fail_always);
    smq_worker *worker = scene_worker(client, topic, recorder);
    struct dead dead;

    (void) state;
    scene_send(client, topic, (struct scene_message){.body = "bad", .priority = 7});
    scene_await_counts(client, topic, ONE_DEAD);
    assert_int_equal(recorder_count(recorder), 17);
    for (int i = 0; i < 17; i++) {
        assert_int_equal(recorder_seen(recorder, i).attempt, i + 1);
        assert_int_equal(recorder_seen(recorder, i).retries_left, 16 - i);
        assert_int_equal(recorder_seen(recorder, i).priority, 7);
    }
    dead = dead_of(client, topic);
    assert_int_equal(dead.count, 1);
    assert_string_equal(dead.body, "bad");
    assert_string_equal(dead.reason, "no good");
    assert_int_equal(dead.priority, 7);
    scene_stop(worker);
    recorder_free(recorder);
    smq_client_free(client);
}

static smq_verdict fail_17_times(smq_delivery *delivery, const struct seen *seen, int index)
{
    return index < 17 ? fail_always(delivery, seen, index) : SMQ_DONE;
}

static void requeue_brings_it_back_with_its_own_priority_and_all_retries(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, SMQ_TYPE_PRIORITY);
    struct recorder *recorder = recorder_new(fail_17_times);
    smq_worker *worker = scene_worker(client, topic, recorder);
    uint64_t count = 0;
    smq_error err = SMQ_ERROR_INIT;

    (void) state;
    scene_send(client, topic, (struct scene_message){.body = "bad", .priority = -3});
    scene_await_counts(client, topic, ONE_DEAD);
    scene_must(smq_dead_requeue(client, topic, NULL, &count, NULL, NULL, &err), &err,
               "smq_dead_requeue");
    assert_int_equal(count, 1);
    recorder_await(recorder, 18);
    assert_int_equal(recorder_seen(recorder, 17).attempt, 1);
    assert_int_equal(recorder_seen(recorder, 17).priority, -3);
    scene_await_counts(client, topic, ONE_DONE);
    scene_stop(worker);
    recorder_free(recorder);
    smq_client_free(client);
}

static void requeue_brings_it_back_with_its_own_time(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, SMQ_TYPE_FIXED_TIME);
    struct recorder *recorder = recorder_new(fail_17_times);
    smq_worker *worker = scene_worker(client, topic, recorder);
    int64_t due = scene_now_ms() + 50;
    smq_error err = SMQ_ERROR_INIT;

    (void) state;
    scene_send(client, topic, (struct scene_message){.body = "bad", .due_at_ms = due});
    scene_await_counts(client, topic, ONE_DEAD);
    scene_must(smq_dead_requeue(client, topic, NULL, NULL, NULL, NULL, &err), &err,
               "smq_dead_requeue");
    recorder_await(recorder, 18);
    assert_int_equal(recorder_seen(recorder, 17).due_at_ms, due);
    scene_await_counts(client, topic, ONE_DONE);
    scene_stop(worker);
    recorder_free(recorder);
    smq_client_free(client);
}

static smq_verdict rest_first(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) seen;
    if (index > 0) {
        return SMQ_DONE;
    }
    assert_int_equal(smq_retry(delivery, 700, "later", NULL), SMQ_OK);
    return SMQ_LATER;
}

static void retried_message_rests_and_keeps_its_time(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, SMQ_TYPE_FIXED_TIME);
    struct recorder *recorder = recorder_new(rest_first);
    smq_worker *worker = scene_worker(client, topic, recorder);
    struct seen first, second;

    (void) state;
    scene_send(client, topic, (struct scene_message){.body = "a"});
    scene_await_counts(client, topic, (struct scene_counts){.resting = 1});
    recorder_await(recorder, 2);
    first = recorder_seen(recorder, 0);
    second = recorder_seen(recorder, 1);
    assert_true(second.at_ms >= first.at_ms + 700);
    assert_int_equal(second.attempt, 2);
    assert_int_equal(second.due_at_ms, first.due_at_ms);
    scene_await_counts(client, topic, ONE_DONE);
    scene_stop(worker);
    recorder_free(recorder);
    smq_client_free(client);
}

static void backoff_of_the_topic_is_the_default_rest(void **state)
{
    smq_client *client = scene_client();
    struct recorder *recorder = recorder_new(NULL);
    smq_topic_options options = SMQ_TOPIC_OPTIONS_INIT;
    smq_worker *worker;
    const char *topic;

    (void) state;
    options.type = SMQ_TYPE_FIXED_TIME;
    options.backoff = "ladder:200,500";
    options.max_retries = 2;
    topic = scene_topic(client, &options);
    recorder->answer = fail_always;
    worker = scene_worker(client, topic, recorder);
    scene_send(client, topic, (struct scene_message){.body = "a"});
    scene_await_counts(client, topic, ONE_DEAD);
    assert_int_equal(recorder_count(recorder), 3);
    assert_true(recorder_seen(recorder, 1).at_ms - recorder_seen(recorder, 0).at_ms >= 200);
    assert_true(recorder_seen(recorder, 2).at_ms - recorder_seen(recorder, 1).at_ms >= 500);
    scene_stop(worker);
    recorder_free(recorder);
    smq_client_free(client);
}

static smq_verdict reject(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) seen;
    (void) index;
    assert_int_equal(smq_reject(delivery, "not an order", NULL), SMQ_OK);
    return SMQ_LATER;
}

static void rejected_message_is_dead_at_once(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, SMQ_TYPE_FIXED_TIME);
    struct recorder *recorder = recorder_new(reject);
    smq_worker *worker = scene_worker(client, topic, recorder);

    (void) state;
    scene_send(client, topic, (struct scene_message){.body = "a"});
    scene_await_counts(client, topic, ONE_DEAD);
    assert_int_equal(recorder_count(recorder), 1);
    assert_string_equal(dead_of(client, topic).reason, "not an order");
    scene_stop(worker);
    recorder_free(recorder);
    smq_client_free(client);
}

enum { REASON_MAX = 200 };

/* Its bytes up to the bound end inside the character. */
static smq_verdict reject_at_length(smq_delivery *delivery, const struct seen *seen, int index)
{
    char reason[REASON_MAX + 8];

    (void) seen;
    (void) index;
    memset(reason, 'x', REASON_MAX - 1);
    snprintf(reason + REASON_MAX - 1, 8, "\xc3\xa9, no");
    assert_int_equal(smq_reject(delivery, reason, NULL), SMQ_OK);
    return SMQ_LATER;
}

static void long_reason_ends_with_a_whole_character(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, SMQ_TYPE_FIXED_TIME);
    struct recorder *recorder = recorder_new(reject_at_length);
    smq_worker *worker = scene_worker(client, topic, recorder);
    char wanted[REASON_MAX] = "";

    (void) state;
    scene_send(client, topic, (struct scene_message){.body = "a"});
    scene_await_counts(client, topic, ONE_DEAD);
    memset(wanted, 'x', REASON_MAX - 1);
    assert_string_equal(dead_of(client, topic).reason, wanted);
    scene_stop(worker);
    recorder_free(recorder);
    smq_client_free(client);
}

static smq_verdict release_twice(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) seen;
    if (index == 0) {
        return SMQ_RELEASE;
    }
    if (index == 1) {
        assert_int_equal(smq_release(delivery, 300, NULL), SMQ_OK);
        return SMQ_LATER;
    }
    return SMQ_DONE;
}

static void released_message_comes_back_without_a_retry(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, SMQ_TYPE_FIXED_TIME);
    struct recorder *recorder = recorder_new(release_twice);
    smq_worker *worker = scene_worker(client, topic, recorder);

    (void) state;
    scene_send(client, topic, (struct scene_message){.body = "a"});
    scene_await_counts(client, topic, ONE_DONE);
    assert_int_equal(recorder_count(recorder), 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(recorder_seen(recorder, i).attempt, 1);
    }
    assert_true(recorder_seen(recorder, 2).at_ms - recorder_seen(recorder, 1).at_ms >= 300);
    assert_int_equal(scene_stats(client, topic).released, 2);
    assert_int_equal(scene_stats(client, topic).retried, 0);
    scene_stop(worker);
    recorder_free(recorder);
    smq_client_free(client);
}

static smq_verdict later_first(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    (void) seen;
    return index == 0 ? SMQ_LATER : SMQ_DONE;
}

struct renewed {
    redisContext *redis;
    const char *prepare, *entry;
    int64_t at;
};

static bool is_renewed(void *arg)
{
    struct renewed *wanted = arg;

    return scene_redis_number(wanted->redis, "ZSCORE %s %s", wanted->prepare, wanted->entry) >
           wanted->at;
}

/* The slot waits for the late answer, whose lease is renewed meanwhile. */
static void later_is_answered_from_another_thread(void **state)
{
    smq_client *client = scene_client();
    struct recorder *recorder = recorder_new(later_first);
    smq_topic_options options = SMQ_TOPIC_OPTIONS_INIT;
    redisContext *redis = scene_redis();
    smq_worker *worker;
    const char *topic;
    char prepare[64], entry[64];
    struct renewed wanted;
    struct seen first;
    int64_t lease;

    (void) state;
    options.type = SMQ_TYPE_FIXED_TIME;
    options.lease_ms = 300;
    topic = scene_topic(client, &options);
    snprintf(prepare, sizeof(prepare), "prepare{%s_0}", topic);
    scene_send(client, topic, (struct scene_message){.body = "a"});
    scene_send(client, topic, (struct scene_message){.body = "b"});
    worker = scene_worker(client, topic, recorder);
    recorder_await(recorder, 1);
    first = recorder_seen(recorder, 0);
    snprintf(entry, sizeof(entry), "%" PRId64 "c1:a", first.due_at_ms);
    lease = scene_redis_number(redis, "ZSCORE %s %s", prepare, entry);
    assert_true(lease > 0);
    wanted =
        (struct renewed){.redis = redis, .prepare = prepare, .entry = entry, .at = lease + 600};
    assert_true(wait_until(is_renewed, &wanted, SCENE_TIMEOUT_MS));
    assert_int_equal(smq_delivery_check(first.delivery), SMQ_OK);
    assert_int_equal(recorder_count(recorder), 1);
    assert_int_equal(smq_done(first.delivery, NULL), SMQ_OK);
    recorder_await(recorder, 2);
    scene_await_counts(client, topic, (struct scene_counts){.done = 2});
    assert_int_equal(scene_stats(client, topic).lease_lost, 0);
    scene_stop(worker);
    recorder_free(recorder);
    redisFree(redis);
    smq_client_free(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(always_failing_message_is_delivered_17_times_and_dead),
        cmocka_unit_test(requeue_brings_it_back_with_its_own_priority_and_all_retries),
        cmocka_unit_test(requeue_brings_it_back_with_its_own_time),
        cmocka_unit_test(retried_message_rests_and_keeps_its_time),
        cmocka_unit_test(backoff_of_the_topic_is_the_default_rest),
        cmocka_unit_test(rejected_message_is_dead_at_once),
        cmocka_unit_test(long_reason_ends_with_a_whole_character),
        cmocka_unit_test(released_message_comes_back_without_a_retry),
        cmocka_unit_test(later_is_answered_from_another_thread),
    };

    return cmocka_run_group_tests(tests, start, scene_end);
}
