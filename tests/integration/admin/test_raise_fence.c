/* test_raise_fence.c - ZooKeeper loses its data under a living fleet. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slotmq/health.h>
#include <slotmq/ops.h>

#include "integration/coord/raw.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/proxy.h"
#include "support/wait.h"

enum { SESSION_MS = 4000, SLOTS = 4 };

static void lose_zookeeper(void)
{
    struct server *server = servers_zookeeper_server(cluster_servers());

    server_kill(server);
    server_wipe(server);
    assert_true(server_restart(server));
}

static smq_verdict done(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    (void) seen;
    (void) index;
    return SMQ_DONE;
}

/* The slots of a topic, and the generation that their tokens are to have. */
struct wanted {
    smq_client *client;
    const char *topic;
    char generation[9];
    int slots; /* that have it */
};

static bool count_slot(const smq_slot_info *slot, void *user)
{
    struct wanted *wanted = user;

    wanted->slots += strncmp(slot->token, wanted->generation, 8) == 0 ? 1 : 0;
    return true;
}

static bool has_generation(void *arg)
{
    struct wanted *wanted = arg;
    smq_error err = SMQ_ERROR_INIT;

    wanted->slots = 0;
    assert_ok(smq_topic_slots(wanted->client, wanted->topic, count_slot, wanted, &err), &err);
    return wanted->slots == SLOTS;
}

/* A newcomer makes the root before the members that live are let in again: the root has another
 * identity, to which no topic is bound.  One call fixes all, and the members continue. */
static void a_raised_fence_brings_a_fleet_back(void **state)
{
    smq_client *client = cluster_fleet_client(SESSION_MS);
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    struct handler_log *log = handler_log_new(done);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    smq_client *newcomer = NULL;
    const char *other = NULL;
    struct handler_log *others = handler_log_new(done);
    smq_consumer *worker_of_newcomer = NULL;
    smq_consumer *refused = NULL;
    smq_fence fence = SMQ_FENCE_INIT;
    smq_error err = SMQ_ERROR_INIT;
    struct wanted wanted = {.client = client, .topic = topic};

    messages_send_numbers(client, topic, 0, 1);
    handler_log_await(log, 1);
    lose_zookeeper();
    newcomer = cluster_fleet_client(SESSION_MS);
    other = cluster_typed_topic(newcomer, SMQ_TYPE_FIXED_TIME, SLOTS);
    worker_of_newcomer = handler_log_worker(newcomer, other, others);
    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = topic, .handler = (smq_handler_fn *) abort);
    assert_int_equal(smq_consumer_new(&refused, newcomer, &options, &err), SMQ_OTHER_FLEET);
    assert_non_null(strstr(err.text, "raise-fence"));
    assert_ok(smq_fleet_raise_fence(newcomer, &fence, &err), &err);
    assert_true(fence.topics >= 2);
    assert_int_equal(fence.rebound, fence.topics - 1);
    snprintf(wanted.generation, sizeof(wanted.generation), "%08x", (unsigned) fence.generation);
    assert_true(wait_until(has_generation, &wanted, TIMEOUT_MS));
    messages_send_numbers(client, topic, 1, 1);
    handler_log_await(log, 2);
    assert_memory_equal(handler_log_seen(log, 1).token, wanted.generation, 8);
    messages_send_numbers(newcomer, other, 1, 1);
    handler_log_await(others, 1);
    handler_log_stop_worker(worker);
    handler_log_stop_worker(worker_of_newcomer);
    handler_log_free(log);
    handler_log_free(others);
    smq_client_free(client);
    smq_client_free(newcomer);
}

/* A worker of the client consumes message number `number`, and stops. */
static void consume_one(smq_client *client, const char *topic, int number)
{
    struct handler_log *log = handler_log_new(done);
    smq_consumer *worker = NULL;

    messages_send_numbers(client, topic, number, 1);
    worker = handler_log_worker(client, topic, log);
    handler_log_await(log, 1);
    handler_log_stop_worker(worker);
    handler_log_free(log);
}

