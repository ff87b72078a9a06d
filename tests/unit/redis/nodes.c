/* nodes.c - see nodes.h. */
#include "nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "model/slot.h"
#include "support/testing.h"
#include "support/wait.h"

const struct script nodes_script = {
    .name = "count", .text = "return 1", .text_len = 8, .sha1 = "e0e1f9fa", .keys = 1};

static void map_text(char *out, size_t size, const struct fake_node *node)
{
    (void) snprintf(out, size, "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:%d\r\n",
                    fake_node_port(node));
}

void nodes_init(struct nodes *nodes, const char *key)
{
    int slot = slot_hash(key, strlen(key));

    memset(nodes, 0, sizeof(*nodes));
    nodes->a = fake_node_new();
    nodes->b = fake_node_new();
    map_text(nodes->map_a, sizeof(nodes->map_a), nodes->a);
    map_text(nodes->map_b, sizeof(nodes->map_b), nodes->b);
    (void) snprintf(nodes->moved_a, sizeof(nodes->moved_a), "-MOVED %d :%d\r\n", slot,
                    fake_node_port(nodes->a));
    (void) snprintf(nodes->moved_b, sizeof(nodes->moved_b), "-MOVED %d %s\r\n", slot,
                    fake_node_address(nodes->b));
    (void) snprintf(nodes->ask_b, sizeof(nodes->ask_b), "-ASK %d %s\r\n", slot,
                    fake_node_address(nodes->b));
    fake_node_rule(nodes->a, "CLUSTER SLOTS", nodes->map_a);
    fake_node_rule(nodes->b, "CLUSTER SLOTS", nodes->map_a);
}

void nodes_fini(struct nodes *nodes)
{
    fake_node_free(nodes->a);
    fake_node_free(nodes->b);
}

int nodes_set_up(void **state)
{
    struct nodes *nodes = memory_new(sizeof(*nodes));

    nodes_init(nodes, "k");
    fake_node_rule(nodes->a, "EVALSHA", ":1\r\n");
    fake_node_rule(nodes->b, "EVALSHA", ":2\r\n");
    *state = nodes;
    return 0;
}

int nodes_tear_down(void **state)
{
    nodes_fini(*state);
    free(*state);
    return 0;
}

void nodes_start(struct nodes *nodes, int64_t timeout_ms)
{
    client_start(&nodes->client, fake_node_address(nodes->a), timeout_ms);
    assert_string_equal(nodes->client.ready_text, "");
    assert_int_equal(nodes->client.ready, SMQ_OK);
}

struct outcome nodes_eval(struct nodes *nodes)
{
    return client_eval(&nodes->client, &nodes_script, "k", "x", 0);
}

void nodes_step(struct fake_node *node, const char *command, const char *reply)
{
    fake_node_step(node, &(struct fake_step){.command = command, .reply = reply});
}

struct delay {
    struct fake_node *node;
    const char *reply;
    int64_t ms, until_ms;
};

static bool delay_is_over(void *arg)
{
    return clock_now_ms() > ((const struct delay *) arg)->until_ms;
}

static void stay_away(void *arg)
{
    struct delay *delay = arg;

    fake_node_send(delay->node, delay->reply);
    delay->until_ms = clock_now_ms() + delay->ms;
    (void) wait_until(delay_is_over, delay, INT32_MAX);
}

void nodes_delay(struct nodes *nodes, const char *reply, int64_t ms)
{
    struct delay delay = {.node = nodes->a, .reply = reply, .ms = ms};

    client_call(&nodes->client, stay_away, &delay);
}
