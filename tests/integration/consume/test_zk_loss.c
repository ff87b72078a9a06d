/* test_zk_loss.c - what owners do while ZooKeeper is away. */
#include <stdlib.h>

#include "consume/consumer/consumer.h"
#include "consume/slot/owned_slot.h"
#include "core/coord_link.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

struct loss {
    smq_client *client;
    const char *topic;
    struct handler_log *log;
    smq_consumer *worker;
};

static void loss_init(struct loss *loss, smq_coordination_loss on_coordination_loss)
{
    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.zookeeper = servers_zookeeper(cluster_servers()),
                           .session_timeout_ms = 2000,
                           .on_coordination_loss = on_coordination_loss);
    smq_topic_options topic = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME);
    loss->client = cluster_client_with(&options);
    loss->topic = cluster_topic(loss->client, &topic);
    loss->log = handler_log_new(NULL);
    loss->worker = handler_log_worker(loss->client, loss->topic, loss->log);
    messages_send(loss->client, loss->topic, (struct test_message){.body = "before"});
    handler_log_await(loss->log, 1);
    messages_await_counts(loss->client, loss->topic, (struct message_counts){.done = 1});
}

static void loss_fini(struct loss *loss)
{
    handler_log_stop_worker(loss->worker);
    handler_log_free(loss->log);
    smq_client_free(loss->client);
}

static bool may_not_claim(void *arg)
{
    struct loss *loss = arg;

    return !coord_link_may_claim(loss->worker->set.core->link);
}

static void owners_go_on_by_default(void **state)
{
    struct loss loss;

    loss_init(&loss, SMQ_COORDINATION_LOSS_CONTINUE);
    server_kill(servers_zookeeper_server(cluster_servers()));
    messages_send(loss.client, loss.topic, (struct test_message){.body = "during"});
    handler_log_await(loss.log, 2);
    messages_await_counts(loss.client, loss.topic, (struct message_counts){.done = 2});
    assert_true(server_restart(servers_zookeeper_server(cluster_servers())));
    messages_send(loss.client, loss.topic, (struct test_message){.body = "after"});
    messages_await_counts(loss.client, loss.topic, (struct message_counts){.done = 3});
    assert_int_equal(handler_log_count(loss.log), 3); /* nothing came twice */
    loss_fini(&loss);
}

static void owners_claim_no_more_when_told_to_stop(void **state)
{
    struct loss loss;

    loss_init(&loss, SMQ_COORDINATION_LOSS_STOP);
    server_kill(servers_zookeeper_server(cluster_servers()));
    assert_true(wait_until(may_not_claim, &loss, TIMEOUT_MS));
    messages_send(loss.client, loss.topic, (struct test_message){.body = "during"});
    /* it may have been pushed, and is requeued then */
    messages_await_counts(
        loss.client, loss.topic,
        (struct message_counts){.waiting = 1, .resting = -1, .dead = -1, .done = 1});
    assert_true(server_restart(servers_zookeeper_server(cluster_servers())));
    handler_log_await(loss.log, 2);
    assert_int_equal(handler_log_seen(loss.log, 1).attempt, 1);
    loss_fini(&loss);
}

/* What was claimed in time does not begin when the lease of the membership has ended. */
static void owners_begin_no_more_when_told_to_stop(void **state)
{
    enum { COUNT = 10 };
    struct loss loss;

    loss_init(&loss, SMQ_COORDINATION_LOSS_STOP);
    handler_log_gate(loss.log);
    messages_send_numbers(loss.client, loss.topic, 0, COUNT);
    handler_log_await(loss.log, 2);
    assert_int_equal(smq_delivery_check(handler_log_seen(loss.log, 1).delivery), SMQ_OK);
    server_kill(servers_zookeeper_server(cluster_servers()));
    messages_await_check(handler_log_seen(loss.log, 1).delivery, SMQ_LEASE_LOST);
    handler_log_open(loss.log, COUNT);
    messages_await_counts(
        loss.client, loss.topic,
        (struct message_counts){.waiting = COUNT - 1, .resting = -1, .dead = -1, .done = 2});
    assert_int_equal(handler_log_count(loss.log), 2);
    assert_true(server_restart(servers_zookeeper_server(cluster_servers())));
    handler_log_await(loss.log, 1 + COUNT);
    for (int i = 0; i < 1 + COUNT; i++) {
        assert_int_equal(handler_log_seen(loss.log, i).attempt, 1);
    }
    loss_fini(&loss);
}

static void worker_ends_cleanly_while_zookeeper_is_away(void **state)
{
    struct loss loss;

    loss_init(&loss, SMQ_COORDINATION_LOSS_CONTINUE);
    server_kill(servers_zookeeper_server(cluster_servers()));
    loss_fini(&loss);
    assert_true(server_restart(servers_zookeeper_server(cluster_servers())));
}

TEST_GROUP(zk_loss)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owners_go_on_by_default),
        cmocka_unit_test(owners_claim_no_more_when_told_to_stop),
        cmocka_unit_test(owners_begin_no_more_when_told_to_stop),
        cmocka_unit_test(worker_ends_cleanly_while_zookeeper_is_away),
    };

    return cmocka_run_group_tests(tests, cluster_start_single_fleet, cluster_end);
}
