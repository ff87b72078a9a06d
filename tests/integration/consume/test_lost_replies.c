/* test_lost_replies.c - replies that are late or lost between a worker and Redis, at named points.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/waiter.h"
#include "consume/consumer/consumer.h"
#include "consume/slot/owned_slot.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/proxy.h"
#include "support/wait.h"

/* A worker behind a proxy; what the test sends goes straight to Redis.  It claims itself, unless a
 * test says that sends may claim for it. */
struct wire {
    smq_client *direct, *behind;
    struct proxy *proxy;
    struct handler_log *log;
    smq_consumer *worker;
    redisContext *redis;
    const char *topic;
    char slot[64], prepare[64], wake[64];
};

/* One message at a time: tests hold back the replies to certain calls, and with room for more there
 * is another call when a handler takes more than a moment. */
static void wire_init_with(struct wire *wire, int64_t max_messages, int32_t push_slots)
{
    smq_topic_options topic = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME);
    *wire = (struct wire){.direct = cluster_client(), .redis = keys_connect()};
    wire->topic = cluster_topic(wire->direct, &topic);
    snprintf(wire->slot, sizeof(wire->slot), "slot{%s_0}", wire->topic);
    snprintf(wire->prepare, sizeof(wire->prepare), "prepare{%s_0}", wire->topic);
    snprintf(wire->wake, sizeof(wire->wake), "wake{%s_0}", wire->topic);
    wire->proxy = proxy_start(server_port(servers_node(cluster_servers(), 0)));
    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.redis = proxy_address(wire->proxy), .request_timeout_ms = 60000);
    wire->behind = cluster_client_with(&options);
    wire->log = handler_log_new(NULL);
    smq_consumer_options work =
        SMQ_CONSUMER_OPTIONS(.max_in_flight = 1, .max_messages = max_messages,
                             .push_slots = push_slots);
    wire->worker = handler_log_worker_with(wire->behind, &work, wire->topic, wire->log);
}

static void wire_init(struct wire *wire, int64_t max_messages)
{
    wire_init_with(wire, max_messages, SMQ_NONE);
}

static void wire_fini(struct wire *wire)
{
    handler_log_stop_worker(wire->worker);
    smq_client_free(wire->behind);
    proxy_stop(wire->proxy);
    handler_log_free(wire->log);
    redisFree(wire->redis);
    smq_client_free(wire->direct);
}

static void await(wait_condition *condition, struct wire *wire, const char *what)
{
    if (!wait_until(condition, wire, TIMEOUT_MS)) {
        fail_msg("it never came to this: %s", what);
    }
}

static bool is_parked(void *arg)
{
    struct wire *wire = arg;

    return keys_has_field(wire->redis, wire->slot, "parked");
}

static bool is_subscribed(void *arg)
{
    struct wire *wire = arg;
    redisReply *reply = redisCommand(wire->redis, "PUBSUB SHARDNUMSUB %s", wire->wake);
    bool subscribed = reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                      reply->element[1]->integer == 1;

    freeReplyObject(reply);
    return subscribed;
}

static bool has_kept(void *arg)
{
    struct wire *wire = arg;

    return proxy_has_kept(wire->proxy);
}

/* --- what the slot knows, asked on its own thread --- */

struct question {
    struct loop_task task;
    struct waiter waiter;
    smq_consumer *worker;
    bool idle, consuming, woken;
};

static void on_question(struct loop_task *task)
{
    struct question *question = (struct question *) task; /* its first member */
    const struct owned_slot *slot = question->worker->set.slots[0];

    question->consuming = slot != NULL && slot->consuming != NULL;
    /* by a notice, or by a push */
    question->woken =
        question->consuming && (slot->notice != OWNED_UNNOTICED || slot->unanswered > 0);
    /* the answer to its subscription makes the slot look once more */
    question->idle = question->worker->set.subscribed && slot != NULL &&
                     slot->state == OWNED_ACTIVE && !question->consuming &&
                     slot->notice == OWNED_UNNOTICED && slot->store == NEXT_CALL_EMPTY;
    waiter_done(&question->waiter);
}

static struct question ask(struct wire *wire)
{
    struct question question = {.task.run = on_question, .worker = wire->worker};

    waiter_init(&question.waiter, 1);
    loop_post(wire->worker->set.core->io, &question.task);
    (void) waiter_wait(&question.waiter, SMQ_FOREVER);
    waiter_fini(&question.waiter);
    return question;
}

