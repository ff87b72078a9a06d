/* test_flow.c - a limit of unanswered deliveries that changes while the consumer lives, and polls
 * without room as a sign of life. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "consume/slot/sleep.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum {
    SLOTS = 4,
    MOST = 100,
    FEW = 7,
    GAP_MS = 300,
    LEASE_MS = 300,
    LIVES_MS = 2000,
    SLEEP_MS = 50,
    DELAY_MS = 700
};

static void set_most(smq_consumer *consumer, int32_t most)
{
    smq_error err;

    assert_ok(smq_consumer_set_max_in_flight(consumer, most, &err), &err);
}

static uint64_t in_flight(smq_client *client)
{
    smq_metrics metrics = SMQ_METRICS_INIT;

    assert_int_equal(smq_client_metrics(client, &metrics, NULL), SMQ_OK);
    return metrics.in_flight;
}

/* What a poll gives without waiting. */
static size_t poll_now(smq_consumer *consumer, smq_delivery **out, size_t capacity)
{
    size_t count = 0;
    smq_error err;

    assert_ok(smq_consumer_poll(consumer, out, capacity, &count, 0, &err), &err);
    return count;
}

/* --- a sign of life --- */

struct life {
    smq_consumer *consumer;
    int64_t until_ms;
};

static bool has_lived(void *arg)
{
    struct life *life = arg;
    size_t count = 1;

    assert_int_equal(smq_consumer_poll(life->consumer, NULL, 0, &count, SMQ_FOREVER, NULL), SMQ_OK);
    assert_int_equal(count, 0);
    return clock_now_ms() >= life->until_ms;
}

/* Its messages take several leases, and several times max_poll_gap_ms. */
static void a_full_consumer_keeps_its_slots_and_leases_with_limit_0(void **state)
{
    smq_client *client = cluster_client();
    smq_topic_options topic = SMQ_TOPIC_OPTIONS(.name = "long", .slots = 2, .lease_ms = LEASE_MS);
    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.max_in_flight = 3, .max_poll_gap_ms = GAP_MS);
    smq_metrics metrics = SMQ_METRICS_INIT;
    smq_consumer *consumer;
    smq_delivery *held[3];
    smq_error err;

    assert_ok(smq_topic_create(client, &topic, NULL, &err), &err);
    messages_send_numbers(client, topic.name, 0, 10);
    consumer = messages_consumer_with(client, &options, topic.name);
    for (int i = 0; i < 3; i++) {
        held[i] = messages_poll(consumer);
    }
    set_most(consumer, 0);
    struct life life = {.consumer = consumer, .until_ms = clock_now_ms() + LIVES_MS};
    assert_true(wait_until(has_lived, &life, TIMEOUT_MS));

    assert_int_equal(smq_client_metrics(client, &metrics, NULL), SMQ_OK);
    assert_int_equal(metrics.slots_owned, 2);
    assert_int_equal(metrics.slots_lost, 0);
    assert_int_equal(metrics.lease_lost, 0);
    assert_int_equal(metrics.in_flight, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(smq_delivery_check(held[i]), SMQ_OK);
        messages_done(held[i]);
    }
    assert_int_equal(smq_consumer_flush(consumer, TIMEOUT_MS, NULL), SMQ_OK);
    assert_int_equal(messages_stats(client, topic.name).claimed, 0);
    assert_int_equal(messages_stats(client, topic.name).done, 3);
    set_most(consumer, 3);
    for (int i = 3; i < 10; i++) {
        messages_done(messages_poll(consumer));
    }
    smq_consumer_free(consumer);
    smq_client_free(client);
}

/* --- a limit that rises --- */

/* Fewer places are free than a claim wants: all are used all the same while no answer comes. */
static void the_last_places_are_used(void **state)
{
    static const int32_t limits[] = {5, 8, 9, 30, 43};
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, true, SLOTS);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.max_in_flight = limits[0]);
    smq_consumer *consumer;
    smq_delivery *held[MOST];
    int32_t count = 0;

    messages_send_numbers(client, topic, 0, 2 * MOST);
    consumer = messages_consumer_with(client, &options, topic);
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        set_most(consumer, limits[i]);
        while (count < limits[i]) {
            held[count++] = messages_poll(consumer);
        }
        assert_int_equal(in_flight(client), limits[i]);
    }
    messages_done(held[--count]); /* one place is free */
    held[count++] = messages_poll(consumer);
    assert_int_equal(smq_done_all(held, (size_t) count, NULL), SMQ_OK);
    smq_consumer_free(consumer);
    smq_client_free(client);
}

