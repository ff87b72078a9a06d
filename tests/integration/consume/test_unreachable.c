/* test_unreachable.c - a member of a fleet that Redis does not answer any more: it gives its slots
 * up as soon as its handlers have ended, and gets them back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coord/zookeeper.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/messages.h"
#include "redis/reach.h"
#include "support/group.h"
#include "support/proxy.h"
#include "support/wait.h"

enum { SLOTS = 4, KEYS = 16, SESSION_MS = 10000, DRAIN_MS = 3600000 };

/* Two members; what the first says to Redis goes through a proxy. */
struct stage {
    smq_client *direct, *first, *second;
    struct proxy *proxy;
    struct handler_log *first_log, *second_log;
    smq_consumer *first_worker, *second_worker;
    const char *topic;
};

/* --- what the members say of themselves --- */

static smq_metrics metrics_of(smq_client *client)
{
    smq_metrics metrics = SMQ_METRICS_INIT;
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_client_metrics(client, &metrics, &err), &err);
    return metrics;
}

struct wanted {
    const struct stage *stage;
    uint64_t first, second;
};

static bool slots_are_owned(void *arg)
{
    const struct wanted *wanted = arg;

    return metrics_of(wanted->stage->first).slots_owned == wanted->first &&
           metrics_of(wanted->stage->second).slots_owned == wanted->second;
}

static bool are_unreachable(void *arg)
{
    const struct wanted *wanted = arg;

    return metrics_of(wanted->stage->first).redis_unreachable == wanted->first &&
           metrics_of(wanted->stage->second).redis_unreachable == wanted->second;
}

static void await_slots(const struct stage *stage, uint64_t first, uint64_t second)
{
    struct wanted wanted = {.stage = stage, .first = first, .second = second};

    assert_true(wait_until(slots_are_owned, &wanted, TIMEOUT_MS));
}

static void await_unreachable(const struct stage *stage, uint64_t first, uint64_t second)
{
    struct wanted wanted = {.stage = stage, .first = first, .second = second};

    assert_true(wait_until(are_unreachable, &wanted, TIMEOUT_MS));
}

/* --- two members --- */

static smq_client *start_client(const char *name, const char *redis)
{
    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.name = name, .redis = redis,
                           .zookeeper = servers_zookeeper(cluster_servers()),
                           .session_timeout_ms = SESSION_MS, .request_timeout_ms = 1000);
    return cluster_client_with(&options);
}

static smq_consumer *start_worker(const struct stage *stage, smq_client *client,
                                  struct handler_log *log)
{
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.drain_timeout_ms = DRAIN_MS);
    return handler_log_worker_with(client, &options, stage->topic, log);
}

static int set_up(void **state)
{
    struct stage *stage = calloc(1, sizeof(*stage));

    reach_timings = (struct reach_timings){.tick = 200, .quiet = 400, .idle = 1000, .lost = 2000};
    zookeeper_timings.join = zookeeper_timings.cold = 50;
    zookeeper_timings.missed = 6000;
    zookeeper_timings.hold = 500;
    stage->direct = cluster_client();
    smq_topic_options topic = SMQ_TOPIC_OPTIONS(.slots = SLOTS);
    stage->topic = cluster_topic(stage->direct, &topic);
    stage->proxy = proxy_start(server_port(servers_node(cluster_servers(), 0)));
    stage->first_log = handler_log_new(NULL);
    stage->second_log = handler_log_new(NULL);
    stage->first = start_client("first", proxy_address(stage->proxy));
    stage->second = start_client("second", NULL);
    stage->first_worker = start_worker(stage, stage->first, stage->first_log);
    await_slots(stage, SLOTS, 0);
    stage->second_worker = start_worker(stage, stage->second, stage->second_log);
    await_slots(stage, SLOTS / 2, SLOTS / 2);
    *state = stage;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *stage = *state;

    handler_log_stop_worker(stage->first_worker);
    handler_log_stop_worker(stage->second_worker);
    smq_client_free(stage->first);
    smq_client_free(stage->second);
    smq_client_free(stage->direct);
    proxy_stop(stage->proxy);
    handler_log_free(stage->first_log);
    handler_log_free(stage->second_log);
    free(stage);
    return 0;
}

static void send_all(const struct stage *stage)
{
    char key[16];

    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        messages_send(stage->direct, stage->topic,
                      (struct test_message){.body = key, .key = key, .id = key});
    }
}

static void await_all_done(const struct stage *stage)
{
    messages_await_counts(stage->direct, stage->topic,
                          (struct message_counts){.done = KEYS, .dead = 0});
}

/* With an hour for handlers to end, nothing here waits for a time-out of the drain.  What the cut
 * off handler has done cannot be stored, so it is done again, under a larger token. */
static void its_slots_move_as_soon_as_no_handler_works_on_them(void **state)
{
    struct stage *stage = *state;
    struct seen cut_off, again;
    int index = 0;

    handler_log_gate(stage->first_log);
    send_all(stage);
    handler_log_await(stage->first_log, 1); /* a handler works, and other messages are claimed */
    proxy_silence(stage->proxy);
    await_unreachable(stage, 1, 0);
    await_slots(stage, 1, SLOTS - 1);
    assert_int_equal(handler_log_count(stage->first_log), 1);
    handler_log_open(stage->first_log, 1);
    await_slots(stage, 0, SLOTS);
    await_all_done(stage);

    cut_off = handler_log_seen(stage->first_log, 0);
    do {
        again = handler_log_seen(stage->second_log, index++);
    } while (strcmp(again.body, cut_off.body) != 0);
    assert_int_equal(again.slot, cut_off.slot);
    assert_true(strcmp(again.token, cut_off.token) > 0);

    handler_log_open(stage->first_log, KEYS);
    proxy_release(stage->proxy);
    await_unreachable(stage, 0, 0);
    await_slots(stage, SLOTS / 2, SLOTS / 2);
    assert_int_equal(handler_log_count(stage->first_log), 1);
}

static void nothing_moves_when_no_member_reaches_redis(void **state)
{
    struct stage *stage = *state;
    struct server *server = servers_node(cluster_servers(), 0);

    server_pause(server);
    await_unreachable(stage, 1, 1);
    server_resume(server);
    await_unreachable(stage, 0, 0);
    send_all(stage);
    await_all_done(stage);
    assert_int_equal(metrics_of(stage->first).slots_gained, SLOTS);
    assert_int_equal(metrics_of(stage->second).slots_gained, SLOTS / 2);
    assert_int_equal(metrics_of(stage->first).slots_owned, SLOTS / 2);
    assert_int_equal(metrics_of(stage->second).slots_owned, SLOTS / 2);
}

TEST_GROUP(unreachable)
{
#define STAGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        STAGED(its_slots_move_as_soon_as_no_handler_works_on_them),
        STAGED(nothing_moves_when_no_member_reaches_redis),
    };

    return cmocka_run_group_tests_name("unreachable", tests, cluster_start_single_fleet,
                                       cluster_end);
}
