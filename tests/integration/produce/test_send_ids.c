/* test_send_ids.c - sends whose replies come late or never, while a worker handles what is stored:
 * nothing is stored twice or handled twice, in both layouts. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/long_form.h"
#include "support/proxy.h"
#include "support/wait.h"

enum { SLOTS = 4, SOME = 150 };

/* A producer behind a proxy, which soon repeats; its worker is not behind it. */
struct wire {
    smq_client *direct, *behind;
    struct proxy *proxy;
    struct handler_log *log;
    smq_consumer *worker;
    smq_producer *producer;
    redisContext *redis;
    const char *topic;
    int sent;
    int ok, merged; /* receipts; on smq:call, read after a flush */
    uint64_t reconnects;
    atomic_int disconnects; /* events */
    int disconnected;
};

/* Thread: smq:call. */
static void on_event(const smq_event *event, void *user)
{
    struct wire *wire = user;

    if (event->kind == SMQ_EVENT_DISCONNECTED) {
        atomic_fetch_add(&wire->disconnects, 1);
    }
}

static void wire_init(struct wire *wire, smq_layout layout)
{
    smq_producer_options send = SMQ_PRODUCER_OPTIONS(.send_timeout_ms = TIMEOUT_MS);
    smq_topic_options topic =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .layout = layout, .slots = SLOTS);
    memset(wire, 0, sizeof(*wire));
    wire->direct = cluster_client();
    wire->redis = keys_connect();
    wire->topic = cluster_topic(wire->direct, &topic);
    wire->proxy = proxy_start(server_port(servers_node(cluster_servers(), 0)));
    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.redis = proxy_address(wire->proxy),
                           .request_timeout_ms = long_form(SIZE_REQUEST_TIMEOUT_MS),
                           .event = on_event, .event_user = wire);
    wire->behind = cluster_client_with(&options);
    wire->producer = messages_producer(wire->behind, &send);
    wire->log = handler_log_new(NULL);
    wire->worker = handler_log_worker(wire->direct, wire->topic, wire->log);
}

static void wire_fini(struct wire *wire)
{
    handler_log_stop_worker(wire->worker);
    smq_producer_free(wire->producer);
    smq_client_free(wire->behind);
    proxy_stop(wire->proxy);
    handler_log_free(wire->log);
    redisFree(wire->redis);
    smq_client_free(wire->direct);
}

/* Thread: smq:call. */
static void on_sent(const smq_receipt *receipt, void *user)
{
    struct wire *wire = user;

    wire->ok += receipt->status == SMQ_OK;
    wire->merged += receipt->merged;
}

static void send_some(struct wire *wire, int count)
{
    for (int i = 0; i < count; i++) {
        char body[32];
        smq_message message;
        smq_error err;

        snprintf(body, sizeof(body), "%d", wire->sent++);
        message = messages_text(body);
        assert_ok(smq_send_async(wire->producer, wire->topic, &message, on_sent, wire, &err), &err);
    }
}

static uint64_t reconnects_of(struct wire *wire)
{
    smq_metrics metrics = SMQ_METRICS_INIT;
    smq_error err;

    assert_ok(smq_client_metrics(wire->behind, &metrics, &err), &err);
    return metrics.reconnects;
}

static bool has_kept(void *arg)
{
    const struct wire *wire = arg;

    return proxy_has_kept(wire->proxy);
}

/* The producer has given up a connection, and with it the replies to its requests. */
static bool has_disconnected(void *arg)
{
    struct wire *wire = arg;

    return atomic_load(&wire->disconnects) > wire->disconnected;
}

static void await_disconnect(struct wire *wire)
{
    assert_true(wait_until(has_disconnected, wire, TIMEOUT_MS));
}

/* It has a new one, on which it repeats them. */
static bool has_reconnected(void *arg)
{
    struct wire *wire = arg;

    return reconnects_of(wire) > wire->reconnects;
}

static void await_reconnect(struct wire *wire)
{
    wire->reconnects = reconnects_of(wire);
    assert_true(wait_until(has_reconnected, wire, TIMEOUT_MS));
}

static void assert_each_once(struct wire *wire)
{
    static bool handled[HANDLER_LOG_MAX];
    smq_error err;
    smq_stats stats;

    assert_ok(smq_producer_flush(wire->producer, TIMEOUT_MS, &err), &err);
    assert_int_equal(wire->ok, wire->sent);
    assert_int_equal(wire->merged, 0);
    messages_await_counts(wire->direct, wire->topic,
                          (struct message_counts){.waiting = 0, .claimed = 0, .done = -1});
    stats = messages_stats(wire->direct, wire->topic);
    assert_int_equal(stats.sent, wire->sent);
    assert_int_equal(stats.merged, 0);
    assert_int_equal(stats.done, wire->sent);
    memset(handled, 0, sizeof(handled));
    for (int i = 0; i < handler_log_count(wire->log); i++) {
        int number = atoi(handler_log_seen(wire->log, i).body);

        assert_false(handled[number]);
        handled[number] = true;
    }
    assert_int_equal(handler_log_count(wire->log), wire->sent);
}

static bool has_handled_some(void *arg)
{
    struct wire *wire = arg;

    return handler_log_count(wire->log) > wire->sent - SOME;
}

/* Redis accepts requests and executes none, for longer than the producer waits for replies. */
static void pause_redis(struct wire *wire)
{
    redisReply *reply = redisCommand(wire->redis, "CLIENT PAUSE %d WRITE", TIMEOUT_MS);

    assert_non_null(reply);
    assert_string_equal(reply->str, "OK");
    freeReplyObject(reply);
}

