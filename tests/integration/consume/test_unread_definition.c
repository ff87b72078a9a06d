/* test_unread_definition.c - an owner that cannot read its definition. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/commandstats.h"
#include "support/group.h"
#include "support/wait.h"

/* The masters stay what they are, however long one of them is paused. */
static int start(void **state)
{
    struct servers_options options = {.redis = REDIS_CLUSTER, .node_timeout_ms = 600000};

    return cluster_start(&options);
}

static struct server *home_of(const char *format, const char *topic)
{
    char key[64];

    (void) snprintf(key, sizeof(key), format, topic);
    return servers_node_of(cluster_servers(), key);
}

/* A topic of one slot, which is on another node than its definition. */
static const char *topic_apart(smq_client *client, struct server **home)
{
    for (int i = 0; i < 60; i++) {
        const char *topic = cluster_priority_topic(client, false, 1);

        *home = home_of("topic{%s}", topic);
        if (*home != home_of("%s_0", topic)) {
            return topic;
        }
    }
    fail_msg("each topic is on the node of its slot");
    return NULL;
}

struct slot_view {
    redisContext *redis;
    const char *topic;
};

/* The node of the slot has run several scripts since its statistics were reset.  So it has refused
 * some of the worker's, and the definition is being read. */
static bool has_refused_some(void *arg)
{
    const struct slot_view *view = arg;
    redisReply *reply = redisCommand(view->redis, "INFO commandstats");
    int64_t calls;

    assert_non_null(reply);
    calls = commandstats_read(reply->str, "evalsha", "calls");
    freeReplyObject(reply);
    return calls >= 3;
}

static void slot_command(const struct slot_view *view, const char *format)
{
    redisReply *reply = redisCommand(view->redis, format, view->topic);

    assert_non_null(reply);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

/* The scripts refuse the slot, so the worker reads its definition, from a node that is silent. */
static void a_worker_is_freed_while_its_definition_is_read(void **state)
{
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.drain_timeout_ms = 100);
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    struct server *home = NULL;
    struct slot_view view;
    smq_consumer *worker;
    smq_error err;

    view.topic = topic_apart(client, &home);
    view.redis = keys_connect_to(view.topic);
    handler_log_gate(log);
    worker = handler_log_worker_with(client, &options, view.topic, log);
    messages_send(client, view.topic, (struct test_message){.body = "a"});
    handler_log_await(log, 1);
    server_pause(home);
    slot_command(&view, "DEL slot{%s_0}");
    slot_command(&view, "CONFIG RESETSTAT");
    handler_log_open(log, 1);
    assert_true(wait_until(has_refused_some, &view, TIMEOUT_MS));
    smq_consumer_stop(worker);
    (void) smq_consumer_wait(worker, TIMEOUT_MS, &err);
    smq_consumer_free(worker);
    server_resume(home);
    redisFree(view.redis);
    handler_log_free(log);
    smq_client_free(client);
}

TEST_GROUP(unread_definition)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_is_freed_while_its_definition_is_read),
    };

    return cmocka_run_group_tests(tests, start, cluster_end);
}
