/* test_overdue.c - handlers that take longer than their time-out: the slot continues, their answers
 * come too late. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { HANDLER_MS = 200 };

/* Where handlers hang, and what is reported of them. */
static struct handler_log *gate;
static atomic_int overdue, dead, stuck; /* `dead`: with the reason */

static void on_event(const smq_event *event, void *user)
{
    (void) user;
    if (event->kind == SMQ_EVENT_OVERDUE) {
        atomic_fetch_add(&overdue, 1);
    } else if (event->kind == SMQ_EVENT_DEAD && event->reason != NULL &&
               strcmp(event->reason, "its handler took too long") == 0) {
        atomic_fetch_add(&dead, 1);
    } else if (event->kind == SMQ_EVENT_LOG && event->level == SMQ_LEVEL_ERROR &&
               strstr(event->text, "threads of the consumer") != NULL) {
        atomic_fetch_add(&stuck, 1);
    }
}

static smq_client *client_of(void)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS(.event = on_event);
    atomic_store(&overdue, 0);
    atomic_store(&dead, 0);
    atomic_store(&stuck, 0);
    return cluster_client_with(&options);
}

static const char *topic_of(smq_client *client, int32_t max_retries, bool shared)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_PRIORITY, .layout = cluster_layout(),
                          .max_retries = max_retries, .shared = shared);
    return cluster_topic(client, &options);
}

static smq_consumer *worker_of(smq_client *client, const char *topic, smq_consumer_options options,
                               struct handler_log *log)
{
    options.handler_timeout_ms = HANDLER_MS;
    options.threads = 1; /* another one takes the place of that which hangs */
    return handler_log_worker_with(client, &options, topic, log);
}

static bool count_is_one(void *arg)
{
    return atomic_load((atomic_int *) arg) == 1;
}

static void await_one(atomic_int *count)
{
    assert_true(wait_until(count_is_one, count, TIMEOUT_MS));
}

/* The first delivery hangs until the gate is opened. */
static smq_verdict hang_first(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    (void) seen;
    if (index == 0) {
        handler_log_pass(gate);
    }
    return SMQ_DONE;
}

static void slot_goes_on_while_the_handler_hangs(void **state)
{
    static const bool shared[] = {false, true};

    for (int i = 0; i < 2; i++) {
        smq_client *client = client_of();
        const char *topic = topic_of(client, 0, shared[i]);
        struct handler_log *log = handler_log_new(hang_first);
        smq_consumer_options options = SMQ_CONSUMER_OPTIONS_INIT;
        smq_consumer *worker;

        gate = handler_log_new(NULL);
        handler_log_gate(gate);
        options.max_in_flight = 1; /* what is overdue does not count */
        messages_send(client, topic, (struct test_message){.body = "slow"});
        messages_send(client, topic, (struct test_message){.body = "next"});
        worker = worker_of(client, topic, options, log);
        messages_await_counts(client, topic,
                              (struct message_counts){.waiting = 0, .claimed = 0, .done = 2});
        assert_int_equal(handler_log_count(log), 3); /* the slow one came again */
        assert_string_equal(handler_log_seen(log, 0).body, "slow");
        assert_int_equal(smq_delivery_check(handler_log_seen(log, 0).delivery), SMQ_LEASE_LOST);
        assert_int_equal(messages_stats(client, topic).lease_lost, 1);
        assert_int_equal(messages_stats(client, topic).retried, 0);
        await_one(&overdue);
        handler_log_open(gate, 1);
        handler_log_stop_worker(worker);
        assert_int_equal(messages_stats(client, topic).done, 2);
        handler_log_free(log);
        handler_log_free(gate);
        smq_client_free(client);
    }
}

static smq_verdict keep(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    (void) seen;
    (void) index;
    return SMQ_LATER;
}

static void late_answer_changes_nothing(void **state)
{
    smq_client *client = client_of();
    const char *topic = topic_of(client, 1, false);
    struct handler_log *log = handler_log_new(keep);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS_INIT;
    smq_consumer *worker;
    smq_error err = SMQ_ERROR_INIT;

    messages_send(client, topic, (struct test_message){.body = "a"});
    worker = worker_of(client, topic, options, log);
    messages_await_counts(client, topic, (struct message_counts){.claimed = 0, .dead = 1});
    /* suspect, then one retry used, then none left */
    assert_int_equal(handler_log_count(log), 3);
    assert_int_equal(handler_log_seen(log, 1).attempt, 1);
    assert_int_equal(handler_log_seen(log, 2).attempt, 2);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(handler_log_seen(log, i).redelivered, i > 0);
    }
    await_one(&dead);
    assert_int_equal(atomic_load(&overdue), 3);
    for (int i = 0; i < 3; i++) {
        smq_delivery *delivery = handler_log_seen(log, i).delivery;

        messages_await_check(delivery, SMQ_LEASE_LOST);
        assert_int_equal(smq_done(delivery, &err), SMQ_LEASE_LOST);
    }
    handler_log_stop_worker(worker);
    assert_int_equal(messages_stats(client, topic).dead, 1);
    assert_int_equal(messages_stats(client, topic).done, 0);
    handler_log_free(log);
    smq_client_free(client);
}

