/* test_consumer_end.c - how consumers end, are suspended when no thread polls, and refuse misuse.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

/* Poll to the end: what it says. */
static smq_status poll_end(smq_consumer *consumer, smq_error *err)
{
    smq_delivery *delivery = NULL;
    size_t count = 77;
    smq_status status = smq_consumer_poll(consumer, &delivery, 1, &count, TIMEOUT_MS, err);

    assert_int_equal(count, status == SMQ_OK ? 0 : 77); /* untouched on failure */
    return status;
}

/* --- the end --- */

static void stop_gives_back_the_rest_and_waits_for_answers(void **state)
{
    static const bool shared[] = {false, true};

    for (int i = 0; i < 2; i++) {
        smq_client *client = cluster_client();
        const char *topic = cluster_priority_topic(client, shared[i], 1);
        smq_consumer *consumer;
        smq_delivery *held, *more;
        size_t count = 1;
        smq_stats stats;
        smq_error err = SMQ_ERROR_INIT;

        messages_send_numbers(client, topic, 0, 5);
        consumer = messages_consumer(client, topic);
        held = messages_poll(consumer);
        messages_await_counts(client, topic, (struct message_counts){.claimed = 5, .waiting = 0});
        smq_consumer_stop(consumer);
        messages_await_counts(client, topic, (struct message_counts){.claimed = 1, .waiting = 4});
        messages_await_check(held, SMQ_CLOSED);
        assert_ok(smq_consumer_poll(consumer, &more, 1, &count, 0, &err), &err);
        assert_int_equal(count, 0);
        messages_done(held);
        assert_int_equal(poll_end(consumer, &err), SMQ_CLOSED);
        assert_non_null(strstr(err.text, topic));
        stats = messages_stats(client, topic);
        assert_int_equal(stats.done, 1);
        assert_int_equal(stats.released, 4);
        assert_int_equal(stats.lease_lost, 0);
        assert_int_equal(poll_end(consumer, &err), SMQ_CLOSED);
        assert_ok(smq_consumer_wait(consumer, 0, &err), &err);
        smq_consumer_free(consumer);
        smq_client_free(client);
    }
}

static void drain_timeout_ends_the_loop_without_the_answer(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, false, 1);
    smq_consumer *consumer;
    smq_delivery *held;
    smq_error err = SMQ_ERROR_INIT;

    messages_send_numbers(client, topic, 0, 1);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.drain_timeout_ms = 100);
    consumer = messages_consumer_with(client, &options, topic);
    held = messages_poll(consumer);
    smq_consumer_stop(consumer);
    assert_int_equal(poll_end(consumer, &err), SMQ_CLOSED);
    assert_non_null(strstr(err.text, "drain_timeout_ms"));
    assert_int_equal(smq_consumer_wait(consumer, 0, NULL), SMQ_TIMED_OUT);
    assert_int_equal(smq_done(held, NULL), SMQ_LEASE_LOST);
    assert_int_equal(smq_consumer_flush(consumer, 0, NULL), SMQ_LEASE_LOST);
    smq_consumer_free(consumer);
    smq_client_free(client);
}

static void held_delivery_outlives_its_consumer(void **state)
{
    static const bool shared[] = {false, true};

    for (int i = 0; i < 2; i++) {
        smq_client *client = cluster_client(), *other = cluster_client();
        const char *topic = cluster_priority_topic(client, shared[i], 1);
        smq_consumer *consumer, *heir;
        smq_delivery *held, *again;
        smq_stats stats;
        smq_error err = SMQ_ERROR_INIT;

        messages_send_numbers(client, topic, 0, 3);
        consumer = messages_consumer(client, topic);
        messages_done(messages_poll(consumer));
        held = messages_poll(consumer);
        messages_await_counts(client, topic, (struct message_counts){.claimed = 2, .done = 1});
        smq_consumer_free(consumer);
        stats = messages_stats(other, topic);
        assert_int_equal(stats.done, 1);
        assert_int_equal(stats.released, 1); /* what was not polled */
        smq_client_free(client);
        assert_string_equal(smq_delivery_info(held)->topic, topic);
        assert_string_equal(messages_body(held), "1");
        assert_int_equal(smq_done(held, &err), SMQ_CLOSED);
        assert_non_null(strstr(err.text, topic));
        if (!shared[i]) { /* else it comes when its lease has ended */
            heir = messages_consumer(other, topic);
            again = messages_poll(heir);
            assert_string_equal(messages_body(again), "1");
            assert_int_equal(smq_delivery_info(again)->attempt, 1);
            messages_done(again);
            smq_consumer_free(heir);
        }
        smq_client_free(other);
    }
}