static smq_health health(smq_client *client)
{
    smq_health health = SMQ_HEALTH_INIT;
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_client_health(client, &health, &err), &err);
    return health;
}

static bool has_lost_its_session(void *arg)
{
    return health(arg).session == SMQ_SESSION_LOST;
}

static bool has_lost_a_slot(void *arg)
{
    return health(arg).slots_owned < SLOTS;
}

/* The fence is raised, and others have the slots, before a member that was cut off from ZooKeeper
 * hears that its fleet has another identity.  Until then Redis refuses its calls, and it waits. */
static void a_member_that_hears_of_it_last_continues(void **state)
{
    enum { COUNT = 10 };
    struct proxy *proxy = proxy_start(server_port(servers_zookeeper_server(cluster_servers())));
    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.zookeeper = proxy_address(proxy), .session_timeout_ms = SESSION_MS);
    smq_client *client = cluster_client_with(&options), *newcomer = NULL;
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS), *other = NULL;
    struct handler_log *log = handler_log_new(done), *others = handler_log_new(done);
    smq_consumer *worker = handler_log_worker(client, topic, log), *worker_of_newcomer = NULL;
    smq_fence fence = SMQ_FENCE_INIT;
    smq_error err = SMQ_ERROR_INIT;
    struct wanted wanted = {.client = client, .topic = topic};

    handler_log_gate(log);
    messages_send_numbers(client, topic, 0, 1);
    handler_log_await(log, 1);
    proxy_silence(proxy);
    lose_zookeeper();
    assert_true(wait_until(has_lost_its_session, client, TIMEOUT_MS));
    newcomer = cluster_fleet_client(SESSION_MS);
    other = cluster_typed_topic(newcomer, SMQ_TYPE_FIXED_TIME, SLOTS);
    consume_one(newcomer, other, 0); /* makes the root */
    assert_ok(smq_fleet_raise_fence(newcomer, &fence, &err), &err);
    worker_of_newcomer = handler_log_worker(newcomer, topic, others);
    snprintf(wanted.generation, sizeof(wanted.generation), "%08x", (unsigned) fence.generation);
    assert_true(wait_until(has_generation, &wanted, TIMEOUT_MS));
    handler_log_open(log, COUNT);
    assert_true(wait_until(has_lost_a_slot, client, TIMEOUT_MS));
    proxy_release(proxy);
    handler_log_stop_worker(worker_of_newcomer);
    messages_send_numbers(client, topic, 1, 1);
    handler_log_await(log, 2);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    handler_log_free(others);
    smq_client_free(client);
    smq_client_free(newcomer);
    proxy_stop(proxy);
}

