/* test_takeovers.c - slots are taken over although one server of the cluster does not answer. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "model/slot.h"
#include "redis/slotmap.h"
#include "support/group.h"
#include "support/wait.h"

enum { SLOTS = 16384, NEVER_MS = 600000 };

static int start(void **state)
{
    static const char *const config[] = {"cluster-require-full-coverage no", NULL};
    struct servers_options options = {.redis = REDIS_CLUSTER, .redis_config = config};

    return cluster_start(&options);
}

/* A master that does not hold the definition of the topic, nor its lease. */
static struct server *other_master(const char *topic)
{
    char key[128];
    struct server *holder = NULL;

    (void) snprintf(key, sizeof(key), "topic{%s}", topic);
    holder = servers_node_of(cluster_servers(), key);
    assert_non_null(holder);
    return servers_node(cluster_servers(), servers_node(cluster_servers(), 0) == holder ? 1 : 0);
}

static smq_verdict ignore(smq_delivery *delivery, void *user)
{
    (void) delivery;
    (void) user;
    return SMQ_DONE;
}

/* How many slots of the topic other servers have. */
static uint64_t count_others(const char *topic, const struct server *silent)
{
    redisContext *redis = keys_connect();
    redisReply *reply = redisCommand(redis, "CLUSTER SLOTS");
    static struct slotmap map;
    const char *why = NULL;
    uint64_t count = 0;

    assert_true(slotmap_parse(&map, reply, "127.0.0.1", &why));
    for (int32_t slot = 0; slot < SLOTS; slot++) {
        struct slot_keys keys;

        slot_keys_fill(&keys, topic, slot);
        count += slotmap_owner(&map, keys.hash_slot)->port != server_port(silent);
    }
    slotmap_fini(&map);
    freeReplyObject(reply);
    redisFree(redis);
    return count;
}

struct owning {
    smq_client *client;
    uint64_t slots;
};

static bool owns(void *arg)
{
    const struct owning *wanted = arg;
    smq_metrics metrics = SMQ_METRICS_INIT;
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_client_metrics(wanted->client, &metrics, &err), &err);
    return metrics.slots_owned >= wanted->slots;
}

/* A third of the slots are on a server that hangs, and no call to it ends in the time of this test:
 * the others are taken over all the same, and these once it answers. */
static void a_silent_server_keeps_back_only_its_own_slots(void **state)
{
    struct owning healthy = {0};
    struct owning all = {.slots = SLOTS};
    const char *topic = NULL;
    struct server *silent = NULL;
    smq_consumer *worker = NULL;
    smq_error err = SMQ_ERROR_INIT;
    int64_t began = 0;

    smq_client_options client_options = SMQ_CLIENT_OPTIONS(.request_timeout_ms = NEVER_MS);
    healthy.client = all.client = cluster_client_with(&client_options);
    smq_topic_options topic_options = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_PRIORITY, .slots = SLOTS);
    topic = cluster_topic(all.client, &topic_options);
    silent = other_master(topic);
    healthy.slots = count_others(topic, silent);
    smq_consumer_options worker_options =
        SMQ_CONSUMER_OPTIONS(.topic = topic, .handler = ignore, .threads = 1);
    assert_ok(smq_consumer_new(&worker, all.client, &worker_options, &err), &err);
    server_pause(silent);
    began = clock_now_ms();
    assert_ok(smq_consumer_start(worker, &err), &err);
    assert_true(wait_until(owns, &healthy, TIMEOUT_MS));
    print_message("%d of %d slots were taken over in %lld ms beside a silent server\n",
                  (int) healthy.slots, SLOTS, (long long) (clock_now_ms() - began));
    server_resume(silent);
    assert_true(wait_until(owns, &all, TIMEOUT_MS));
    handler_log_stop_worker(worker);
    smq_client_free(all.client);
}

TEST_GROUP(takeovers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_server_keeps_back_only_its_own_slots),
    };

    return cmocka_run_group_tests(tests, start, cluster_end);
}
