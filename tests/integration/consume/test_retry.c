/* test_retry.c - what becomes of a message by its answer: retry, rest, reject, release, later,
 * death and requeue. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

struct dead {
    int count;
    char body[64], reason[256];
    int64_t priority, dead_at_ms;
    int32_t attempt;
    size_t try_count;
    smq_try tries[SMQ_TRIES_MAX]; /* their reasons are gone */
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
    dead->dead_at_ms = message->dead_at_ms;
    dead->try_count = message->try_count;
    for (size_t i = 0; i < message->try_count; i++) {
        dead->tries[i] = message->tries[i];
        assert_string_equal(message->tries[i].reason, message->reason);
    }
    return true;
}

static struct dead dead_of(smq_client *client, const char *topic)
{
    struct dead dead = {0};
    smq_error err = SMQ_ERROR_INIT;

    smq_filter filter = SMQ_FILTER(.states = SMQ_STATE_DEAD);
    assert_ok(smq_message_each(client, topic, &filter, see_dead, &dead, &err), &err);
    return dead;
}

static const struct message_counts ONE_DEAD = {.waiting = 0, .dead = 1, .done = -1};
static const struct message_counts ONE_DONE = {.waiting = 0, .dead = 0, .done = 1};

static smq_verdict fail_always(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) seen;
    (void) index;
    assert_int_equal(smq_retry(delivery, SMQ_BACKOFF, "no good", NULL), SMQ_OK);
    return SMQ_LATER;
}

/* All of them, up to five, with their times. */
static void assert_last_tries(const struct dead *dead, size_t count)
{
    assert_int_equal(dead->try_count, count);
    assert_int_equal(dead->tries[0].at_ms, dead->dead_at_ms);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(dead->tries[i].how, SMQ_TRY_RETRIED);
        assert_true(dead->tries[i].at_ms > 0);
        assert_true(i == 0 || dead->tries[i].at_ms <= dead->tries[i - 1].at_ms);
    }
}

static void always_failing_message_is_delivered_17_times_and_dead(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_PRIORITY, 1);
    struct handler_log *log = handler_log_new(fail_always);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    struct dead dead;

    messages_send(client, topic, (struct test_message){.body = "bad", .priority = 7});
    messages_await_counts(client, topic, ONE_DEAD);
    assert_int_equal(handler_log_count(log), 17);
    for (int i = 0; i < 17; i++) {
        assert_int_equal(handler_log_seen(log, i).attempt, i + 1);
        assert_int_equal(handler_log_seen(log, i).retries_left, 16 - i);
        assert_int_equal(handler_log_seen(log, i).redelivered, i > 0);
        assert_int_equal(handler_log_seen(log, i).priority, 7);
    }
    dead = dead_of(client, topic);
    assert_int_equal(dead.count, 1);
    assert_string_equal(dead.body, "bad");
    assert_string_equal(dead.reason, "no good");
    assert_int_equal(dead.priority, 7);
    assert_last_tries(&dead, 5);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static smq_verdict fail_17_times(smq_delivery *delivery, const struct seen *seen, int index)
{
    return index < 17 ? fail_always(delivery, seen, index) : SMQ_DONE;
}

