/* test_late_loop.c - a client whose loop comes to its sockets later than a time-out, as on a
 * machine that is overloaded, or after a freeze: what servers have answered in time counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../integration/redis/listener.h"
#include "base/memory.h"
#include "nodes.h"
#include "support/group.h"
#include "support/wait.h"

enum { PATIENCE_MS = 3000, WAIT_MS = 30000 };

#define CHANNEL "wake{t}"

static int set_up(void **state)
{
    struct nodes *nodes = memory_new(sizeof(*nodes));

    nodes_init(nodes, "k");
    fake_node_rule(nodes->a, "EVALSHA", ":1\r\n");
    nodes_start(nodes, PATIENCE_MS);
    *state = nodes;
    return 0;
}

static int tear_down(void **state)
{
    struct nodes *nodes = *state;

    client_stop(&nodes->client);
    nodes_fini(nodes);
    free(nodes);
    return 0;
}

static void assert_serves(struct nodes *nodes)
{
    outcome_assert_done(nodes_eval(nodes), "1");
}

static bool has_ended(void *arg)
{
    return atomic_load((atomic_int *) arg) > 0;
}

static void test_a_reply_is_no_silence(void **state)
{
    struct nodes *nodes = *state;
    struct pending pending = {0};
    atomic_int ended = 0;

    assert_serves(nodes);
    nodes_step(nodes->a, "EVALSHA", NULL);
    pending.ended = &ended;
    client_post_eval(&nodes->client, &pending, &nodes_script, "k", "x", 0);
    assert_true(fake_node_wait(nodes->a, "EVALSHA", 2));
    nodes_delay(nodes, ":7\r\n", PATIENCE_MS);
    assert_true(wait_until(has_ended, &ended, WAIT_MS));
    outcome_assert_done(pending.outcome, "7");
    assert_int_equal(fake_node_connections(nodes->a), 1);
}

static void test_a_map_is_no_silence(void **state)
{
    struct nodes *nodes = *state;

    nodes_step(nodes->a, "CLUSTER SLOTS", NULL);
    nodes_step(nodes->a, "EVALSHA", "-CLUSTERDOWN The cluster is down\r\n");
    assert_serves(nodes);
    assert_true(fake_node_wait(nodes->a, "CLUSTER SLOTS", 2));
    nodes_delay(nodes, nodes->map_a, PATIENCE_MS);
    assert_serves(nodes);
    assert_int_equal(fake_node_connections(nodes->a), 1);
}

static void test_a_greeting_is_no_silence(void **state)
{
    struct nodes *nodes = *state;

    nodes_step(nodes->a, "INFO", NULL);
    fake_node_hang_up(nodes->a);
    assert_true(fake_node_wait(nodes->a, "INFO", 2));
    nodes_delay(nodes, "$32\r\n# Server\r\nredis_version:7.0.15\r\n\r\n", PATIENCE_MS);
    assert_serves(nodes);
    assert_int_equal(fake_node_connections(nodes->a), 2);
}

/* The other connection is cut, as nothing was asked there. */
static void test_a_subscription_is_no_silence(void **state)
{
    struct nodes *nodes = *state;
    static struct listener listener; /* outlives a failure */

    nodes_step(nodes->a, "SSUBSCRIBE", NULL);
    listener_new(&listener, &nodes->client, CHANNEL);
    assert_true(fake_node_wait(nodes->a, "SSUBSCRIBE", 1));
    nodes_delay(nodes, "*3\r\n$10\r\nssubscribe\r\n$7\r\n" CHANNEL "\r\n:1\r\n", PATIENCE_MS);
    assert_true(listener_wait_subscribed(&listener, 1));
    assert_int_equal(fake_node_count(nodes->a, "SSUBSCRIBE"), 1);
    listener_stop(&listener);
}

TEST_GROUP(late_loop)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_reply_is_no_silence),
        TEST(test_a_map_is_no_silence),
        TEST(test_a_greeting_is_no_silence),
        TEST(test_a_subscription_is_no_silence),
    };
#undef TEST

    return cmocka_run_group_tests_name("late_loop", tests, NULL, NULL);
}