/* It is no claim whose answer was lost: the next owner takes it as one of a process that died. */
static void what_was_not_answered_stays_claimed_though_a_later_claim_ends(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, false, 1);
    smq_consumer *consumer = messages_consumer(client, topic);
    smq_delivery *held;
    smq_stats stats;

    messages_send_numbers(client, topic, 0, 1);
    held = messages_poll(consumer);
    messages_send_numbers(client, topic, 1, 1);
    messages_await_counts(client, topic, (struct message_counts){.claimed = 2});
    smq_consumer_free(consumer);
    stats = messages_stats(client, topic);
    assert_int_equal(stats.released, 1);
    assert_int_equal(stats.claimed, 1);
    assert_int_equal(stats.lease_lost, 0);
    assert_int_equal(smq_done(held, NULL), SMQ_CLOSED);
    smq_client_free(client);
}

/* An answer that was accepted before the end is stored. */
static void free_stores_the_answers_so_far(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, false, 16);
    smq_consumer *consumer = messages_consumer(client, topic);

    messages_send_numbers(client, topic, 0, 50);
    for (int i = 0; i < 50; i++) {
        messages_done(messages_poll(consumer));
    }
    smq_consumer_free(consumer);
    assert_int_equal(messages_stats(client, topic).done, 50);
    smq_client_free(client);
}

static void deleted_topic_ends_the_loop(void **state)
{
    smq_client *client = cluster_client(), *other = cluster_client();
    const char *topic = cluster_priority_topic(client, false, 2);
    smq_consumer *consumer = messages_consumer(client, topic);
    smq_delivery *held;
    smq_error err = SMQ_ERROR_INIT;

    messages_send_numbers(client, topic, 0, 1);
    held = messages_poll(consumer);
    assert_ok(smq_topic_delete(other, topic, true, &err), &err);
    (void) smq_done(held, NULL);
    assert_int_equal(poll_end(consumer, &err), SMQ_NO_TOPIC);
    assert_non_null(strstr(err.text, topic));
    smq_consumer_free(consumer);
    smq_client_free(other);
    smq_client_free(client);
}

/* Nobody else tells the worker that there is room again: its other slots have nothing in flight. */
static void lost_slot_makes_room_for_the_others(void **state)
{
    smq_client *client, *other;
    smq_consumer *first, *second;
    smq_delivery *held;
    const char *topic;

    smq_client_options client_options =
        SMQ_CLIENT_OPTIONS(.zookeeper = servers_zookeeper(cluster_servers()));
    client = cluster_client_with(&client_options);
    other = cluster_client_with(&client_options);
    topic = cluster_priority_topic(client, false, 2);
    messages_send_numbers(client, topic, 0, 64);
    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.max_in_flight = 1, .drain_timeout_ms = 100);
    first = messages_consumer_with(client, &options, topic);
    for (held = messages_poll(first); smq_delivery_info(held)->slot == 0;
         held = messages_poll(first)) {
        messages_done(held);
    }
    messages_send_numbers(client, topic, 0, 64);
    second = messages_consumer(other, topic); /* gets the last slot */
    messages_await_check(held, SMQ_LEASE_LOST);
    assert_int_equal(smq_done(held, NULL), SMQ_LEASE_LOST);
    held = messages_poll(first);
    assert_int_equal(smq_delivery_info(held)->slot, 0);
    messages_done(held);
    smq_consumer_free(second);
    smq_consumer_free(first);
    smq_client_free(other);
    smq_client_free(client);
}

/* --- no thread polls --- */

struct log {
    pthread_mutex_t lock;
    char text[256]; /* the last warning */
};

static bool gap_was_told(void *arg)
{
    struct log *log = arg;
    bool said;

    pthread_mutex_lock(&log->lock);
    said = strstr(log->text, "max_poll_gap_ms") != NULL;
    pthread_mutex_unlock(&log->lock);
    return said;
}