static bool strand_is_idle(void *arg)
{
    return ask(arg).idle;
}

static bool strand_was_woken(void *arg)
{
    return ask(arg).woken;
}

/* Parked in Redis, subscribed, and nothing in flight. */
static void await_rest(struct wire *wire)
{
    await(is_subscribed, wire, "subscribed");
    await(strand_is_idle, wire, "idle");
    await(is_parked, wire, "parked");
}

static struct test_message message(const char *body)
{
    return (struct test_message){.body = body};
}

/* --- the tests --- */

static void wake_up_that_overtakes_the_parking_reply_is_not_missed(void **state)
{
    struct wire wire;

    wire_init(&wire, 0);
    await_rest(&wire);
    handler_log_gate(wire.log);
    messages_send(wire.direct, wire.topic, message("first"));
    handler_log_await(wire.log, 1);
    assert_false(is_parked(&wire));
    proxy_hold(wire.proxy);
    handler_log_open(wire.log, 2);
    await(is_parked, &wire, "the answer settled and the slot parked");
    await(has_kept, &wire, "the parking reply held back");
    messages_send(wire.direct, wire.topic, message("second"));
    await(strand_was_woken, &wire, "woken before the reply came");
    assert_int_equal(handler_log_count(wire.log), 1);
    proxy_release(wire.proxy);
    handler_log_await(wire.log, 2);
    assert_string_equal(handler_log_seen(wire.log, 1).body, "second");
    messages_await_counts(wire.direct, wire.topic, (struct message_counts){.done = 2});
    wire_fini(&wire);
}

static bool has_claimed(void *arg)
{
    struct wire *wire = arg;

    return keys_read_number(wire->redis, "HGET %s claims", wire->slot) == 1;
}

/* The worker has claimed message "a", and does not get the reply. */
static void hold_claim_back(struct wire *wire)
{
    await_rest(wire);
    proxy_hold(wire->proxy);
    messages_send(wire->direct, wire->topic, message("a"));
    await(has_claimed, wire, "claimed");
    await(has_kept, wire, "the reply held back");
}

static void claims_of_a_lost_reply_are_handed_over_again(void **state)
{
    struct wire wire;
    smq_stats stats;

    wire_init(&wire, 0);
    hold_claim_back(&wire);
    assert_false(
        messages_send(wire.direct, wire.topic, message("a"))); /* the same, in the meantime */
    proxy_cut(wire.proxy);
    handler_log_await(wire.log, 2);
    messages_await_counts(wire.direct, wire.topic, (struct message_counts){.done = 2});
    assert_int_equal(handler_log_count(wire.log), 2);
    assert_int_equal(handler_log_seen(wire.log, 0).attempt, 1);
    assert_int_equal(handler_log_seen(wire.log, 1).attempt, 1);
    stats = messages_stats(wire.direct, wire.topic);
    assert_int_equal(stats.lease_lost, 0);
    assert_int_equal(stats.retried, 0);
    wire_fini(&wire);
}

/* The only claim, as if its lease had ended in 1970. */
static void end_lease(struct wire *wire)
{
    static const char script[] = "local entry = redis.call('ZRANGE', KEYS[1], 0, 0)[1] "
                                 "redis.call('ZADD', KEYS[1], 1, entry) "
                                 "return redis.call('HSET', KEYS[2], 'claimed_until', 1)";
    redisReply *reply =
        redisCommand(wire->redis, "EVAL %s 2 %s %s", script, wire->prepare, wire->slot);

    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    freeReplyObject(reply);
}

/* They stay the owner's, as what it has in flight does. */
static void claims_of_a_lost_reply_outlast_their_leases(void **state)
{
    struct wire wire;

    wire_init(&wire, 0);
    hold_claim_back(&wire);
    end_lease(&wire);
    proxy_cut(wire.proxy);
    messages_await_counts(wire.direct, wire.topic, (struct message_counts){.done = 1});
    assert_int_equal(handler_log_count(wire.log), 1);
    assert_int_equal(handler_log_seen(wire.log, 0).attempt, 1);
    assert_int_equal(messages_stats(wire.direct, wire.topic).lease_lost, 0);
    wire_fini(&wire);
}

/* The limit falls while a claim is on its way: what it brings is given back, as if it had never
 * been claimed. */
