/* test_worker_end.c - how workers begin and end: drain, limits, misuse. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

static const char *topic_of(smq_client *client, bool shared, int32_t slots)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .shared = shared, .slots = slots);
    return cluster_topic(client, &options);
}

static void stop_lets_the_handler_end_and_gives_back_the_rest(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false, 1);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;
    smq_stats stats;
    smq_error err = SMQ_ERROR_INIT;

    messages_send_numbers(client, topic, 0, 50);
    handler_log_gate(log);
    worker = handler_log_worker(client, topic, log);
    handler_log_await(log, 1);
    messages_await_counts(client, topic, (struct message_counts){.claimed = 50});
    smq_consumer_stop(worker);
    messages_await_counts(client, topic, (struct message_counts){.waiting = 49, .claimed = 1});
    assert_int_equal(smq_consumer_wait(worker, 0, &err), SMQ_TIMED_OUT);
    assert_int_equal(smq_delivery_check(handler_log_seen(log, 0).delivery), SMQ_CLOSED);
    handler_log_open(log, 1);
    assert_ok(smq_consumer_wait(worker, SMQ_FOREVER, &err), &err);
    smq_consumer_free(worker);
    stats = messages_stats(client, topic);
    assert_int_equal(stats.done, 1);
    assert_int_equal(stats.waiting, 49);
    assert_int_equal(stats.released, 49);
    assert_int_equal(stats.lease_lost, 0);

    handler_log_open(log, 49);
    worker = handler_log_worker(client, topic, log);
    handler_log_await(log, 50);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(handler_log_seen(log, i).attempt, 1);
    }
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void hung_handler_is_abandoned_and_its_late_answer_dropped(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false, 1);
    struct handler_log *log = handler_log_new(NULL), *second = handler_log_new(NULL);
    smq_client *other;
    smq_consumer *worker, *heir;
    smq_error err = SMQ_ERROR_INIT;

    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.drain_timeout_ms = 100);
    messages_send_numbers(client, topic, 0, 1);
    handler_log_gate(log);
    worker = handler_log_worker_with(client, &options, topic, log);
    handler_log_await(log, 1);
    smq_consumer_stop(worker);
    assert_int_equal(smq_consumer_wait(worker, SMQ_FOREVER, &err), SMQ_TIMED_OUT);
    assert_int_equal(smq_delivery_check(handler_log_seen(log, 0).delivery), SMQ_LEASE_LOST);
    other = cluster_client();
    heir = handler_log_worker(other, topic, second);
    handler_log_await(second, 1); /* it is delivered again while the first handler still hangs */
    assert_int_equal(handler_log_seen(second, 0).attempt, 1);
    assert_true(strcmp(handler_log_seen(second, 0).token, handler_log_seen(log, 0).token) > 0);
    messages_await_counts(client, topic, (struct message_counts){.done = 1});
    handler_log_open(log, 1);
    smq_consumer_free(worker);
    assert_int_equal(messages_stats(client, topic).done, 1);
    assert_int_equal(messages_stats(client, topic).lease_lost, 1);
    handler_log_stop_worker(heir);
    handler_log_free(log);
    handler_log_free(second);
    smq_client_free(other);
    smq_client_free(client);
}

static smq_client *member(void)
{
    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.zookeeper = servers_zookeeper(cluster_servers()));

    return cluster_client_with(&options);
}

static bool has_given_a_slot_up(void *arg)
{
    smq_metrics metrics = SMQ_METRICS_INIT;
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_client_metrics(arg, &metrics, &err), &err);
    return metrics.slots_lost > 0;
}

/* A slot that had to move before its handler ended counts then, not when the worker stops later. */
static void a_slot_given_up_unfinished_does_not_spoil_a_later_stop(void **state)
{
    smq_client *client = member(), *other = member();
    const char *topic = topic_of(client, false, 2);
    struct handler_log *log = handler_log_new(NULL), *second = handler_log_new(NULL);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.threads = 2, .drain_timeout_ms = 100);
    smq_consumer *worker, *joining;

    handler_log_gate(log);
    messages_send_numbers(client, topic, 0, 16);
    worker = handler_log_worker_with(client, &options, topic, log);
    handler_log_await(log, 2); /* in both slots a handler runs */
    joining = handler_log_worker_with(other, &options, topic, second);
    assert_true(wait_until(has_given_a_slot_up, client, TIMEOUT_MS));
    handler_log_open(log, HANDLER_LOG_MAX);
    messages_await_counts(client, topic, (struct message_counts){.done = 16});
    handler_log_stop_worker(worker);
    handler_log_stop_worker(joining);
    handler_log_free(log);
    handler_log_free(second);
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
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false, 1);
    struct handler_log *log = handler_log_new(keep);
    smq_consumer *worker;
    smq_delivery *delivery;
    smq_error err = SMQ_ERROR_INIT;
    smq_status status;

    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.drain_timeout_ms = SMQ_NONE);
    messages_send_numbers(client, topic, 0, 1);
    worker = handler_log_worker_with(client, &options, topic, log);
    handler_log_await(log, 1);
    delivery = handler_log_seen(log, 0).delivery;
    smq_consumer_free(worker);
    smq_client_free(client);
    assert_string_equal(smq_delivery_info(delivery)->topic, topic);
    status = smq_done(delivery, &err);
    assert_true(status == SMQ_LEASE_LOST || status == SMQ_CLOSED);
    handler_log_free(log);
}