static void on_event(const smq_event *event, void *user)
{
    struct log *log = user;

    if (event->kind == SMQ_EVENT_LOG && event->level == SMQ_LEVEL_WARN) {
        pthread_mutex_lock(&log->lock);
        snprintf(log->text, sizeof(log->text), "%s", event->text);
        pthread_mutex_unlock(&log->lock);
    }
}

static void slots_of_a_consumer_that_nobody_polls_go_to_others(void **state)
{
    struct log log = {.lock = PTHREAD_MUTEX_INITIALIZER};
    smq_client *client, *other = cluster_client();
    smq_consumer *first, *second;
    smq_delivery *held, *delivery;
    const char *topic;
    smq_error err = SMQ_ERROR_INIT;

    smq_client_options client_options = SMQ_CLIENT_OPTIONS(.event = on_event, .event_user = &log);
    client = cluster_client_with(&client_options);
    topic = cluster_priority_topic(client, false, 1);
    messages_send_numbers(client, topic, 0, 2);
    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.max_poll_gap_ms = 400, .drain_timeout_ms = 100);
    first = messages_consumer_with(client, &options, topic);
    held = messages_poll(first); /* and then no more */
    second = messages_consumer(other, topic);
    for (int i = 0; i < 2; i++) { /* what was held, and what was not polled */
        delivery = messages_poll(second);
        assert_int_equal(smq_delivery_info(delivery)->attempt, 1);
        messages_done(delivery);
    }
    assert_true(wait_until(gap_was_told, &log, TIMEOUT_MS));
    assert_int_equal(smq_delivery_check(held), SMQ_LEASE_LOST);
    assert_int_equal(smq_done(held, &err), SMQ_LEASE_LOST);

    assert_int_equal(smq_consumer_poll(first, &delivery, 1, &(size_t){0}, 0, &err), SMQ_OK);
    smq_consumer_free(second); /* the first one stands by since its poll */
    messages_send(other, topic, (struct test_message){.body = "late"});
    delivery = messages_poll(first);
    assert_string_equal(messages_body(delivery), "late");
    messages_done(delivery);
    smq_consumer_free(first);
    assert_int_equal(messages_stats(other, topic).done, 3);
    smq_client_free(other);
    smq_client_free(client);
}

/* --- a fleet --- */

struct pair {
    smq_client *clients[2];
    smq_consumer *consumers[2];
    bool polled[2];
    uint64_t owned[2]; /* how many slots each shall own */
};

static void poll_nothing(smq_consumer *consumer)
{
    smq_delivery *delivery;
    size_t count = 0;

    assert_int_equal(smq_consumer_poll(consumer, &delivery, 1, &count, 0, NULL), SMQ_OK);
    assert_int_equal(count, 0);
}

static bool slots_are_so(void *arg)
{
    struct pair *pair = arg;
    bool so = true;

    for (int i = 0; i < 2; i++) {
        smq_metrics metrics = SMQ_METRICS_INIT;

        assert_int_equal(smq_client_metrics(pair->clients[i], &metrics, NULL), SMQ_OK);
        so = so && metrics.slots_owned == pair->owned[i];
        if (pair->polled[i]) {
            poll_nothing(pair->consumers[i]);
        }
    }
    return so;
}

static void await_slots(struct pair *pair, bool first, bool second, uint64_t of_first,
                        uint64_t of_second)
{
    pair->polled[0] = first;
    pair->polled[1] = second;
    pair->owned[0] = of_first;
    pair->owned[1] = of_second;
    assert_true(wait_until(slots_are_so, pair, TIMEOUT_MS));
}

static void fleet_shares_by_weight_and_passes_over_who_does_not_poll(void **state)
{
    struct pair pair = {.owned = {0}};
    const char *topic;

    smq_client_options client_options =
        SMQ_CLIENT_OPTIONS(.zookeeper = servers_zookeeper(cluster_servers()));
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.max_poll_gap_ms = 3000);
    for (int i = 0; i < 2; i++) {
        pair.clients[i] = cluster_client_with(&client_options);
    }
    topic = cluster_priority_topic(pair.clients[0], false, 8);
    for (int i = 0; i < 2; i++) {
        options.weight = i == 0 ? 3 : 1;
        pair.consumers[i] = messages_consumer_with(pair.clients[i], &options, topic);
    }
    await_slots(&pair, true, true, 6, 2);
    await_slots(&pair, false, true, 0, 8);
    await_slots(&pair, true, true, 6, 2); /* the first poll joins again */
    for (int i = 0; i < 2; i++) {
        smq_consumer_free(pair.consumers[i]);
        smq_client_free(pair.clients[i]);
    }
}

