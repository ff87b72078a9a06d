/* test_pushes.c - sends that claim for a worker with idle slots: they need one script less, and
 * every limit of the worker holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"

enum { SLOTS = 16 };

/* --- the tests --- */

/* In order of slots, for tests that count scripts: by key a handler that takes more than a moment
 * costs one more, and on a busy machine each may. */
static smq_worker *worker_by_slot(smq_client *client, const char *topic, struct handler_log *log)
{
    smq_worker_options options = SMQ_WORKER_OPTIONS_INIT;

    options.order = SMQ_ORDER_SLOT;
    options.push_slots = 1;
    return handler_log_worker_with(client, &options, topic, log);
}

static smq_worker *worker_of(smq_client *client, const char *topic, struct handler_log *log,
                             int32_t max_in_flight, int32_t push_slots)
{
    smq_worker_options options = SMQ_WORKER_OPTIONS_INIT;

    options.max_in_flight = max_in_flight;
    options.push_slots = push_slots;
    return handler_log_worker_with(client, &options, topic, log);
}

/* Until a slot sleeps again the next message comes as ever, so each is awaited. */
static void send_and_await(smq_client *sender, const char *topic, struct handler_log *log)
{
    int number = handler_log_count(log);

    messages_send_numbers(sender, topic, number, 1);
    handler_log_await(log, number + 1);
    keys_await_open(topic, 1, 1);
    assert_int_equal(handler_log_count(log), number + 1);
}

/* The owner has taken its slot over, and looks once more when it hears that it is subscribed, maybe
 * after the slot was seen to be open.  Once it has handled a message it has looked, and has had a
 * reply, before which a push only wakes it. */
static void await_settled(smq_client *sender, const char *topic, struct handler_log *log)
{
    keys_await_open(topic, 1, 1);
    send_and_await(sender, topic, log);
}

static void pushed_message_costs_two_scripts(void **state)
{
    enum { COUNT = 50 };
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
    smq_worker *worker = worker_by_slot(client, topic, log);
    int64_t before;
    smq_stats stats;

    (void) state;
    await_settled(client, topic, log);
    before = keys_scripts_run();
    for (int i = 0; i < COUNT; i++) {
        send_and_await(client, topic, log);
    }
    assert_int_equal(keys_scripts_run() - before, 2 * COUNT);
    stats = messages_stats(client, topic);
    assert_int_equal(stats.done, COUNT + 1);
    assert_int_equal(stats.lease_lost, 0);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void no_more_slots_are_open_than_the_worker_says(void **state)
{
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    smq_worker *worker = worker_of(client, topic, log, 0, 3);

    (void) state;
    keys_await_open(topic, SLOTS, 3);
    messages_send_numbers(client, topic, 0, 200);
    handler_log_await(log, 200);
    keys_await_open(topic, SLOTS, 3);
    handler_log_stop_worker(worker);
    keys_await_open(topic, SLOTS, 0);
    handler_log_free(log);
    smq_client_free(client);
}

static smq_verdict first_attempt(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    (void) index;
    assert_int_equal(seen->attempt, 1);
    return SMQ_DONE;
}

/* All slots are open, and each gets a message at once; but the worker may have two unanswered. */
static void surplus_is_returned_with_its_attempts(void **state)
{
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(first_attempt);
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    smq_worker *worker = worker_of(client, topic, log, 2, SLOTS);
    smq_metrics metrics = SMQ_METRICS_INIT;
    smq_stats stats;

    (void) state;
    keys_await_open(topic, SLOTS, SLOTS);
    handler_log_gate(log);
    messages_send_numbers(client, topic, 0, 8 * SLOTS);
    handler_log_await(log, 1);
    assert_int_equal(smq_client_metrics(client, &metrics, NULL), SMQ_OK);
    assert_in_range(metrics.in_flight, 1, 2);
    handler_log_open(log, 8 * SLOTS);
    handler_log_await(log, 8 * SLOTS);
    messages_await_counts(client, topic, (struct message_counts){.done = INT64_C(8) * SLOTS});
    stats = messages_stats(client, topic);
    assert_int_equal(stats.retried, 0);
    assert_int_equal(stats.lease_lost, 0);
    assert_int_equal(handler_log_count(log), 8 * SLOTS);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* A slow handler has the first; what comes into its slot until then keeps its order. */
static void order_of_fifo_holds(void **state)
{
    enum { COUNT = 200 };
    smq_topic_options options = SMQ_TOPIC_OPTIONS_INIT;
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    smq_worker *worker;
    const char *topic;

    (void) state;
    options.type = SMQ_TYPE_FIFO;
    topic = cluster_topic(client, &options);
    worker = worker_of(client, topic, log, 0, 1);
    keys_await_open(topic, 1, 1);
    messages_send_numbers(client, topic, 0, COUNT / 2);
    for (int i = COUNT / 2; i < COUNT; i++) {
        handler_log_await(log, i);
        messages_send_numbers(client, topic, i, 1);
    }
    handler_log_await(log, COUNT);
    for (int i = 0; i < COUNT; i++) {
        char body[16];

        snprintf(body, sizeof(body), "%d", i);
        assert_string_equal(handler_log_seen(log, i).body, body);
    }
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* --- users with no more rights than SECURITY.md says --- */

/* A user of all nodes who may send to this topic, but for one command. */
static void add_user(const char *user, const char *topic)
{
    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        freeReplyObject(keys_command_at(
            servers_node(cluster_servers(), i),
            "ACL SETUSER %s reset on >secret ~topic{%s} ~%s_* ~*{%s_* &wake{%s_* -@all "
            "+@connection +@hash +@sortedset +evalsha +script|load +cluster|slots +info +time "
            "+wait +spublish",
            user, topic, topic, topic, topic));
    }
}

static void allow(const char *user, const char *command)
{
    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        freeReplyObject(keys_command_at(servers_node(cluster_servers(), i), "ACL SETUSER %s +%s",
                                        user, command));
    }
}

static smq_client *client_of(const char *user)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;
    char servers[256];

    snprintf(servers, sizeof(servers), "redis://%s:secret@%s", user,
             servers_redis(cluster_servers()));
    options.redis = servers;
    return cluster_client_with(&options);
}