static void max_messages_ends_the_worker_and_claims_no_more(void **state)
{
    static const bool shared[] = {false, true};

    for (int i = 0; i < 2; i++) {
        smq_client *client = cluster_client();
        const char *topic = topic_of(client, shared[i], 4);
        struct handler_log *log = handler_log_new(NULL);
        smq_error err = SMQ_ERROR_INIT;
        smq_consumer *worker;
        smq_stats stats;

        messages_send_numbers(client, topic, 0, 20);
        smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.max_messages = 7);
        worker = handler_log_worker_with(client, &options, topic, log);
        assert_ok(smq_consumer_wait(worker, TIMEOUT_MS, &err), &err);
        smq_consumer_free(worker);
        stats = messages_stats(client, topic);
        assert_int_equal(handler_log_count(log), 7);
        assert_int_equal(stats.done, 7);
        assert_int_equal(stats.released, 0);
        assert_int_equal(stats.waiting, 13);
        handler_log_free(log);
        smq_client_free(client);
    }
}

enum { GATED = 60 };

/* Send messages, and start a worker whose handlers wait; the first of them has begun. */
static smq_consumer *start_gated(smq_client *client, smq_consumer_options *options,
                                 const char *topic, struct handler_log *log)
{
    smq_consumer *worker;

    messages_send_numbers(client, topic, 0, GATED);
    handler_log_gate(log);
    worker = handler_log_worker_with(client, options, topic, log);
    handler_log_await(log, 1);
    return worker;
}

/* At most `most` messages are claimed and not answered, however many answers are stored. */
static void assert_claimed(smq_client *client, const char *topic, int answered, int most)
{
    smq_stats stats = messages_stats(client, topic);

    assert_in_range(stats.claimed + stats.done, 0, answered + most);
}

/* Let the handlers end one by one; never are more messages claimed than `most`. */
static void end_one_by_one(smq_client *client, const char *topic, struct handler_log *log, int most)
{
    for (int i = 1; i < GATED; i++) {
        assert_claimed(client, topic, i - 1, most);
        handler_log_open(log, 1);
        handler_log_await(log, i + 1);
    }
    assert_claimed(client, topic, GATED - 1, most);
    handler_log_open(log, 1);
    messages_await_counts(client, topic, (struct message_counts){.done = GATED});
}

static void max_in_flight_bounds_what_is_claimed(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false, 8);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;

    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.max_in_flight = 5);
    worker = start_gated(client, &options, topic, log);
    end_one_by_one(client, topic, log, 5);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* While one claim is handled, the next one is there. */
static void a_slot_has_two_claims_at_most(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false, 1);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;

    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.batch_size = 10);
    worker = start_gated(client, &options, topic, log);
    messages_await_counts(client, topic,
                          (struct message_counts){.waiting = GATED - 20, .claimed = 20});
    end_one_by_one(client, topic, log, 20);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static smq_consumer *own;
static smq_status own_wait;

static smq_verdict misuse(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    (void) seen;
    if (index == 0) {
        own_wait = smq_consumer_wait(own, SMQ_FOREVER, NULL);
        smq_consumer_free(own); /* only stops it */
    }
    return SMQ_DONE;
}

static void waiting_for_oneself_is_refused(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false, 1);
    struct handler_log *log = handler_log_new(misuse);
    smq_error err = SMQ_ERROR_INIT;

    own = handler_log_worker(client, topic, log);
    messages_send(client, topic, (struct test_message){.body = "a"});
    assert_ok(smq_consumer_wait(own, TIMEOUT_MS, &err), &err);
    smq_consumer_free(own);
    assert_int_equal(own_wait, SMQ_WRONG_THREAD);
    assert_int_equal(messages_stats(client, topic).done, 1);
    handler_log_free(log);
    smq_client_free(client);
}

static void worker_that_was_not_started_can_be_stopped_and_freed(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false, 1);
    smq_consumer *worker = NULL;
    smq_error err = SMQ_ERROR_INIT;

    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = topic, .handler = (smq_handler_fn *) abort);
    assert_ok(smq_consumer_new(&worker, client, &options, &err), &err);
    assert_int_equal(smq_consumer_wait(worker, SMQ_FOREVER, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "was not started: call smq_consumer_start() first"));
    smq_consumer_stop(worker);
    assert_ok(smq_consumer_wait(worker, SMQ_FOREVER, &err), &err);
    assert_int_equal(smq_consumer_start(worker, &err), SMQ_CLOSED);
    smq_consumer_free(worker);
    assert_ok(smq_consumer_new(&worker, client, &options, &err), &err);
    smq_consumer_free(worker);
    smq_client_free(client);
}