/* --- under load --- */

/* Poll until `most` deliveries are held, while others are sent; no more come. */
static void fill(smq_client *client, const char *topic, smq_consumer *consumer, smq_delivery **held,
                 size_t most, int *sent)
{
    smq_delivery *more;

    for (size_t i = 0; i < most; i++) {
        held[i] = messages_poll(consumer);
        assert_true(in_flight(client) <= most);
        if (i % 10 == 0) {
            messages_send_numbers(client, topic, *sent, 5);
            *sent += 5;
        }
    }
    assert_int_equal(in_flight(client), most);
    assert_int_equal(poll_now(consumer, &more, 1), 0);
}

static void answer(smq_consumer *consumer, smq_delivery **held, size_t count)
{
    assert_int_equal(smq_done_all(held, count, NULL), SMQ_OK);
    assert_int_equal(smq_consumer_flush(consumer, TIMEOUT_MS, NULL), SMQ_OK);
}

/* Messages wait, and come all the time. */
static void a_limit_that_goes_100_0_7_holds_exactly(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, false, SLOTS);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.max_in_flight = MOST);
    smq_consumer *consumer;
    smq_delivery *held[MOST + 1];
    int sent = 3 * MOST;

    messages_send_numbers(client, topic, 0, sent);
    consumer = messages_consumer_with(client, &options, topic);
    fill(client, topic, consumer, held, MOST, &sent);

    set_most(consumer, 0);
    answer(consumer, held, MOST);
    for (int i = 0; i < 20; i++) {
        messages_send_numbers(client, topic, sent++, 1);
        assert_int_equal(poll_now(consumer, held, MOST), 0);
        assert_int_equal(in_flight(client), 0);
    }
    assert_int_equal(messages_stats(client, topic).waiting, sent - MOST);
    assert_int_equal(messages_stats(client, topic).claimed, 0);

    set_most(consumer, FEW);
    fill(client, topic, consumer, held, FEW, &sent);
    for (int i = 0; i < 50; i++) {
        messages_done(held[i % FEW]);
        held[i % FEW] = messages_poll(consumer);
        assert_true(in_flight(client) <= FEW);
    }
    answer(consumer, held, FEW);
    set_most(consumer, MOST);
    for (int done = MOST + 50 + FEW; done < sent; done++) {
        messages_done(messages_poll(consumer));
    }
    assert_int_equal(smq_consumer_flush(consumer, TIMEOUT_MS, NULL), SMQ_OK);
    assert_int_equal(messages_stats(client, topic).done, sent);
    smq_consumer_free(consumer);
    smq_client_free(client);
}

/* The limit falls while calls that may claim are on their way.  The counts of the topic come behind
 * their replies.  A message that comes too late counts for the moment in which it is returned, so
 * the first count may be one more than what the consumer keeps. */
static void what_is_on_its_way_counts_within_the_limit(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, false, SLOTS);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.max_in_flight = MOST);
    smq_consumer *consumer;
    smq_delivery *held[MOST];
    uint64_t before, kept;
    int done = 0;

    messages_send_numbers(client, topic, 0, 2 * MOST);
    consumer = messages_consumer_with(client, &options, topic);
    for (int i = 0; i < 20; i++) {
        set_most(consumer, MOST);
        set_most(consumer, 0);
        before = in_flight(client);
        (void) messages_stats(client, topic);
        kept = in_flight(client);
        assert_true(kept <= before);
        size_t count = poll_now(consumer, held, MOST);
        assert_int_equal(count, kept);
        answer(consumer, held, count);
        done += (int) count;
    }
    set_most(consumer, MOST);
    for (; done < 2 * MOST; done++) {
        messages_done(messages_poll(consumer));
    }
    assert_int_equal(smq_consumer_flush(consumer, TIMEOUT_MS, NULL), SMQ_OK);
    assert_int_equal(messages_stats(client, topic).done, 2 * MOST);
    assert_int_equal(messages_stats(client, topic).lease_lost, 0);
    smq_consumer_free(consumer);
    smq_client_free(client);
}

/* --- pushes --- */

struct surplus {
    smq_client *client;
    const char *topic;
};

static bool has_returned(void *arg)
{
    struct surplus *surplus = arg;
    smq_stats stats = messages_stats(surplus->client, surplus->topic);

    return stats.waiting == 1 && stats.claimed == 0 && stats.released == 1;
}

/* The send claims for a slot that is open, and the consumer gives the message back as if it had
 * never been claimed. */