static void resume_redis(struct wire *wire)
{
    freeReplyObject(redisCommand(wire->redis, "CLIENT UNPAUSE"));
}

/* The producer repeats its requests while Redis has not executed them. */
static void pause_for_repeats(struct wire *wire)
{
    int64_t begin_ms = clock_wall_ms();

    pause_redis(wire);
    send_some(wire, SOME);
    await_reconnect(wire);
    await_reconnect(wire);
    messages_await_clock(begin_ms + long_form(SIZE_PAUSE_MS));
    resume_redis(wire);
}

/* Redis executes requests that the producer has given up, and messages are handled, before the
 * producer repeats them. */
static void pause_for_late_ones(struct wire *wire)
{
    int64_t begin_ms = clock_wall_ms();

    pause_redis(wire);
    wire->disconnected = atomic_load(&wire->disconnects);
    proxy_hold(wire->proxy);
    send_some(wire, SOME);
    await_disconnect(wire);
    messages_await_clock(begin_ms + long_form(SIZE_PAUSE_MS));
    resume_redis(wire);
    assert_true(wait_until(has_handled_some, wire, TIMEOUT_MS));
    proxy_release(wire->proxy);
}

static void check_pauses(smq_layout layout)
{
    struct wire wire;

    wire_init(&wire, layout);
    for (int i = 0; i < long_form(SIZE_LOST_REPLY_ROUNDS); i++) {
        send_some(&wire, SOME);
        pause_for_repeats(&wire);
        assert_each_once(&wire);
        pause_for_late_ones(&wire);
        assert_each_once(&wire);
    }
    wire_fini(&wire);
}

static void a_pause_of_redis_repeats_nothing_inline(void **state)
{
    check_pauses(SMQ_LAYOUT_INLINE);
}

static void a_pause_of_redis_repeats_nothing_keyed(void **state)
{
    check_pauses(SMQ_LAYOUT_KEYED);
}

/* The network loses replies to requests that are executed, and messages that are handled. */
static void lose_replies(struct wire *wire)
{
    wire->disconnected = atomic_load(&wire->disconnects);
    proxy_hold(wire->proxy);
    send_some(wire, SOME);
    assert_true(wait_until(has_kept, wire, TIMEOUT_MS));
    assert_true(wait_until(has_handled_some, wire, TIMEOUT_MS));
    proxy_silence(wire->proxy);
    await_disconnect(wire);
    messages_await_clock(clock_wall_ms() + long_form(SIZE_BLACK_HOLE_MS));
    proxy_release(wire->proxy);
}

/* The network loses everything; in the end all of it arrives: requests that were given up, and
 * their repeats. */
static void delay_requests(struct wire *wire)
{
    wire->disconnected = atomic_load(&wire->disconnects);
    proxy_silence(wire->proxy);
    send_some(wire, SOME);
    await_disconnect(wire);
    messages_await_clock(clock_wall_ms() + long_form(SIZE_BLACK_HOLE_MS));
    proxy_release(wire->proxy);
}

static void check_black_holes(smq_layout layout)
{
    struct wire wire;

    wire_init(&wire, layout);
    for (int i = 0; i < long_form(SIZE_LOST_REPLY_ROUNDS); i++) {
        send_some(&wire, SOME);
        assert_each_once(&wire);
        lose_replies(&wire);
        assert_each_once(&wire);
        delay_requests(&wire);
        assert_each_once(&wire);
    }
    wire_fini(&wire);
}

static void a_black_hole_repeats_nothing_inline(void **state)
{
    check_black_holes(SMQ_LAYOUT_INLINE);
}

static void a_black_hole_repeats_nothing_keyed(void **state)
{
    check_black_holes(SMQ_LAYOUT_KEYED);
}

/* Requests arrive and are executed, but each reply comes later than the producer waits for it. */
static void delay_replies(struct wire *wire)
{
    wire->disconnected = atomic_load(&wire->disconnects);
    proxy_delay(wire->proxy, long_form(SIZE_REQUEST_TIMEOUT_MS) * 3 / 4);
    send_some(wire, SOME);
    await_disconnect(wire);
    assert_true(wait_until(has_handled_some, wire, TIMEOUT_MS));
    proxy_delay(wire->proxy, 0);
}

static void check_slow_networks(smq_layout layout)
{
    struct wire wire;

    wire_init(&wire, layout);
    for (int i = 0; i < long_form(SIZE_LOST_REPLY_ROUNDS); i++) {
        send_some(&wire, SOME);
        assert_each_once(&wire);
        delay_replies(&wire);
        assert_each_once(&wire);
    }
    wire_fini(&wire);
}

static void a_slow_network_repeats_nothing_inline(void **state)
{
    check_slow_networks(SMQ_LAYOUT_INLINE);
}

static void a_slow_network_repeats_nothing_keyed(void **state)
{
    check_slow_networks(SMQ_LAYOUT_KEYED);
}

TEST_GROUP(send_ids)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pause_of_redis_repeats_nothing_inline),
        cmocka_unit_test(a_pause_of_redis_repeats_nothing_keyed),
        cmocka_unit_test(a_black_hole_repeats_nothing_inline),
        cmocka_unit_test(a_black_hole_repeats_nothing_keyed),
        cmocka_unit_test(a_slow_network_repeats_nothing_inline),
        cmocka_unit_test(a_slow_network_repeats_nothing_keyed),
    };

    return cmocka_run_group_tests(tests, cluster_start_single, cluster_end);
}