static void claims_of_a_late_reply_are_within_the_limit(void **state)
{
    struct wire wire;

    wire_init(&wire, 0);
    hold_claim_back(&wire);
    assert_int_equal(smq_consumer_set_max_in_flight(wire.worker, 0, NULL), SMQ_OK);
    (void) ask(&wire); /* it knows the limit */
    proxy_release(wire.proxy);
    messages_await_counts(wire.direct, wire.topic, (struct message_counts){.waiting = 1});
    assert_int_equal(handler_log_count(wire.log), 0);
    assert_int_equal(messages_stats(wire.direct, wire.topic).released, 1);
    assert_int_equal(smq_consumer_set_max_in_flight(wire.worker, 1, NULL), SMQ_OK);
    messages_await_counts(wire.direct, wire.topic, (struct message_counts){.done = 1});
    assert_int_equal(handler_log_seen(wire.log, 0).attempt, 1);
    wire_fini(&wire);
}

static bool nothing_is_claimed(void *arg)
{
    struct wire *wire = arg;

    return keys_read_number(wire->redis, "ZCARD %s", wire->prepare) == 1;
}

static void answers_of_a_lost_reply_are_settled_once(void **state)
{
    struct wire wire;
    smq_error err = SMQ_ERROR_INIT;

    wire_init(&wire, 2);
    await_rest(&wire);
    handler_log_gate(wire.log);
    messages_send(wire.direct, wire.topic, message("a"));
    handler_log_await(wire.log, 1);
    proxy_hold(wire.proxy);
    handler_log_open(wire.log, 2);
    await(nothing_is_claimed, &wire, "settled");
    await(has_kept, &wire, "the reply held back");
    proxy_cut(wire.proxy);
    messages_send(wire.direct, wire.topic, message("b"));
    handler_log_await(wire.log, 2);
    messages_await_counts(wire.direct, wire.topic, (struct message_counts){.done = 2});
    assert_int_equal(handler_log_count(wire.log), 2);
    /* both count as answered: the worker ends by itself */
    assert_ok(smq_consumer_wait(wire.worker, TIMEOUT_MS, &err), &err);
    wire_fini(&wire);
}

static bool has_come(void *arg)
{
    const int64_t *at_ms = arg;

    return clock_wall_ms() >= *at_ms;
}

/* The owner is cut off longer than its leases last: what it has in flight stays its own. */
static void lapsed_leases_stay_with_their_owner(void **state)
{
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    redisContext *redis = keys_connect();
    struct server *server = servers_node(cluster_servers(), 0);
    smq_consumer *worker;
    const char *name;
    int64_t until;

    smq_topic_options topic = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .lease_ms = 100);
    name = cluster_topic(client, &topic);
    handler_log_gate(log);
    messages_send(client, name, message("a"));
    worker = handler_log_worker(client, name, log);
    handler_log_await(log, 1);
    server_pause(server);
    until = clock_wall_ms() + 1000;
    assert_true(wait_until(has_come, &until, TIMEOUT_MS));
    server_resume(server);
    assert_int_equal(smq_delivery_check(handler_log_seen(log, 0).delivery), SMQ_OK);
    handler_log_open(log, 1);
    messages_await_counts(client, name, (struct message_counts){.done = 1});
    assert_int_equal(handler_log_count(log), 1);
    assert_int_equal(messages_stats(client, name).lease_lost, 0);
    handler_log_stop_worker(worker);
    redisFree(redis);
    handler_log_free(log);
    smq_client_free(client);
}

/* Another owner takes the slot with a larger token: the answer of the former owner changes nothing.
 */
static void late_answer_of_a_former_owner_is_fenced(void **state)
{
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    redisContext *redis = keys_connect();
    smq_consumer *worker;
    const char *name;
    char key[64];
    struct seen first;
    smq_delivery *delivery;

    smq_topic_options topic = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME);
    topic.lease_ms = 200; /* its renewal meets the other token */
    name = cluster_topic(client, &topic);
    snprintf(key, sizeof(key), "slot{%s_0}", name);
    handler_log_gate(log);
    messages_send(client, name, message("a"));
    worker = handler_log_worker(client, name, log);
    handler_log_await(log, 1);
    first = handler_log_seen(log, 0);
    delivery = first.delivery;
    freeReplyObject(redisCommand(redis, "HSET %s token 0000000200000000000000ff", key));
    messages_await_check(delivery, SMQ_FENCED);
    handler_log_open(log, 1);
    /* the worker's own takeovers are refused: nothing of the slot changes */
    assert_int_equal(messages_stats(client, name).claimed, 1);
    assert_int_equal(messages_stats(client, name).done, 0);
    handler_log_stop_worker(worker);
    assert_int_equal(messages_stats(client, name).claimed, 1);
    redisFree(redis);
    handler_log_free(log);
    smq_client_free(client);
}