/* Alone it gets its slots back by the next poll, also if it still held something. */
static void poll_after_a_gap_joins_again(void **state)
{
    static const bool shared[] = {false, true};

    for (int i = 0; i < 2; i++) {
        smq_client *client = cluster_client();
        const char *topic = cluster_priority_topic(client, shared[i], 4);
        smq_consumer *consumer;
        smq_delivery *held, *delivery;

        smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.max_poll_gap_ms = 200);
        consumer = messages_consumer_with(client, &options, topic);
        for (int round = 0; round < 3; round++) {
            messages_send_numbers(client, topic, 0, 1);
            held = messages_poll(consumer);
            messages_await_check(held, SMQ_CLOSED); /* it hurries us: the slot goes */
            messages_done(held);
            messages_await_counts(client, topic,
                                  (struct message_counts){.done = 2 * round + 1, .claimed = 0});
            messages_send(client, topic, (struct test_message){.body = "a"});
            delivery = messages_poll(consumer);
            assert_string_equal(messages_body(delivery), "a");
            messages_done(delivery);
            assert_int_equal(smq_consumer_flush(consumer, TIMEOUT_MS, NULL), SMQ_OK);
        }
        smq_consumer_free(consumer);
        smq_client_free(client);
    }
}

/* A loop that waits on the descriptor alone is asked to poll in time, and keeps its slots. */
static void descriptor_asks_for_a_poll_in_time(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, false, 1);
    smq_consumer *consumer;
    smq_metrics metrics = SMQ_METRICS_INIT;
    struct pollfd wait = {.events = POLLIN};
    smq_delivery *delivery;
    size_t count = 1;

    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.max_poll_gap_ms = 4000);
    consumer = messages_consumer_with(client, &options, topic);
    wait.fd = smq_consumer_fd(consumer);
    assert_int_equal(poll(&wait, 1, TIMEOUT_MS), 1);
    assert_int_equal(smq_consumer_poll(consumer, &delivery, 1, &count, 0, NULL), SMQ_OK);
    assert_int_equal(count, 0);
    assert_int_equal(poll(&wait, 1, 0), 0);
    assert_int_equal(poll(&wait, 1, TIMEOUT_MS), 1);
    assert_int_equal(smq_consumer_poll(consumer, &delivery, 1, &count, 0, NULL), SMQ_OK);
    assert_int_equal(smq_client_metrics(client, &metrics, NULL), SMQ_OK);
    assert_int_equal(metrics.slots_gained, 1);
    assert_int_equal(metrics.slots_lost, 0);
    smq_consumer_free(consumer);
    smq_client_free(client);
}

/* A poll that waits is a poll, however long it takes. */
static void waiting_poll_is_no_gap(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, false, 1);
    smq_metrics metrics = SMQ_METRICS_INIT;
    smq_consumer *consumer;
    smq_delivery *delivery;
    size_t count = 1;

    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.max_poll_gap_ms = 100);
    consumer = messages_consumer_with(client, &options, topic);
    messages_send(client, topic, (struct test_message){.body = "a"});
    messages_done(messages_poll(consumer));
    assert_int_equal(smq_consumer_poll(consumer, &delivery, 1, &count, 1000, NULL), SMQ_OK);
    assert_int_equal(smq_client_metrics(client, &metrics, NULL), SMQ_OK);
    assert_int_equal(metrics.slots_gained - metrics.slots_lost, 1);
    smq_consumer_free(consumer);
    smq_client_free(client);
}