static void requeue_brings_it_back_with_its_own_priority_and_all_retries(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_PRIORITY, 1);
    struct handler_log *log = handler_log_new(fail_17_times);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    uint64_t count = 0;
    smq_error err = SMQ_ERROR_INIT;

    messages_send(client, topic, (struct test_message){.body = "bad", .priority = -3});
    messages_await_counts(client, topic, ONE_DEAD);
    assert_ok(smq_dead_requeue(client, topic, NULL, &count, NULL, NULL, &err), &err);
    assert_int_equal(count, 1);
    handler_log_await(log, 18);
    assert_int_equal(handler_log_seen(log, 17).attempt, 1);
    assert_false(handler_log_seen(log, 17).redelivered);
    assert_int_equal(handler_log_seen(log, 17).priority, -3);
    messages_await_counts(client, topic, ONE_DONE);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void requeue_brings_it_back_with_its_own_time(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
    struct handler_log *log = handler_log_new(fail_17_times);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    int64_t due = clock_wall_ms() + 50;
    smq_error err = SMQ_ERROR_INIT;

    messages_send(client, topic, (struct test_message){.body = "bad", .due_at_ms = due});
    messages_await_counts(client, topic, ONE_DEAD);
    assert_ok(smq_dead_requeue(client, topic, NULL, NULL, NULL, NULL, &err), &err);
    handler_log_await(log, 18);
    assert_int_equal(handler_log_seen(log, 17).due_at_ms, due);
    messages_await_counts(client, topic, ONE_DONE);
    handler_log_stop_worker(worker);
    handler_log_free(log);
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
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
    struct handler_log *log = handler_log_new(rest_first);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    struct seen first, second;

    messages_send(client, topic, (struct test_message){.body = "a"});
    messages_await_counts(client, topic, (struct message_counts){.resting = 1});
    handler_log_await(log, 2);
    first = handler_log_seen(log, 0);
    second = handler_log_seen(log, 1);
    assert_true(second.at_ms >= first.at_ms + 700);
    assert_int_equal(second.attempt, 2);
    assert_int_equal(second.due_at_ms, first.due_at_ms);
    messages_await_counts(client, topic, ONE_DONE);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void backoff_of_the_topic_is_the_default_rest(void **state)
{
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;
    const char *topic;

    smq_topic_options options = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME,
                                                  .backoff = "ladder:200,500", .max_retries = 2);
    topic = cluster_topic(client, &options);
    log->answer = fail_always;
    worker = handler_log_worker(client, topic, log);
    messages_send(client, topic, (struct test_message){.body = "a"});
    messages_await_counts(client, topic, ONE_DEAD);
    assert_int_equal(handler_log_count(log), 3);
    assert_true(handler_log_seen(log, 1).at_ms - handler_log_seen(log, 0).at_ms >= 200);
    assert_true(handler_log_seen(log, 2).at_ms - handler_log_seen(log, 1).at_ms >= 500);
    handler_log_stop_worker(worker);
    handler_log_free(log);
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
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
    struct handler_log *log = handler_log_new(reject);
    smq_consumer *worker = handler_log_worker(client, topic, log);

    messages_send(client, topic, (struct test_message){.body = "a"});
    messages_await_counts(client, topic, ONE_DEAD);
    assert_int_equal(handler_log_count(log), 1);
    assert_string_equal(dead_of(client, topic).reason, "not an order");
    handler_log_stop_worker(worker);
    handler_log_free(log);
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
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
    struct handler_log *log = handler_log_new(reject_at_length);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    char wanted[REASON_MAX] = "";

    messages_send(client, topic, (struct test_message){.body = "a"});
    messages_await_counts(client, topic, ONE_DEAD);
    memset(wanted, 'x', REASON_MAX - 1);
    assert_string_equal(dead_of(client, topic).reason, wanted);
    handler_log_stop_worker(worker);
    handler_log_free(log);
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
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
    struct handler_log *log = handler_log_new(release_twice);
    smq_consumer *worker = handler_log_worker(client, topic, log);

    messages_send(client, topic, (struct test_message){.body = "a"});
    messages_await_counts(client, topic, ONE_DONE);
    assert_int_equal(handler_log_count(log), 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(handler_log_seen(log, i).attempt, 1);
        assert_false(handler_log_seen(log, i).redelivered);
    }
    assert_true(handler_log_seen(log, 2).at_ms - handler_log_seen(log, 1).at_ms >= 300);
    assert_int_equal(messages_stats(client, topic).released, 2);
    assert_int_equal(messages_stats(client, topic).retried, 0);
    handler_log_stop_worker(worker);
    handler_log_free(log);
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

    return keys_read_number(wanted->redis, "ZSCORE %s %s", wanted->prepare, wanted->entry) >
           wanted->at;
}

/* One message at a time: the next one waits for the late answer, whose lease is renewed until then.
 */
static void later_is_answered_from_another_thread(void **state)
{
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(later_first);
    redisContext *redis = keys_connect();
    smq_consumer *worker;
    const char *topic;
    char prepare[64], entry[64];
    struct renewed wanted;
    struct seen first;
    int64_t lease;

    smq_topic_options options = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .lease_ms = 300);
    topic = cluster_topic(client, &options);
    snprintf(prepare, sizeof(prepare), "prepare{%s_0}", topic);
    messages_send(client, topic, (struct test_message){.body = "a"});
    messages_send(client, topic, (struct test_message){.body = "b"});
    smq_consumer_options work = SMQ_CONSUMER_OPTIONS(.max_in_flight = 1);
    worker = handler_log_worker_with(client, &work, topic, log);
    handler_log_await(log, 1);
    first = handler_log_seen(log, 0);
    snprintf(entry, sizeof(entry), "%" PRId64 "c1:a", first.due_at_ms);
    lease = keys_read_number(redis, "ZSCORE %s %s", prepare, entry);
    assert_true(lease > 0);
    wanted =
        (struct renewed){.redis = redis, .prepare = prepare, .entry = entry, .at = lease + 600};
    assert_true(wait_until(is_renewed, &wanted, TIMEOUT_MS));
    assert_int_equal(smq_delivery_check(first.delivery), SMQ_OK);
    assert_int_equal(handler_log_count(log), 1);
    assert_int_equal(smq_done(first.delivery, NULL), SMQ_OK);
    handler_log_await(log, 2);
    messages_await_counts(client, topic, (struct message_counts){.done = 2});
    assert_int_equal(messages_stats(client, topic).lease_lost, 0);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    redisFree(redis);
    smq_client_free(client);
}

TEST_GROUP(retry)
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

    return cmocka_run_group_tests(tests, cluster_start_single, cluster_end);
}
