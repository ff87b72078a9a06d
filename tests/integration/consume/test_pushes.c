/* test_pushes.c - sends that claim for a worker with idle slots: they need one script less, and
 * every limit of the worker holds. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "model/slot.h"
#include "support/group.h"

enum { SLOTS = 16, KEYS_PER_SLOT = 2, CLOCK_MS = 2, BURST_MS = 100 };

/* --- the tests --- */

/* One message at a time, for tests that count scripts: with room for more the owner looks again
 * when a handler takes more than a moment, and on a busy machine each may. */
static smq_consumer *worker_of_one(smq_client *client, const char *topic, struct handler_log *log)
{
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.max_in_flight = 1, .push_slots = 1);
    return handler_log_worker_with(client, &options, topic, log);
}

static smq_consumer *worker_of(smq_client *client, const char *topic, struct handler_log *log,
                               int32_t max_in_flight, int32_t push_slots)
{
    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.max_in_flight = max_in_flight, .push_slots = push_slots);
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

/* A member also keeps its session, in a tree that may be on the same server. */
static void assert_scripts(int64_t ran, int expected)
{
    assert_in_range(ran, expected, expected + expected / 8);
}

static void pushed_message_costs_two_scripts(void **state)
{
    enum { COUNT = 50 };
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
    smq_consumer *worker = worker_of_one(client, topic, log);
    int64_t before;
    smq_stats stats;

    await_settled(client, topic, log);
    before = keys_scripts_run();
    for (int i = 0; i < COUNT; i++) {
        send_and_await(client, topic, log);
    }
    assert_scripts(keys_scripts_run() - before, 2 * COUNT);
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
    smq_consumer *worker = worker_of(client, topic, log, 0, 3);

    keys_await_open(topic, SLOTS, 3);
    messages_send_numbers(client, topic, 0, 200);
    handler_log_await(log, 200);
    keys_await_open(topic, SLOTS, 3);
    handler_log_stop_worker(worker);
    keys_await_open(topic, SLOTS, 0);
    handler_log_free(log);
    smq_client_free(client);
}

/* --- every limit holds ---------------------------------------------------------------------- */

/* The key number `number` of those of a slot. */
static void key_in(char *out, size_t size, int32_t slots, int32_t slot, int number)
{
    for (int i = 0; number >= 0; i++) {
        snprintf(out, size, "k%d", i);
        number -= slot_of_key(out, strlen(out), slots) == slot ? 1 : 0;
    }
}

static void send_into(smq_client *client, const char *topic, int32_t slots, int32_t slot,
                      int number)
{
    char key[16], body[32];

    key_in(key, sizeof(key), slots, slot, number % KEYS_PER_SLOT);
    snprintf(body, sizeof(body), "%s %d", key, number);
    messages_send(client, topic, (struct test_message){.key = key, .body = body});
}

/* All slots are open, and each gets a message. */
static void push_into_each(smq_client *client, const char *topic, int32_t slots)
{
    int64_t before;

    keys_await_open(topic, slots, slots);
    before = keys_pushes();
    for (int i = 0; i < slots; i++) {
        send_into(client, topic, slots, i, 0);
    }
    assert_int_equal(keys_pushes() - before, slots);
}

/* Nobody noticed that some were claimed more than once. */
static void check_first_attempts(smq_client *client, const char *topic, struct handler_log *log,
                                 int count)
{
    smq_stats stats;

    handler_log_await(log, count);
    messages_await_counts(client, topic, (struct message_counts){.done = count});
    assert_int_equal(handler_log_count(log), count);
    for (int i = 0; i < count; i++) {
        assert_int_equal(handler_log_seen(log, i).attempt, 1);
    }
    stats = messages_stats(client, topic);
    assert_int_equal(stats.retried, 0);
    assert_int_equal(stats.lease_lost, 0);
}

/* What of a worker with default options is open at once. */
static void sixty_four_slots_are_pushed_into_at_once(void **state)
{
    enum { OPEN = 64 };
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, OPEN);
    smq_consumer *worker = handler_log_worker(client, topic, log);

    handler_log_gate(log);
    push_into_each(client, topic, OPEN);
    messages_await_counts(client, topic, (struct message_counts){.claimed = OPEN});
    handler_log_open(log, OPEN);
    check_first_attempts(client, topic, log, OPEN);
    assert_int_equal(messages_stats(client, topic).released, 0); /* there was room for all */
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static atomic_int held, most_held;

/* Its answer comes later; until then it is in flight. */
static smq_verdict hold(smq_delivery *delivery, const struct seen *seen, int index)
{
    int now = atomic_fetch_add(&held, 1) + 1, most = atomic_load(&most_held);

    (void) delivery;
    (void) seen;
    (void) index;
    while (now > most && !atomic_compare_exchange_weak(&most_held, &most, now)) {
    }
    return SMQ_LATER;
}

