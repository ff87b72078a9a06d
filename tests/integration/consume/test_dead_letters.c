/* test_dead_letters.c - the callback of a worker for messages that its answers have made dead
 * letters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

/* What the callback was shown; it waits at the gate.  Guarded by the gate's lock. */
static struct {
    smq_client *client;
    struct handler_log *gate;
    int count;
    char topic[32], body[16], reason[64];
    smq_state state;
    int64_t dead_at_ms;
    int32_t attempt, retries_left;
    uint64_t dead; /* dead letters of the topic at that time */
    smq_consumer *worker;
    smq_status wait;
} told;

static void on_dead(const smq_message_info *message, void *user)
{
    uint64_t dead = messages_stats(told.client, message->topic).dead;

    (void) user;
    pthread_mutex_lock(&told.gate->lock);
    snprintf(told.topic, sizeof(told.topic), "%s", message->topic);
    snprintf(told.body, sizeof(told.body), "%.*s", (int) message->body.len,
             (const char *) message->body.data);
    snprintf(told.reason, sizeof(told.reason), "%s", message->reason);
    told.state = message->state;
    told.dead_at_ms = message->dead_at_ms;
    told.attempt = message->attempt;
    told.retries_left = message->retries_left;
    told.dead = dead;
    told.wait = told.worker != NULL ? smq_consumer_wait(told.worker, SMQ_FOREVER, NULL) : SMQ_OK;
    told.count++;
    pthread_mutex_unlock(&told.gate->lock);
    handler_log_pass(told.gate);
}

static bool has_told(void *arg)
{
    int count;

    pthread_mutex_lock(&told.gate->lock);
    count = told.count;
    pthread_mutex_unlock(&told.gate->lock);
    return count >= *(int *) arg;
}

static void await_told(int count)
{
    assert_true(wait_until(has_told, &count, TIMEOUT_MS));
}

/* Everything that one test needs. */
struct stage {
    smq_client *client;
    const char *topic;
    struct handler_log *log;
    smq_consumer *worker;
};

static void stage_init(struct stage *stage, handler_log_fn *answer, int32_t max_retries)
{
    *stage = (struct stage){.client = cluster_client(), .log = handler_log_new(answer)};
    smq_topic_options topic =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_PRIORITY, .layout = cluster_layout(),
                          .max_retries = max_retries);
    stage->topic = cluster_topic(stage->client, &topic);
    memset(&told, 0, sizeof(told));
    told.client = stage->client;
    told.gate = handler_log_new(NULL);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.dead = on_dead, .handler_timeout_ms = 200);
    stage->worker = handler_log_worker_with(stage->client, &options, stage->topic, stage->log);
}

static void stage_fini(struct stage *stage)
{
    handler_log_stop_worker(stage->worker);
    handler_log_free(stage->log);
    handler_log_free(told.gate);
    smq_client_free(stage->client);
}

static smq_verdict reject(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) seen;
    (void) index;
    assert_int_equal(smq_reject(delivery, "not an order", NULL), SMQ_OK);
    return SMQ_LATER;
}

static void rejected_message_is_told_with_its_reason(void **state)
{
    struct stage stage;

    stage_init(&stage, reject, 5);
    messages_send(stage.client, stage.topic, (struct test_message){.body = "a"});
    await_told(1);
    assert_string_equal(told.topic, stage.topic);
    assert_string_equal(told.body, "a");
    assert_string_equal(told.reason, "not an order");
    assert_int_equal(told.state, SMQ_STATE_DEAD);
    assert_int_equal(told.attempt, 1);
    assert_int_equal(told.retries_left, 0);
    assert_true(told.dead_at_ms > INT64_C(1500000000000));
    assert_int_equal(told.dead, 1); /* it was stored before */
    stage_fini(&stage);
}

static smq_verdict fail_always(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    (void) seen;
    (void) index;
    return SMQ_RETRY;
}

static void only_the_last_failure_is_told(void **state)
{
    struct stage stage;

    stage_init(&stage, fail_always, 2);
    messages_send(stage.client, stage.topic, (struct test_message){.body = "a"});
    await_told(1);
    assert_int_equal(handler_log_count(stage.log), 3);
    assert_int_equal(told.attempt, 3);
    assert_string_equal(told.reason, "");
    stage_fini(&stage);
    assert_int_equal(told.count, 1);
}

static smq_verdict keep(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    (void) seen;
    (void) index;
    return SMQ_LATER;
}

static void message_whose_handlers_hang_is_told(void **state)
{
    struct stage stage;

    stage_init(&stage, keep, SMQ_NONE);
    messages_send(stage.client, stage.topic, (struct test_message){.body = "a"});
    await_told(1);
    assert_int_equal(handler_log_count(stage.log), 2); /* as a suspect once more */
    assert_string_equal(told.reason, "its handler took too long");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(smq_done(handler_log_seen(stage.log, i).delivery, NULL), SMQ_LEASE_LOST);
    }
    stage_fini(&stage);
}

static void stop_waits_until_it_is_told(void **state)
{
    smq_error err = SMQ_ERROR_INIT;
    struct stage stage;

    stage_init(&stage, reject, 5);
    handler_log_gate(told.gate);
    told.worker = stage.worker;
    messages_send(stage.client, stage.topic, (struct test_message){.body = "a"});
    await_told(1);
    assert_int_equal(told.wait, SMQ_WRONG_THREAD); /* it would wait for itself */
    smq_consumer_stop(stage.worker);
    assert_int_equal(smq_consumer_wait(stage.worker, 100, &err), SMQ_TIMED_OUT);
    handler_log_open(told.gate, 1);
    stage_fini(&stage);
}

static void many_are_told_once_each(void **state)
{
    enum { COUNT = 300 };
    struct stage stage;
    char body[16];

    stage_init(&stage, reject, 5);
    for (int i = 0; i < COUNT; i++) {
        snprintf(body, sizeof(body), "%d", i);
        messages_send(stage.client, stage.topic, (struct test_message){.body = body});
    }
    await_told(COUNT);
    stage_fini(&stage);
    assert_int_equal(told.count, COUNT);
}

TEST_GROUP(dead_letters)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rejected_message_is_told_with_its_reason),
        cmocka_unit_test(only_the_last_failure_is_told),
        cmocka_unit_test(message_whose_handlers_hang_is_told),
        cmocka_unit_test(stop_waits_until_it_is_told),
        cmocka_unit_test(many_are_told_once_each),
    };

    int failed = cmocka_run_group_tests_name("inline", tests, cluster_start_inline, cluster_end);

    return failed + cmocka_run_group_tests_name("keyed", tests, cluster_start_keyed, cluster_end);
}
