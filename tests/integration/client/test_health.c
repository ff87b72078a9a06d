/* test_health.c - what smq_client_health() says in good times and in bad. */
#include <stdio.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { SLOTS = 4, MASTERS = 3, SESSION_MS = 2000, BATCH = 10, BACKLOG = 30 };

static smq_health health_of(smq_client *client)
{
    smq_health health = SMQ_HEALTH_INIT;
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_client_health(client, &health, &err), &err);
    return health;
}

struct expected {
    smq_client *client;
    smq_status status;
    int32_t slots_owned;
};

static bool is_expected(void *arg)
{
    const struct expected *expected = arg;
    smq_health health = health_of(expected->client);

    return health.status == expected->status && health.slots_owned == expected->slots_owned;
}

static smq_health await(smq_client *client, smq_status status, int32_t slots_owned)
{
    struct expected expected = {client, status, slots_owned};

    if (!wait_until(is_expected, &expected, TIMEOUT_MS)) {
        smq_health health = health_of(client);

        fail_msg("it has %d slots and status %d: %s", health.slots_owned, health.status,
                 health.wrong);
    }
    return health_of(client);
}

static void assert_contains(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
    }
}

static const char *new_topic(smq_client *client)
{
    smq_topic_options topic = SMQ_TOPIC_OPTIONS(.slots = SLOTS);
    return cluster_topic(client, &topic);
}

/* A worker of a new topic, whose deliveries are logged. */
struct consuming {
    smq_client *client;
    const char *topic;
    struct handler_log *log;
    smq_consumer *worker;
};

/* Begin to consume by this client, and wait until all is well. */
static struct consuming consuming_start(smq_client *client)
{
    struct consuming consuming = {client, new_topic(client), handler_log_new(NULL), NULL};

    consuming.worker = handler_log_worker(client, consuming.topic, consuming.log);
    (void) await(client, SMQ_OK, SLOTS);
    return consuming;
}

/* The worker has been freed already. */
static void consuming_free(struct consuming *consuming)
{
    handler_log_free(consuming->log);
    smq_client_free(consuming->client);
}

static void consuming_stop(struct consuming *consuming)
{
    handler_log_stop_worker(consuming->worker);
    consuming_free(consuming);
}

static void a_client_that_only_sends_is_well(void **state)
{
    smq_client *client = cluster_client();
    smq_health health;

    messages_send(client, new_topic(client), (struct test_message){.body = "one"});
    health = health_of(client);
    assert_int_equal(health.status, SMQ_OK);
    assert_string_equal(health.wrong, "");
    assert_int_equal(health.redis_nodes, MASTERS);
    assert_int_equal(health.redis_nodes_failed, 0);
    assert_int_equal(health.session, SMQ_SESSION_NONE);
    assert_int_equal(health.consumers, 0);
    assert_int_equal(health.slots_wanted, 0);
    assert_int_equal(health.consumers_slotless, 0);
    assert_string_equal(health.slotless, "");
    assert_int_equal(health.oldest_claim_ms, SMQ_NONE);
    smq_client_free(client);
}

static void a_worker_says_what_it_has(void **state)
{
    struct consuming it = consuming_start(cluster_fleet_client(0));
    smq_error err = SMQ_ERROR_INIT;
    smq_health health = health_of(it.client);

    assert_int_equal(health.session, SMQ_SESSION_LIVE);
    assert_int_equal(health.consumers, 1);
    assert_int_equal(health.slots_wanted, SLOTS);
    assert_int_equal(health.oldest_claim_ms, SMQ_NONE);

    handler_log_gate(it.log);
    messages_send(it.client, it.topic, (struct test_message){.body = "one"});
    handler_log_await(it.log, 1);
    assert_true(health_of(it.client).oldest_claim_ms >= 0);
    handler_log_open(it.log, 1);
    messages_await_counts(it.client, it.topic, (struct message_counts){.done = 1});

    assert_ok(smq_topic_pause(it.client, it.topic, &err), &err);
    messages_send(it.client, it.topic, (struct test_message){.body = "two"});
    health = health_of(it.client);
    assert_int_equal(health.status, SMQ_OK);

    handler_log_stop_worker(it.worker);
    health = health_of(it.client);
    assert_int_equal(health.consumers, 0);
    assert_int_equal(health.slots_owned, 0);
    consuming_free(&it);
}

/* --- slots that wait --- */

struct waiting {
    smq_client *client;
    const char *why; /* NULL: no slot waits */
};

static bool is_waiting(void *arg)
{
    const struct waiting *waiting = arg;
    smq_health health = health_of(waiting->client);

    if (health.session == SMQ_SESSION_LOST) {
        return false; /* it has not begun */
    }
    assert_int_equal(health.status, SMQ_OK);
    assert_string_equal(health.wrong, "");
    if (waiting->why == NULL) {
        return health.slots_waiting == 0 && health.waiting[0] == '\0';
    }
    return health.slots_waiting == 1 && strstr(health.waiting, waiting->why) != NULL;
}