/* However many come at once, there are never more than two without an answer. */
static void surplus_is_returned_with_its_attempts(void **state)
{
    enum { MOST = 2, ROUNDS = 4 };
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(hold);
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.threads = 4, .push_slots = SLOTS);
    smq_consumer *worker;

    options.max_in_flight = MOST;
    worker = handler_log_worker_with(client, &options, topic, log);
    push_into_each(client, topic, SLOTS);
    for (int i = 1; i < ROUNDS; i++) {
        for (int j = 0; j < SLOTS; j++) {
            send_into(client, topic, SLOTS, j, i);
        }
    }
    for (int i = 0; i < ROUNDS * SLOTS; i++) {
        handler_log_await(log, i + 1);
        atomic_fetch_sub(&held, 1);
        messages_done(handler_log_seen(log, i).delivery);
    }
    check_first_attempts(client, topic, log, ROUNDS * SLOTS);
    assert_int_equal(atomic_load(&most_held), MOST);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void worker_of_seven_messages_handles_seven(void **state)
{
    enum { MOST = 7 };
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.max_messages = MOST, .push_slots = SLOTS);
    smq_error err = SMQ_ERROR_INIT;
    smq_consumer *worker = handler_log_worker_with(client, &options, topic, log);

    handler_log_gate(log);
    push_into_each(client, topic, SLOTS);
    handler_log_open(log, SLOTS);
    assert_ok(smq_consumer_wait(worker, TIMEOUT_MS, &err), &err); /* it stops by itself */
    assert_int_equal(handler_log_count(log), MOST);
    messages_await_counts(client, topic,
                          (struct message_counts){.waiting = SLOTS - MOST, .done = MOST});
    handler_log_stop_worker(worker);
    worker = worker_of(client, topic, log, 0, SLOTS);
    handler_log_open(log, SLOTS);
    check_first_attempts(client, topic, log, SLOTS);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* No message begins earlier than the rate allows. */
static void rate_holds(void **state)
{
    enum { RATE = 20 };
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.rate_per_s = RATE, .push_slots = SLOTS);
    smq_consumer *worker = handler_log_worker_with(client, &options, topic, log);
    int64_t began;

    keys_await_open(topic, SLOTS, SLOTS);
    began = clock_wall_ms();
    push_into_each(client, topic, SLOTS);
    check_first_attempts(client, topic, log, SLOTS);
    for (int i = 0; i < SLOTS; i++) {
        assert_true(handler_log_seen(log, i).at_ms - began >=
                    INT64_C(1000) * i / RATE - BURST_MS - CLOCK_MS);
    }
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* Most of what is pushed finds no room and returns; the messages of each key keep their order. */
static void order_of_each_key_holds_with_a_surplus(void **state)
{
    enum { ROUNDS = 20 };
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIFO, SLOTS);
    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.threads = 2, .max_in_flight = 2, .push_slots = SLOTS);
    smq_consumer *worker = handler_log_worker_with(client, &options, topic, log);
    int next[SLOTS][KEYS_PER_SLOT] = {{0}};

    handler_log_gate(log);
    push_into_each(client, topic, SLOTS);
    handler_log_open(log, ROUNDS * SLOTS);
    for (int i = 1; i < ROUNDS; i++) {
        for (int j = 0; j < SLOTS; j++) {
            send_into(client, topic, SLOTS, j, i);
        }
    }
    check_first_attempts(client, topic, log, ROUNDS * SLOTS);
    for (int i = 0; i < ROUNDS * SLOTS; i++) {
        struct seen seen = handler_log_seen(log, i);
        int number = (int) strtol(strchr(seen.body, ' '), NULL, 10);
        int *its = &next[seen.slot][number % KEYS_PER_SLOT];

        assert_int_equal(number / KEYS_PER_SLOT, *its);
        *its += 1;
    }
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* A slow handler has the first; what comes into its slot until then keeps its order. */
static void order_of_fifo_holds(void **state)
{
    enum { COUNT = 200 };
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;
    const char *topic;

    smq_topic_options options = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIFO);
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
            "ACL SETUSER %s reset on >secret ~topic{%s} ~%s_* ~*{%s_* ~tree{slotmq:/slotmq} "
            "&wake{%s_* &tree{slotmq:/slotmq}:* -@all "
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
    char servers[256];

    snprintf(servers, sizeof(servers), "redis://%s:secret@%s", user,
             servers_redis(cluster_servers()));
    smq_client_options options = SMQ_CLIENT_OPTIONS(.redis = servers);
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
    assert_scripts(keys_scripts_run() - before, scripts * COUNT);
}

static void who_may_not_count_subscribers_pushes_nothing(void **state)
{
    smq_client *admin = cluster_client(), *sender, *consumer;
    struct handler_log *log = handler_log_new(NULL);
    const char *topic = cluster_typed_topic(admin, SMQ_TYPE_FIXED_TIME, 1);
    smq_consumer *worker;
    smq_stats stats;

    add_user("sender", topic);
    add_user("consumer", topic);
    allow("consumer", "ssubscribe");
    allow("consumer", "sunsubscribe");
    sender = client_of("sender");
    consumer = client_of("consumer");
    worker = worker_of_one(consumer, topic, log);
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

TEST_GROUP(pushes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushed_message_costs_two_scripts),
        cmocka_unit_test(no_more_slots_are_open_than_the_worker_says),
        cmocka_unit_test(sixty_four_slots_are_pushed_into_at_once),
        cmocka_unit_test(surplus_is_returned_with_its_attempts),
        cmocka_unit_test(worker_of_seven_messages_handles_seven),
        cmocka_unit_test(rate_holds),
        cmocka_unit_test(order_of_each_key_holds_with_a_surplus),
        cmocka_unit_test(order_of_fifo_holds),
        cmocka_unit_test(who_may_not_count_subscribers_pushes_nothing),
    };

    return cmocka_run_group_tests(tests, cluster_start_masters, cluster_end);
}