/* Send messages one by one; each costs this many scripts. */
static void send_into_sleep(smq_client *sender, const char *topic, struct handler_log *log,
                            int scripts)
{
    enum { COUNT = 20 };
    int64_t before = keys_scripts_run();

    for (int i = 0; i < COUNT; i++) {
        send_and_await(sender, topic, log);
    }
    assert_int_equal(keys_scripts_run() - before, scripts * COUNT);
}

static void who_may_not_count_subscribers_pushes_nothing(void **state)
{
    smq_client *admin = cluster_client(), *sender, *consumer;
    struct handler_log *log = handler_log_new(NULL);
    const char *topic = cluster_typed_topic(admin, SMQ_TYPE_FIXED_TIME, 1);
    smq_worker *worker;
    smq_stats stats;

    (void) state;
    add_user("sender", topic);
    add_user("consumer", topic);
    allow("consumer", "ssubscribe");
    allow("consumer", "sunsubscribe");
    sender = client_of("sender");
    consumer = client_of("consumer");
    worker = worker_by_slot(consumer, topic, log);
    await_settled(sender, topic, log);
    send_into_sleep(sender, topic, log, 3);
    allow("sender", "pubsub|shardnumsub");
    send_into_sleep(sender, topic, log, 2);
    stats = messages_stats(admin, topic);
    assert_int_equal(stats.done, handler_log_count(log));
    assert_int_equal(stats.lease_lost, 0);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(consumer);
    smq_client_free(sender);
    smq_client_free(admin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushed_message_costs_two_scripts),
        cmocka_unit_test(no_more_slots_are_open_than_the_worker_says),
        cmocka_unit_test(surplus_is_returned_with_its_attempts),
        cmocka_unit_test(order_of_fifo_holds),
        cmocka_unit_test(who_may_not_count_subscribers_pushes_nothing),
    };

    return cmocka_run_group_tests(tests, cluster_start_masters, cluster_end);
}