static void a_push_counts_within_the_limit(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, false, 1);
    smq_consumer *consumer = messages_consumer(client, topic);
    struct surplus surplus = {.client = client, .topic = topic};
    smq_delivery *delivery;

    keys_await_open(topic, 1, 1);
    messages_send_numbers(client, topic, 0, 1);
    messages_done(messages_poll(consumer)); /* the owner has had a reply: pushes count from now */
    assert_int_equal(smq_consumer_flush(consumer, TIMEOUT_MS, NULL), SMQ_OK);
    keys_await_open(topic, 1, 1);

    set_most(consumer, 0);
    messages_send_numbers(client, topic, 1, 1);
    assert_true(wait_until(has_returned, &surplus, TIMEOUT_MS));
    assert_int_equal(poll_now(consumer, &delivery, 1), 0);
    assert_int_equal(in_flight(client), 0);

    set_most(consumer, 1);
    delivery = messages_poll(consumer);
    assert_int_equal(smq_delivery_info(delivery)->attempt, 1);
    messages_done(delivery);
    smq_consumer_free(consumer);
    smq_client_free(client);
}

/* --- messages that become due while nothing may be claimed --- */

static _Atomic int unnoticed;

static void on_event(const smq_event *event, void *user)
{
    (void) user;
    unnoticed += strstr(event->text, "came without a notice") != NULL ? 1 : 0;
}

/* The slot's time to look by itself has come and gone when the message is due, of which no sender
 * has to tell. */
static void a_message_that_became_due_at_limit_0_lacks_no_notice(void **state)
{
    const struct sleep_times before = sleep_times;
    smq_client *client = cluster_client_with(&SMQ_CLIENT_OPTIONS(.event = on_event));
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
    smq_consumer *consumer;
    int64_t due_ms;

    sleep_times = (struct sleep_times){.least = SLEEP_MS, .most = SLEEP_MS, .soon_least = SLEEP_MS};
    consumer = messages_consumer(client, topic);
    keys_await_open(topic, 1, 1);
    messages_send(client, topic, (struct test_message){.body = "a", .delay_ms = DELAY_MS});
    due_ms = clock_wall_ms() + DELAY_MS;
    keys_await_open(topic, 1, 1);
    set_most(consumer, 0);
    messages_await_clock(due_ms);
    set_most(consumer, 1);
    messages_done(messages_poll(consumer));
    assert_int_equal(smq_consumer_flush(consumer, TIMEOUT_MS, NULL), SMQ_OK);
    keys_await_open(topic, 1, 1);
    assert_int_equal(unnoticed, 0);
    smq_consumer_free(consumer);
    smq_client_free(client);
    sleep_times = before;
}

/* --- handlers --- */

static bool are_in_flight(void *arg)
{
    return in_flight(arg) == FEW;
}

/* Another thread changes the limit of a consumer with handlers. */
static void the_limit_of_handlers_changes(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_priority_topic(client, false, SLOTS);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.threads = 2, .batch_size = 10);
    smq_consumer *consumer;

    consumer = handler_log_worker_with(client, &options, topic, log);
    set_most(consumer, 0);
    messages_send_numbers(client, topic, 0, 60);
    messages_await_counts(client, topic, (struct message_counts){60, 0, 0, 0, 0});
    assert_int_equal(in_flight(client), 0);
    assert_int_equal(handler_log_count(log), 0);

    handler_log_gate(log);
    set_most(consumer, FEW);
    assert_true(wait_until(are_in_flight, client, TIMEOUT_MS));
    handler_log_await(log, 2);
    assert_int_equal(messages_stats(client, topic).claimed, FEW);
    handler_log_open(log, 60);
    handler_log_await(log, 60);
    handler_log_stop_worker(consumer);
    assert_int_equal(messages_stats(client, topic).done, 60);
    handler_log_free(log);
    smq_client_free(client);
}

TEST_GROUP(flow)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_consumer_keeps_its_slots_and_leases_with_limit_0),
        cmocka_unit_test(the_last_places_are_used),
        cmocka_unit_test(a_limit_that_goes_100_0_7_holds_exactly),
        cmocka_unit_test(what_is_on_its_way_counts_within_the_limit),
        cmocka_unit_test(a_push_counts_within_the_limit),
        cmocka_unit_test(a_message_that_became_due_at_limit_0_lacks_no_notice),
        cmocka_unit_test(the_limit_of_handlers_changes),
    };

    return cmocka_run_group_tests(tests, cluster_start_masters, cluster_end);
}
