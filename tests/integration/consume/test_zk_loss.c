/* test_zk_loss.c - what owners do while ZooKeeper is away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "consume/slot/owned_slot.h"
#include "consume/worker/worker.h"
#include "core/coord_link.h"
#include "integration/fixture/scene.h"
#include "support/wait.h"

static int start(void **state)
{
    struct servers_options options = {.redis = REDIS_SINGLE, .zookeeper = true};

    (void) state;
    return scene_start(&options);
}

struct loss {
    smq_client *client;
    const char *topic;
    struct recorder *recorder;
    smq_worker *worker;
};

static void loss_init(struct loss *loss, smq_zk_loss on_zk_loss)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;
    smq_topic_options topic = SMQ_TOPIC_OPTIONS_INIT;

    options.zookeeper = servers_zookeeper(scene_servers());
    options.session_timeout_ms = 2000;
    options.on_zk_loss = on_zk_loss;
    topic.type = SMQ_TYPE_FIXED_TIME;
    loss->client = scene_client_with(&options);
    loss->topic = scene_topic(loss->client, &topic);
    loss->recorder = recorder_new(NULL);
    loss->worker = scene_worker(loss->client, loss->topic, loss->recorder);
    scene_send(loss->client, loss->topic, (struct scene_message){.body = "before"});
    recorder_await(loss->recorder, 1);
    scene_await_counts(loss->client, loss->topic, (struct scene_counts){.done = 1});
}

static void loss_fini(struct loss *loss)
{
    scene_stop(loss->worker);
    recorder_free(loss->recorder);
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

    (void) state;
    loss_init(&loss, SMQ_ZK_LOSS_CONTINUE);
    server_kill(servers_zookeeper_server(scene_servers()));
    scene_send(loss.client, loss.topic, (struct scene_message){.body = "during"});
    recorder_await(loss.recorder, 2);
    assert_true(server_restart(servers_zookeeper_server(scene_servers())));
    loss_fini(&loss);
}

static void owners_claim_no_more_when_told_to_stop(void **state)
{
    struct loss loss;

    (void) state;
    loss_init(&loss, SMQ_ZK_LOSS_STOP);
    server_kill(servers_zookeeper_server(scene_servers()));
    assert_true(wait_until(may_not_claim, &loss, SCENE_TIMEOUT_MS));
    scene_send(loss.client, loss.topic, (struct scene_message){.body = "during"});
    assert_int_equal(scene_stats(loss.client, loss.topic).waiting, 1);
    assert_true(server_restart(servers_zookeeper_server(scene_servers())));
    recorder_await(loss.recorder, 2);
    assert_int_equal(recorder_seen(loss.recorder, 1).attempt, 1);
    loss_fini(&loss);
}

/* What was claimed in time does not begin when the lease of the membership is over. */
static void owners_begin_no_more_when_told_to_stop(void **state)
{
    enum { COUNT = 10 };
    struct loss loss;

    (void) state;
    loss_init(&loss, SMQ_ZK_LOSS_STOP);
    recorder_gate(loss.recorder);
    scene_send_numbers(loss.client, loss.topic, 0, COUNT);
    recorder_await(loss.recorder, 2);
    assert_int_equal(smq_delivery_check(recorder_seen(loss.recorder, 1).delivery), SMQ_OK);
    server_kill(servers_zookeeper_server(scene_servers()));
    scene_await_standing(recorder_seen(loss.recorder, 1).delivery, SMQ_LEASE_LOST);
    recorder_open(loss.recorder, COUNT);
    scene_await_counts(
        loss.client, loss.topic,
        (struct scene_counts){.waiting = COUNT - 1, .resting = -1, .dead = -1, .done = 2});
    assert_int_equal(recorder_count(loss.recorder), 2);
    assert_true(server_restart(servers_zookeeper_server(scene_servers())));
    recorder_await(loss.recorder, 1 + COUNT);
    for (int i = 0; i < 1 + COUNT; i++) {
        assert_int_equal(recorder_seen(loss.recorder, i).attempt, 1);
    }
    loss_fini(&loss);
}

static void worker_ends_cleanly_while_zookeeper_is_away(void **state)
{
    struct loss loss;

    (void) state;
    loss_init(&loss, SMQ_ZK_LOSS_CONTINUE);
    server_kill(servers_zookeeper_server(scene_servers()));
    loss_fini(&loss);
    assert_true(server_restart(servers_zookeeper_server(scene_servers())));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owners_go_on_by_default),
        cmocka_unit_test(owners_claim_no_more_when_told_to_stop),
        cmocka_unit_test(owners_begin_no_more_when_told_to_stop),
        cmocka_unit_test(worker_ends_cleanly_while_zookeeper_is_away),
    };

    return cmocka_run_group_tests(tests, start, scene_end);
}