/* Nobody was there to make the root again: the verb does, with the identity of the topics. */
static void a_raised_fence_makes_a_lost_root_again(void **state)
{
    smq_client *client = cluster_fleet_client(SESSION_MS);
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    struct handler_log *log = handler_log_new(done);
    smq_consumer *worker = NULL;
    smq_fence fence = SMQ_FENCE_INIT;
    smq_error err = SMQ_ERROR_INIT;

    messages_send_numbers(client, topic, 0, 1);
    worker = handler_log_worker(client, topic, log);
    handler_log_await(log, 1);
    handler_log_stop_worker(worker);
    smq_client_free(client);
    lose_zookeeper();
    client = cluster_fleet_client(SESSION_MS);
    assert_ok(smq_fleet_raise_fence(client, &fence, &err), &err);
    assert_int_equal(fence.rebound, 0);
    assert_true(fence.generation >= 2);
    messages_send_numbers(client, topic, 1, 1);
    worker = handler_log_worker(client, topic, log);
    handler_log_await(log, 2);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void lose_and_repair(smq_client *client, const char *topic)
{
    smq_topic_report report = SMQ_TOPIC_REPORT_INIT;
    smq_error err = {.text = ""};

    keys_lose_topic(topic);
    assert_ok(smq_topic_repair(client, topic, &report, &err), &err);
    assert_true(report.restored);
}

/* Nobody owned it since: the slots know it from the call that changed it. */
static void a_topic_is_repaired_as_what_followed_it_or_rebound_it_last(void **state)
{
    smq_client *client = cluster_fleet_client(SESSION_MS), *in_redis = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    smq_consumer *refused = NULL;
    smq_fence fence = SMQ_FENCE_INIT;
    smq_error err = {.text = ""};

    consume_one(client, topic, 0);
    smq_client_free(client);
    lose_zookeeper();
    client = cluster_fleet_client(SESSION_MS);
    consume_one(client, cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS),
                0);               /* makes a root of another identity */
    for (int i = 0; i < 3; i++) { /* its generation may be far above the tokens */
        assert_ok(smq_fleet_raise_fence(client, &fence, &err), &err);
    }
    lose_and_repair(in_redis, topic);
    consume_one(client, topic, 1);
    assert_ok(smq_fleet_raise_fence(client, &fence, &err), &err);
    assert_ok(smq_fleet_raise_fence(client, &fence, &err), &err);
    assert_ok(smq_topic_rebind(in_redis, topic, false, &err), &err);
    lose_and_repair(in_redis, topic);
    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = topic, .handler = (smq_handler_fn *) abort);
    assert_int_equal(smq_consumer_new(&refused, client, &options, &err), SMQ_OTHER_FLEET);
    consume_one(in_redis, topic, 2);
    smq_client_free(client);
    smq_client_free(in_redis);
}

/* What reads the root says where it is. */
static void assert_other_version(smq_client *client, const char *says)
{
    const smq_fleet_visitor visitor = SMQ_FLEET_VISITOR_INIT;
    smq_error err = SMQ_ERROR_INIT;

    assert_int_equal(smq_fleet_describe(client, &visitor, &err), SMQ_OTHER_FLEET);
    assert_non_null(strstr(err.text, says));
    assert_int_equal(smq_fleet_raise_fence(client, NULL, &err), SMQ_OTHER_FLEET);
    assert_non_null(strstr(err.text, says));
}

static void a_root_of_another_version_is_left_as_it_is(void **state)
{
    static const char *const tree = "tree{slotmq:/slotmq}";
    smq_client *client = cluster_fleet_client(SESSION_MS), *in_redis = cluster_client();
    zhandle_t *raw = raw_connect(servers_zookeeper(cluster_servers()), NULL);
    redisReply *changed;

    consume_one(client, cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS), 0);
    raw_set(raw, "/slotmq", "x", 1);
    assert_other_version(client,
                         "the root node in ZooKeeper does not belong to a fleet of this version");
    consume_one(in_redis, cluster_typed_topic(in_redis, SMQ_TYPE_FIXED_TIME, SLOTS), 0);
    changed = keys_command(tree, "EVAL %s 1 %s",
                           "local node, count = string.gsub(redis.call('HGET', KEYS[1], 'n:'), "
                           "'slotmq %d+', 'slotmq 99') "
                           "redis.call('HSET', KEYS[1], 'n:', node) return count",
                           tree);
    assert_int_equal(changed->integer, 1);
    freeReplyObject(changed);
    assert_other_version(in_redis,
                         "the root node in Redis does not belong to a fleet of this version");
    zookeeper_close(raw);
    smq_client_free(client);
    smq_client_free(in_redis);
}

TEST_GROUP(raise_fence)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_raised_fence_brings_a_fleet_back),
        cmocka_unit_test(a_member_that_hears_of_it_last_continues),
        cmocka_unit_test(a_raised_fence_makes_a_lost_root_again),
        cmocka_unit_test(a_topic_is_repaired_as_what_followed_it_or_rebound_it_last),
        cmocka_unit_test(a_root_of_another_version_is_left_as_it_is),
    };

    return cmocka_run_group_tests(tests, cluster_start_fleet, cluster_end);
}