static void assert_kept_its_slot(const struct wire *wire)
{
    smq_metrics metrics = SMQ_METRICS_INIT;
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_client_metrics(wire->behind, &metrics, &err), &err);
    assert_int_equal(metrics.fenced, 0);
    assert_int_equal(metrics.slots_owned, 1);
}

/* A failover that forgot the takeover: the stored token is an older one.  There is no newer owner:
 * the slot stays where it is, and no process is reported as fenced. */
static void takes_over_again(int32_t push_slots)
{
    struct wire wire;

    wire_init_with(&wire, 0, push_slots);
    await_rest(&wire);
    freeReplyObject(redisCommand(wire.redis, "HSET %s token 000000000000000000000000", wire.slot));
    messages_send(wire.direct, wire.topic, message("a"));
    handler_log_await(wire.log, 1);
    messages_await_counts(wire.direct, wire.topic, (struct message_counts){.done = 1});
    assert_kept_its_slot(&wire);
    wire_fini(&wire);
}

static void owner_takes_over_again_when_redis_has_lost_its_token(void **state)
{
    takes_over_again(SMQ_NONE);
}

/* The send claims for the owner of that token. */
static void a_push_for_a_former_owner_makes_the_owner_take_over_again(void **state)
{
    takes_over_again(1);
}

/* The same while a handler runs: its claim is returned by the takeover, and is handled again. */
static void a_claim_is_handled_again_when_redis_has_lost_the_token(void **state)
{
    struct wire wire;

    wire_init(&wire, 0);
    await_rest(&wire);
    handler_log_gate(wire.log);
    messages_send(wire.direct, wire.topic, message("a"));
    handler_log_await(wire.log, 1);
    freeReplyObject(redisCommand(wire.redis, "HSET %s token 000000000000000000000000", wire.slot));
    handler_log_open(wire.log, 2);
    handler_log_await(wire.log, 2);
    assert_string_equal(handler_log_seen(wire.log, 1).body, "a");
    messages_await_counts(wire.direct, wire.topic, (struct message_counts){.done = 1});
    assert_kept_its_slot(&wire);
    wire_fini(&wire);
}

/* The entry of the only message in flight. */
static char *entry_of_claim(const struct wire *wire)
{
    redisReply *reply = redisCommand(wire->redis, "ZRANGE prepare{%s_0} 0 0", wire->topic);
    char *entry;

    assert_non_null(reply);
    assert_int_equal(reply->elements, 1);
    entry = strdup(reply->element[0]->str);
    assert_non_null(entry);
    freeReplyObject(reply);
    return entry;
}

/* A failover that forgot an answer: the message is claimed by an owner that has it no more.  It is
 * handled again when its lease has ended, although the owner stays. */
/* Its claim is there again, with a lease until then. */
static void is_handled_again(int64_t until)
{
    struct wire wire;

    wire_init(&wire, 0);
    await_rest(&wire);
    handler_log_gate(wire.log);
    messages_send(wire.direct, wire.topic, message("a"));
    handler_log_await(wire.log, 1);
    char *entry = entry_of_claim(&wire);
    handler_log_open(wire.log, 3);
    messages_await_counts(wire.direct, wire.topic, (struct message_counts){.done = 1});
    freeReplyObject(redisCommand(wire.redis, "ZADD prepare{%s_0} %lld %s", wire.topic,
                                 (long long) until, entry));
    messages_send(wire.direct, wire.topic, message("b"));
    handler_log_await(wire.log, 3);
    messages_await_counts(wire.direct, wire.topic, (struct message_counts){.done = 3});
    assert_int_equal(handler_log_seen(wire.log, 2).attempt, 1);
    assert_int_equal(messages_stats(wire.direct, wire.topic).lease_lost, 1);
    assert_kept_its_slot(&wire);
    free(entry);
    wire_fini(&wire);
}