static void await_waiting(smq_client *client, const char *why)
{
    struct waiting waiting = {client, why};

    if (!wait_until(is_waiting, &waiting, TIMEOUT_MS)) {
        fail_msg("not \"%s\": \"%s\"", why != NULL ? why : "", health_of(client).waiting);
    }
}

static void a_slot_with_due_messages_says_why_it_claims_none(void **state)
{
    static const struct {
        int64_t rate_per_s;
        int32_t max_in_flight;
        const char *why;
    } rows[] = {
        {0, 0, "messages due and does not claim them: 20 of its messages have no answer"},
        {0, BATCH, "max_in_flight is 10, and the consumer has 10 messages without an answer"},
        {1, 0, "a rate limit allows none yet"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct consuming it = {.client = cluster_client(), .log = handler_log_new(NULL)};

        smq_topic_options topic = SMQ_TOPIC_OPTIONS(.slots = 1, .rate_per_s = rows[i].rate_per_s);
        smq_consumer_options options =
            SMQ_CONSUMER_OPTIONS(.batch_size = BATCH, .max_in_flight = rows[i].max_in_flight);
        it.topic = cluster_topic(it.client, &topic);
        handler_log_gate(it.log);
        messages_send_numbers(it.client, it.topic, 0, BACKLOG);
        it.worker = handler_log_worker_with(it.client, &options, it.topic, it.log);
        await_waiting(it.client, rows[i].why);
        if (rows[i].rate_per_s == 0) {
            handler_log_open(it.log, BACKLOG);
            await_waiting(it.client, NULL);
        }
        handler_log_open(it.log, BACKLOG);
        consuming_stop(&it);
    }
}

static void a_worker_that_has_ended_is_named(void **state)
{
    struct consuming it = consuming_start(cluster_client());
    smq_error err = SMQ_ERROR_INIT;
    smq_health health;

    assert_ok(smq_topic_delete(it.client, it.topic, true, &err), &err);
    health = await(it.client, SMQ_NO_TOPIC, 0);
    assert_contains(health.wrong, it.topic);
    assert_int_equal(health.consumers, 0);
    (void) smq_consumer_wait(it.worker, TIMEOUT_MS, NULL);
    smq_consumer_free(it.worker);
    assert_int_equal(health_of(it.client).status, SMQ_OK);
    consuming_free(&it);
}

static void a_damaged_slot_is_named(void **state)
{
    struct consuming it = consuming_start(cluster_client());
    smq_error err = SMQ_ERROR_INIT;
    smq_health health;

    keys_lose_slot_and_subscribers(it.topic, 2);
    health = await(it.client, SMQ_DAMAGED, SLOTS);
    assert_int_equal(health.slots_damaged, 1);
    assert_contains(health.wrong, "slot 2 of topic ");
    assert_contains(health.wrong, "slotmq topic repair");
    assert_ok(smq_topic_repair(it.client, it.topic, NULL, &err), &err);
    health = await(it.client, SMQ_OK, SLOTS);
    assert_int_equal(health.slots_damaged, 0);
    consuming_stop(&it);
}

static void a_lost_session_is_wrong(void **state)
{
    struct consuming it = consuming_start(cluster_fleet_client(SESSION_MS));
    smq_health health;

    server_kill(servers_zookeeper_server(cluster_servers()));
    health = await(it.client, SMQ_UNAVAILABLE, SLOTS);
    assert_int_equal(health.session, SMQ_SESSION_LOST);
    assert_contains(health.wrong, "ZooKeeper");
    assert_true(server_restart(servers_zookeeper_server(cluster_servers())));
    health = await(it.client, SMQ_OK, SLOTS);
    assert_int_equal(health.session, SMQ_SESSION_LIVE);
    consuming_stop(&it);
}

/* The last test: it ends a server for good. */
static void a_lost_node_is_named(void **state)
{
    struct consuming it = consuming_start(cluster_client());
    smq_health health;

    server_kill(servers_node(cluster_servers(), 1));
    health = await(it.client, SMQ_UNAVAILABLE, SLOTS);
    assert_int_equal(health.redis_nodes, MASTERS);
    assert_int_equal(health.redis_nodes_failed, 1);
    assert_contains(health.wrong, "1 of 3 Redis masters cannot be used: 127.0.0.1:");
    (void) smq_consumer_wait(it.worker, 0, NULL);
    smq_consumer_stop(it.worker);
    smq_consumer_free(it.worker);
    consuming_free(&it);
}

TEST_GROUP(health)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_that_only_sends_is_well),
        cmocka_unit_test(a_worker_says_what_it_has),
        cmocka_unit_test(a_slot_with_due_messages_says_why_it_claims_none),
        cmocka_unit_test(a_worker_that_has_ended_is_named),
        cmocka_unit_test(a_damaged_slot_is_named),
        cmocka_unit_test(a_lost_session_is_wrong),
        cmocka_unit_test(a_lost_node_is_named),
    };

    return cmocka_run_group_tests_name("health", tests, cluster_start_fleet, cluster_end);
}