static void resting_consumer_can_be_stopped_and_freed(void **state)
{
    static const bool stopped[] = {false, true};

    for (int i = 0; i < 2; i++) {
        smq_client *client = cluster_client();
        const char *topic = cluster_priority_topic(client, false, 1);
        smq_consumer *consumer;
        smq_delivery *held;

        smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.max_poll_gap_ms = 100);
        messages_send_numbers(client, topic, 0, 1);
        consumer = messages_consumer_with(client, &options, topic);
        held = messages_poll(consumer);
        messages_await_check(held, SMQ_CLOSED);
        if (stopped[i]) {
            messages_done(held);
            smq_consumer_stop(consumer);
            assert_int_equal(poll_end(consumer, &(smq_error){0}), SMQ_CLOSED);
        }
        smq_consumer_free(consumer);
        if (!stopped[i]) {
            assert_int_equal(smq_done(held, NULL), SMQ_CLOSED);
        }
        smq_client_free(client);
    }
}

/* --- misuse --- */

static void bad_options_are_refused_with_a_clear_text(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, false, 1);
    const struct {
        smq_consumer_options options;
        smq_status status;
        const char *text;
    } rows[] = {
        {{.topic = "nothing"}, SMQ_NO_TOPIC, "nothing"},
        {{.topic = "no good"}, SMQ_INVALID, "topic"},
        {{.topic = NULL}, SMQ_INVALID, "topic"},
        {{.topic = topic, .weight = 1025}, SMQ_INVALID, "weight"},
        {{.topic = topic, .per_slot = 1001}, SMQ_INVALID, "per_slot"},
        {{.topic = topic, .max_in_flight = -1}, SMQ_INVALID, "max_in_flight"},
        {{.topic = topic, .rate_per_s = -1}, SMQ_INVALID, "rate_per_s"},
        {{.topic = topic, .handler_timeout_ms = -1}, SMQ_INVALID, "handler_timeout_ms"},
        {{.topic = topic, .drain_timeout_ms = -2}, SMQ_INVALID, "drain_timeout_ms"},
        {{.topic = topic, .max_poll_gap_ms = 99}, SMQ_INVALID, "max_poll_gap_ms"},
        {{.topic = topic, .threads = 1}, SMQ_INVALID, "threads is only for consumers with handler"},
        {{.topic = topic, .batch_size = 1}, SMQ_INVALID, "batch_size is only for"},
        {{.topic = topic, .max_messages = 1}, SMQ_INVALID, "max_messages is only for"},
        {{.topic = topic, .dead = (smq_dead_fn *) abort}, SMQ_INVALID, "dead is only for"},
        {{.topic = topic, .user = client}, SMQ_INVALID, "user is only for"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        smq_consumer_options options = rows[i].options;
        smq_consumer *consumer = NULL;
        smq_error err = SMQ_ERROR_INIT;

        options.struct_size = sizeof(options);
        assert_int_equal(smq_consumer_new(&consumer, client, &options, &err), rows[i].status);
        assert_null(consumer);
        assert_non_null(strstr(err.text, rows[i].text));
    }
    smq_client_free(client);
}

static void bad_calls_are_refused(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, false, 1);
    smq_consumer *consumer = messages_consumer(client, topic), *second = NULL;
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS_INIT;
    smq_consumer_options work = SMQ_CONSUMER_OPTIONS_INIT;
    smq_consumer *worker = NULL;
    smq_error err = SMQ_ERROR_INIT;
    smq_delivery *delivery;
    size_t count = 0;

    options.topic = work.topic = topic;
    work.handler = (smq_handler_fn *) abort;
    assert_int_equal(smq_consumer_new(&second, client, &options, NULL), SMQ_INVALID);
    assert_int_equal(smq_consumer_new(&worker, client, &work, NULL), SMQ_INVALID);
    assert_int_equal(smq_consumer_poll(consumer, NULL, 1, &count, 0, NULL), SMQ_INVALID);
    assert_int_equal(smq_consumer_poll(consumer, &delivery, 1, NULL, 0, NULL), SMQ_INVALID);
    assert_int_equal(smq_consumer_set_max_in_flight(consumer, -1, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "max_in_flight must be 0 or more, not -1"));
    assert_int_equal(smq_consumer_set_max_in_flight(NULL, 1, NULL), SMQ_INVALID);
    assert_int_equal(smq_consumer_poll(consumer, &delivery, 1, &count, -2, NULL), SMQ_INVALID);
    assert_int_equal(smq_consumer_poll(NULL, &delivery, 1, &count, 0, NULL), SMQ_INVALID);
    assert_int_equal(smq_consumer_flush(consumer, -2, NULL), SMQ_INVALID);
    assert_int_equal(smq_consumer_fd(NULL), -1);
    assert_int_equal(smq_consumer_start(consumer, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "neither handler nor batch"));
    assert_int_equal(smq_consumer_wait(consumer, 0, NULL), SMQ_TIMED_OUT);
    smq_consumer_stop(NULL);
    smq_consumer_free(NULL);
    smq_consumer_free(consumer);
    smq_client_free(client);
}