static void a_message_is_handled_again_when_redis_has_lost_its_answer(void **state)
{
    is_handled_again(1);
}

static void it_does_not_wait_for_the_end_of_its_lease(void **state)
{
    is_handled_again(clock_wall_ms() + 3600000);
}

/* --- a slow Redis --- */

enum { BUSY_SLOTS = 64, BUSY_KEYS = 512, ALONE = 16, ONE_WAY_MS = 20, BOUND = 16 };

static void send_keys(smq_producer *producer, const char *topic)
{
    char key[16];
    smq_error err;

    for (int i = 0; i < BUSY_KEYS; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        smq_message message = messages_text(key);
        message.key = message.body;
        assert_ok(smq_send_async(producer, topic, &message, NULL, NULL, &err), &err);
    }
}

static int64_t scripts_before;

static bool are_in_flight(void *arg)
{
    (void) arg;
    return keys_scripts_run() - scripts_before >= BOUND;
}

/* Each slot has messages in both waves, so without a bound each sends twice: its first request is
 * in flight when the second wave comes. */
static void a_slow_redis_is_given_larger_requests(void **state)
{
    smq_client *direct = cluster_client();
    smq_topic_options options = SMQ_TOPIC_OPTIONS(.slots = BUSY_SLOTS);
    const char *topic = cluster_topic(direct, &options);
    struct proxy *proxy = proxy_start(server_port(servers_node(cluster_servers(), 0)));
    smq_client *behind = cluster_client_with(&SMQ_CLIENT_OPTIONS(.redis = proxy_address(proxy)));
    smq_producer *producer = messages_producer(behind, NULL);
    struct handler_log *log = handler_log_new(NULL);
    const smq_message alone = messages_text("alone");
    smq_consumer *worker;
    int64_t scripts;

    for (int i = 0; i < 2 * ALONE; i++) { /* as fast as ever, and then slower */
        if (i == ALONE) {
            proxy_delay(proxy, ONE_WAY_MS);
        }
        messages_send_by(producer, topic, &alone);
    }
    proxy_hold(proxy);
    scripts_before = keys_scripts_run();
    send_keys(producer, topic);
    await(are_in_flight, NULL, "as many requests in flight as may be");
    send_keys(producer, topic);
    proxy_release(proxy);
    assert_int_equal(smq_producer_flush(producer, TIMEOUT_MS, NULL), SMQ_OK);
    scripts = keys_scripts_run() - scripts_before;
    print_message("%d scripts sent %d messages\n", (int) scripts, 2 * BUSY_KEYS);
    assert_in_range(scripts, BUSY_SLOTS, BUSY_SLOTS + 2 * BOUND);

    proxy_delay(proxy, 0);
    worker = handler_log_worker(behind, topic, log);
    messages_await_counts(direct, topic,
                          (struct message_counts){.done = 2 * BUSY_KEYS + 2 * ALONE});
    assert_int_equal(handler_log_count(log), 2 * BUSY_KEYS + 2 * ALONE);
    handler_log_stop_worker(worker);
    smq_producer_free(producer);
    smq_client_free(behind);
    smq_client_free(direct);
    proxy_stop(proxy);
    handler_log_free(log);
}

TEST_GROUP(lost_replies)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wake_up_that_overtakes_the_parking_reply_is_not_missed),
        cmocka_unit_test(claims_of_a_lost_reply_are_handed_over_again),
        cmocka_unit_test(claims_of_a_lost_reply_outlast_their_leases),
        cmocka_unit_test(claims_of_a_late_reply_are_within_the_limit),
        cmocka_unit_test(answers_of_a_lost_reply_are_settled_once),
        cmocka_unit_test(lapsed_leases_stay_with_their_owner),
        cmocka_unit_test(late_answer_of_a_former_owner_is_fenced),
        cmocka_unit_test(owner_takes_over_again_when_redis_has_lost_its_token),
        cmocka_unit_test(a_push_for_a_former_owner_makes_the_owner_take_over_again),
        cmocka_unit_test(a_claim_is_handled_again_when_redis_has_lost_the_token),
        cmocka_unit_test(a_message_is_handled_again_when_redis_has_lost_its_answer),
        cmocka_unit_test(a_slow_redis_is_given_larger_requests),
        cmocka_unit_test(it_does_not_wait_for_the_end_of_its_lease),
    };

    return cmocka_run_group_tests(tests, cluster_start_single, cluster_end);
}