static void stop_does_not_wait_for_what_is_overdue(void **state)
{
    smq_client *client = client_of();
    const char *topic = topic_of(client, 0, false);
    struct handler_log *log = handler_log_new(hang_first);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS_INIT;
    smq_consumer *worker;
    smq_error err = SMQ_ERROR_INIT;

    gate = handler_log_new(NULL);
    handler_log_gate(gate);
    messages_send(client, topic, (struct test_message){.body = "a"});
    worker = worker_of(client, topic, options, log);
    handler_log_await(log, 1);
    smq_consumer_stop(worker);
    assert_ok(smq_consumer_wait(worker, TIMEOUT_MS, &err), &err);
    assert_int_equal(messages_stats(client, topic).waiting, 1);
    assert_int_equal(messages_stats(client, topic).claimed, 0);
    handler_log_open(gate, 1);
    smq_consumer_free(worker);
    assert_int_equal(messages_stats(client, topic).done, 0);
    handler_log_free(log);
    handler_log_free(gate);
    smq_client_free(client);
}

/* Answers "b" at once, and hangs with the others; those that come again are done. */
static smq_verdict hang_batch(smq_delivery *const *deliveries, size_t count, void *user)
{
    bool first = false;
    int index;

    for (size_t i = 0; i < count; i++) {
        struct seen seen = handler_log_add(user, deliveries[i], &index);

        first = first || index == 0;
        if (strcmp(seen.body, "b") == 0) {
            assert_int_equal(smq_done(deliveries[i], NULL), SMQ_OK);
        }
    }
    if (first) {
        handler_log_pass(gate);
    }
    return SMQ_DONE;
}

static void only_the_unanswered_of_a_batch_come_again(void **state)
{
    smq_client *client = client_of();
    const char *topic = topic_of(client, 0, false);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;

    gate = handler_log_new(NULL);
    handler_log_gate(gate);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.batch = hang_batch);
    messages_send(client, topic, (struct test_message){.body = "a"});
    messages_send(client, topic, (struct test_message){.body = "b"});
    messages_send(client, topic, (struct test_message){.body = "c"});
    worker = worker_of(client, topic, options, log);
    messages_await_counts(client, topic,
                          (struct message_counts){.waiting = 0, .claimed = 0, .done = 3});
    assert_int_equal(handler_log_count(log), 5);
    assert_int_equal(messages_stats(client, topic).lease_lost, 2);
    handler_log_open(gate, 1);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    handler_log_free(gate);
    smq_client_free(client);
}

static smq_verdict hang_twice(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    (void) seen;
    if (index < 2) {
        handler_log_pass(gate);
    }
    return SMQ_DONE;
}

static void worker_goes_on_when_one_of_its_hung_threads_returns(void **state)
{
    smq_client *client = client_of();
    const char *topic = topic_of(client, 0, false);
    struct handler_log *log = handler_log_new(hang_twice);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS_INIT;
    smq_consumer *worker;

    gate = handler_log_new(NULL);
    handler_log_gate(gate);
    messages_send(client, topic, (struct test_message){.body = "a"});
    worker = worker_of(client, topic, options, log);
    await_one(&stuck); /* it hung twice, and there is no third thread */
    assert_int_equal(handler_log_count(log), 2);
    assert_int_equal(atomic_load(&overdue), 2);
    handler_log_open(gate, 1);
    messages_await_counts(client, topic, (struct message_counts){.waiting = 0, .done = 1});
    handler_log_open(gate, 1);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    handler_log_free(gate);
    smq_client_free(client);
}

/* In a topic of type fifo what is behind it in its key waits. */
static void nothing_passes_an_overdue_message_of_a_fifo_topic(void **state)
{
    static const char *const bodies[] = {"a", "a", "b", "c"};
    smq_client *client = client_of();
    struct handler_log *log = handler_log_new(hang_first);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS_INIT;
    smq_consumer *worker;
    const char *topic;

    gate = handler_log_new(NULL);
    handler_log_gate(gate);
    smq_topic_options topic_options = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIFO);
    topic = cluster_topic(client, &topic_options);
    for (int i = 1; i < 4; i++) {
        messages_send(client, topic, (struct test_message){.key = "k", .body = bodies[i]});
    }
    worker = worker_of(client, topic, options, log);
    messages_await_counts(client, topic, (struct message_counts){.done = 3});
    assert_int_equal(handler_log_count(log), 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(handler_log_seen(log, i).body, bodies[i]);
    }
    handler_log_open(gate, 1);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    handler_log_free(gate);
    smq_client_free(client);
}

TEST_GROUP(overdue)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slot_goes_on_while_the_handler_hangs),
        cmocka_unit_test(late_answer_changes_nothing),
        cmocka_unit_test(stop_does_not_wait_for_what_is_overdue),
        cmocka_unit_test(only_the_unanswered_of_a_batch_come_again),
        cmocka_unit_test(worker_goes_on_when_one_of_its_hung_threads_returns),
        cmocka_unit_test(nothing_passes_an_overdue_message_of_a_fifo_topic),
    };

    int failed = cmocka_run_group_tests_name("inline", tests, cluster_start_inline, cluster_end);

    return failed + cmocka_run_group_tests_name("keyed", tests, cluster_start_keyed, cluster_end);
}