static void calls_for_polls_are_refused_by_a_consumer_with_a_handler(void **state)
{
    smq_client *client = cluster_client();
    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = cluster_priority_topic(client, false, 1),
                             .handler = (smq_handler_fn *) abort);
    smq_consumer *consumer = NULL;
    smq_error err = SMQ_ERROR_INIT;
    smq_delivery *delivery;
    size_t count = 0;

    assert_ok(smq_consumer_new(&consumer, client, &options, &err), &err);
    assert_int_equal(smq_consumer_poll(consumer, &delivery, 1, &count, 0, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "smq_consumer_poll() is for consumers without a handler"));
    assert_int_equal(smq_consumer_flush(consumer, 0, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "smq_consumer_flush() is for consumers without a handler"));
    assert_int_equal(smq_consumer_fd(consumer), -1);
    assert_int_equal(smq_consumer_wait(consumer, 0, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "smq_consumer_start()"));
    smq_consumer_free(consumer);
    smq_client_free(client);
}

static void child_of_fork_is_refused(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, false, 1);
    smq_consumer *consumer = messages_consumer(client, topic);
    smq_delivery *delivery;
    size_t count = 0;
    int status = 0;
    pid_t child;

    messages_send(client, topic, (struct test_message){.body = "a"});
    delivery = messages_poll(consumer);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool good = smq_consumer_poll(consumer, &delivery, 1, &count, 0, NULL) == SMQ_FORKED &&
                    smq_consumer_flush(consumer, 0, NULL) == SMQ_FORKED &&
                    smq_consumer_fd(consumer) == -1 && smq_done(delivery, NULL) == SMQ_FORKED &&
                    smq_delivery_check(delivery) == SMQ_FORKED;

        smq_consumer_stop(consumer);
        smq_consumer_free(consumer);
        _exit(good ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(smq_delivery_check(delivery), SMQ_OK);
    messages_done(delivery);
    messages_send(client, topic, (struct test_message){.body = "b"});
    messages_done(messages_poll(consumer)); /* the parent's was not stopped */
    smq_consumer_free(consumer);
    smq_client_free(client);
}

TEST_GROUP(consumer_end)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stop_gives_back_the_rest_and_waits_for_answers),
        cmocka_unit_test(drain_timeout_ends_the_loop_without_the_answer),
        cmocka_unit_test(held_delivery_outlives_its_consumer),
        cmocka_unit_test(what_was_not_answered_stays_claimed_though_a_later_claim_ends),
        cmocka_unit_test(free_stores_the_answers_so_far),
        cmocka_unit_test(deleted_topic_ends_the_loop),
        cmocka_unit_test(lost_slot_makes_room_for_the_others),
        cmocka_unit_test(slots_of_a_consumer_that_nobody_polls_go_to_others),
        cmocka_unit_test(fleet_shares_by_weight_and_passes_over_who_does_not_poll),
        cmocka_unit_test(poll_after_a_gap_joins_again),
        cmocka_unit_test(descriptor_asks_for_a_poll_in_time),
        cmocka_unit_test(waiting_poll_is_no_gap),
        cmocka_unit_test(resting_consumer_can_be_stopped_and_freed),
        cmocka_unit_test(bad_options_are_refused_with_a_clear_text),
        cmocka_unit_test(bad_calls_are_refused),
        cmocka_unit_test(calls_for_polls_are_refused_by_a_consumer_with_a_handler),
        cmocka_unit_test(child_of_fork_is_refused),
    };

    return cmocka_run_group_tests(tests, cluster_start_fleet, cluster_end);
}