static void one_worker_after_another_takes_the_same_topic(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false, 4);
    struct handler_log *log = handler_log_new(NULL);

    for (int i = 1; i <= 5; i++) {
        smq_consumer *worker = handler_log_worker(client, topic, log);

        messages_send(client, topic, (struct test_message){.body = "a"});
        handler_log_await(log, i);
        handler_log_stop_worker(worker);
    }
    handler_log_free(log);
    smq_client_free(client);
}

static void deletion_ends_the_worker_of(smq_client *client)
{
    const char *topic = topic_of(client, false, 2);
    struct handler_log *log = handler_log_new(NULL);
    smq_client *other = cluster_client();
    smq_consumer *worker = handler_log_worker(client, topic, log);
    smq_error err = SMQ_ERROR_INIT;

    handler_log_gate(log);
    messages_send(client, topic, (struct test_message){.body = "a"});
    handler_log_await(log, 1);
    assert_ok(smq_topic_delete(other, topic, true, &err), &err);
    handler_log_open(log, 1);
    assert_int_equal(smq_consumer_wait(worker, TIMEOUT_MS, &err), SMQ_NO_TOPIC);
    assert_non_null(strstr(err.text, topic));
    smq_consumer_free(worker);
    handler_log_free(log);
    smq_client_free(other);
    smq_client_free(client);
}

static void deleted_topic_ends_the_worker(void **state)
{
    deletion_ends_the_worker_of(cluster_client());
}

static void so_it_does_in_a_fleet(void **state)
{
    deletion_ends_the_worker_of(cluster_fleet_client(0));
}

static void bad_options_are_refused_with_a_clear_text(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false, 1);
    const struct {
        smq_consumer_options options;
        smq_status status;
        const char *text;
    } rows[] = {
        {{.topic = "nothing", .handler = (smq_handler_fn *) abort}, SMQ_NO_TOPIC, "nothing"},
        {{.topic = "no good", .handler = (smq_handler_fn *) abort}, SMQ_INVALID, "topic"},
        {{.topic = NULL, .handler = (smq_handler_fn *) abort}, SMQ_INVALID, "topic"},
        {{.topic = topic, .handler = (smq_handler_fn *) abort, .weight = 2},
         SMQ_INVALID,
         "weight is only for consumers without handler and batch"},
        {{.topic = topic, .handler = (smq_handler_fn *) abort, .max_poll_gap_ms = 1000},
         SMQ_INVALID,
         "max_poll_gap_ms is only for consumers without handler and batch"},
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

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        smq_consumer_options options = rows[i].options;
        smq_consumer *worker = NULL;
        smq_error err = SMQ_ERROR_INIT;

        options.struct_size = sizeof(options);
        assert_int_equal(smq_consumer_new(&worker, client, &options, &err), rows[i].status);
        assert_null(worker);
        assert_non_null(strstr(err.text, rows[i].text));
    }
    smq_client_free(client);
}

static void second_worker_of_a_topic_is_refused(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false, 1);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = handler_log_worker(client, topic, log), *second = NULL;
    smq_error err = SMQ_ERROR_INIT;

    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = topic, .handler = (smq_handler_fn *) abort);
    assert_int_equal(smq_consumer_new(&second, client, &options, &err), SMQ_INVALID);
    assert_int_equal(smq_consumer_start(worker, &err), SMQ_INVALID);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void child_of_fork_is_refused(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, false, 1);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    int status = 0;
    pid_t child;

    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool good = smq_consumer_wait(worker, 0, NULL) == SMQ_FORKED &&
                    smq_consumer_start(worker, NULL) == SMQ_FORKED;

        smq_consumer_stop(worker);
        smq_consumer_free(worker);
        _exit(good ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    messages_send(client, topic, (struct test_message){.body = "a"});
    handler_log_await(log, 1); /* the parent's worker was not stopped */
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

TEST_GROUP(worker_end)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stop_lets_the_handler_end_and_gives_back_the_rest),
        cmocka_unit_test(hung_handler_is_abandoned_and_its_late_answer_dropped),
        cmocka_unit_test(a_slot_given_up_unfinished_does_not_spoil_a_later_stop),
        cmocka_unit_test(delivery_outlives_its_worker),
        cmocka_unit_test(max_messages_ends_the_worker_and_claims_no_more),
        cmocka_unit_test(max_in_flight_bounds_what_is_claimed),
        cmocka_unit_test(a_slot_has_two_claims_at_most),
        cmocka_unit_test(waiting_for_oneself_is_refused),
        cmocka_unit_test(worker_that_was_not_started_can_be_stopped_and_freed),
        cmocka_unit_test(one_worker_after_another_takes_the_same_topic),
        cmocka_unit_test(deleted_topic_ends_the_worker),
        cmocka_unit_test(so_it_does_in_a_fleet),
        cmocka_unit_test(bad_options_are_refused_with_a_clear_text),
        cmocka_unit_test(second_worker_of_a_topic_is_refused),
        cmocka_unit_test(child_of_fork_is_refused),
    };

    return cmocka_run_group_tests(tests, cluster_start_single_fleet, cluster_end);
}
