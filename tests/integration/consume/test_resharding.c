/* test_resharding.c - a node of the cluster is emptied, forgotten and stopped, and another is
 * added, while a fleet consumes and a producer sends. */
#include <stdio.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/hash_slots.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/load.h"
#include "support/group.h"
#include "support/long_form.h"
#include "support/port.h"
#include "support/wait.h"

/* The last of them comes and goes. */
enum { MASTERS = 4, STAYING = MASTERS - 1 };

static int start(void **state)
{
    struct servers_options options = {
        .redis = REDIS_CLUSTER, .masters = MASTERS, .zookeeper = true};

    return cluster_start(&options);
}

static struct server *node(size_t number)
{
    return servers_node(cluster_servers(), number);
}

/* --- empty hash slots ---------------------------------------------------------------------- */

/* Which hash slots a node has. */
static void hash_slots_at(bool out[HASH_SLOTS], const struct server *server)
{
    redisReply *reply = keys_command_at(server, "CLUSTER SLOTS");

    memset(out, 0, HASH_SLOTS * sizeof(*out));
    for (size_t i = 0; i < reply->elements; i++) {
        redisReply **range = reply->element[i]->element; /* first, last, {host, port, id} */

        if (range[2]->element[1]->integer == server_port(server)) {
            for (long long j = range[0]->integer; j <= range[1]->integer; j++) {
                out[j] = true;
            }
        }
    }
    freeReplyObject(reply);
}

static void expect_ok(redisContext *redis)
{
    redisReply *reply = NULL;

    assert_int_equal(redisGetReply(redis, (void **) &reply), REDIS_OK);
    if (reply->type == REDIS_REPLY_ERROR) {
        fail_msg("%s", reply->str);
    }
    freeReplyObject(reply);
}

/* Tell a node that these hash slots, all of them empty, are at `id`. */
static void hash_slots_give(const struct server *server, const bool *which, const char *id)
{
    redisContext *redis = redisConnect("127.0.0.1", server_port(server));
    int count = 0;

    assert_non_null(redis);
    for (int i = 0; i < HASH_SLOTS; i++) {
        if (which[i]) {
            redisAppendCommand(redis, "CLUSTER SETSLOT %d NODE %s", i, id);
            count++;
        }
    }
    for (int i = 0; i < count; i++) {
        expect_ok(redis);
    }
    redisFree(redis);
}

/* --- a node goes --------------------------------------------------------------------------- */

static void move_keys(const struct hash_slot_move *move)
{
    hash_slot_open(move);
    while (hash_slot_move_key(move)) {
    }
    hash_slot_close(move);
}

/* Hash slots with keys move key by key, all others at once. */
static void empty_node(struct server *from, struct server *to)
{
    static bool which[HASH_SLOTS];
    struct hash_slot_move move = {.from = from, .to = to};

    hash_slots_at(which, from);
    hash_slot_node_id(move.from_id, from);
    hash_slot_node_id(move.to_id, to);
    for (move.number = 0; move.number < HASH_SLOTS; move.number++) {
        if (which[move.number] && hash_slot_keys_left(&move) > 0) {
            move_keys(&move);
            which[move.number] = false;
        }
    }
    freeReplyObject(keys_command_at(to, "CLUSTER BUMPEPOCH"));
    hash_slots_give(to, which, move.to_id);
    hash_slots_give(from, which, move.to_id);
}

static bool node_knows(const struct server *server, int nodes)
{
    redisReply *reply = keys_command_at(server, "CLUSTER INFO");
    char known[48];
    bool whole;

    snprintf(known, sizeof(known), "cluster_known_nodes:%d\r\n", nodes);
    whole = strstr(reply->str, "cluster_state:ok") != NULL &&
            strstr(reply->str, "cluster_slots_ok:16384") != NULL &&
            strstr(reply->str, known) != NULL;
    freeReplyObject(reply);
    return whole;
}

/* The first `nodes` of them see a whole cluster, and nobody else in it. */
static bool all_know(void *arg)
{
    const int *nodes = arg;

    for (size_t i = 0; i < (size_t) *nodes; i++) {
        if (!node_knows(node(i), *nodes)) {
            return false;
        }
    }
    return true;
}

static bool has_none(void *arg)
{
    static bool which[HASH_SLOTS];
    bool any = false;

    for (size_t i = 0; i < STAYING; i++) {
        redisReply *reply = keys_command_at(node(i), "CLUSTER SLOTS");
        bool none = true;

        for (size_t j = 0; j < reply->elements; j++) {
            none = none && reply->element[j]->element[2]->element[1]->integer != server_port(arg);
        }
        freeReplyObject(reply);
        if (!none) {
            return false;
        }
    }
    hash_slots_at(which, arg);
    for (size_t i = 0; i < HASH_SLOTS; i++) {
        any = any || which[i];
    }
    return !any;
}

static void remove_node(struct server *server)
{
    char id[64];

    hash_slot_node_id(id, server);
    assert_true(wait_until(has_none, server, TIMEOUT_MS));
    for (size_t i = 0; i < STAYING; i++) {
        freeReplyObject(keys_command_at(node(i), "CLUSTER FORGET %s", id));
    }
    freeReplyObject(keys_command_at(server, "CLUSTER RESET HARD"));
    assert_true(wait_until(all_know, &(int){STAYING}, TIMEOUT_MS));
}

/* --- a node comes -------------------------------------------------------------------------- */

/* One slot of the topic moves to it. */
static void add_node(struct load *load, struct server *server)
{
    struct hash_slot_move move;

    for (size_t i = 0; i < STAYING; i++) {
        freeReplyObject(keys_command_at(server, "CLUSTER MEET 127.0.0.1 %d %d",
                                        server_port(node(i)),
                                        server_port(node(i)) + PORT_BUS_OFFSET));
    }
    assert_true(wait_until(all_know, &(int){MASTERS}, TIMEOUT_MS));
    move = hash_slot_of(load_topic(load), 0, server);
    move_keys(&move);
    hash_slot_await(&move);
}

/* What was connected to the node when it was reset is connected to a cluster of its own. */
static void nothing_is_lost_or_handled_twice_when_nodes_go_and_come(void **state)
{
    struct load *load = load_start(*state);
    struct server *last = node(STAYING);

    load_round(load);
    for (int i = 0; i < long_form(SIZE_NODE_ROUNDS); i++) {
        int acknowledged = load_acknowledged(load);

        load_send(load, long_form(SIZE_BURST));
        empty_node(last, node((size_t) i % STAYING));
        load_send(load, long_form(SIZE_BURST));
        remove_node(last);
        load_round(load);
        server_stop(last);
        load_round(load);
        assert_true(server_restart(last));
        load_send(load, long_form(SIZE_BURST));
        add_node(load, last);
        load_send(load, long_form(SIZE_BURST));
        load_await_more(load, acknowledged);
    }
    load_end_each_once(load);
}

TEST_GROUP(resharding)
{
    const struct CMUnitTest tests[] = {
        LOAD_TESTS(nothing_is_lost_or_handled_twice_when_nodes_go_and_come),
    };

    return cmocka_run_group_tests_name("resharding", tests, start, cluster_end);
}
