/* test_connecting.c - which servers the client takes, how it comes to them and back to them, and
 * which maps it believes; against scripted nodes. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include "base/memory.h"
#include "model/slot.h"
#include "nodes.h"
#include "support/group.h"
#include "support/wait.h"

enum { TIMEOUT_MS = 20000, SHORT_MS = 1000, WAIT_MS = 30000 };

static bool reached(void *arg)
{
    return atomic_load((atomic_int *) arg) >= 0;
}

static bool is_done(void *arg)
{
    return nodes_eval(arg).outcome == REDIS_DONE;
}

/* --- connecting --- */

static void expect_refusal(const char *servers, smq_status status, const char *text)
{
    struct client client;

    client_start(&client, servers, TIMEOUT_MS);
    print_message("%s\n", client.ready_text);
    assert_int_equal(client.ready, status);
    assert_non_null(strstr(client.ready_text, text));
    assert_null(strstr(client.ready_text, "hunter2"));
    client_stop(&client);
}

static void test_refused_credentials(void **state)
{
    struct nodes *nodes = *state;
    char servers[128];

    (void) snprintf(servers, sizeof(servers), "redis://me:hunter2@%s", fake_node_address(nodes->a));
    nodes_step(nodes->a, "AUTH", "-WRONGPASS invalid username-password pair\r\n");
    expect_refusal(servers, SMQ_DENIED, "WRONGPASS");
    assert_string_equal(fake_node_command(nodes->a, "AUTH", 0), "AUTH me hunter2");
    nodes_step(nodes->a, "INFO", "-NOAUTH Authentication required.\r\n");
    expect_refusal(fake_node_address(nodes->a), SMQ_DENIED, "NOAUTH");
    nodes_step(nodes->a, "INFO", "-DENIED Redis is running in protected mode\r\n");
    expect_refusal(fake_node_address(nodes->a), SMQ_DENIED, "protected mode");
    fake_node_rule(nodes->a, "CLUSTER SLOTS", "-NOPERM no permissions to run 'cluster|slots'\r\n");
    expect_refusal(fake_node_address(nodes->a), SMQ_DENIED, "NOPERM");
}

static void test_servers_that_will_not_do(void **state)
{
    struct nodes *nodes = *state;
    char servers[128];

    nodes_step(nodes->a, "INFO", "$31\r\n# Server\r\nredis_version:6.2.7\r\n\r\n");
    expect_refusal(fake_node_address(nodes->a), SMQ_BAD_SERVER, "6.2.7 is too old");
    nodes_step(nodes->a, "INFO",
               "$77\r\n# Server\r\nredis_version:7.0.15\r\nmaxmemory:100\r\n"
               "maxmemory_policy:allkeys-lru\r\n\r\n");
    expect_refusal(fake_node_address(nodes->a), SMQ_BAD_SERVER, "noeviction");

    /* two servers that are no cluster: which of them would hold a message? */
    fake_node_rule(nodes->a, "CLUSTER SLOTS",
                   "-ERR This instance has cluster support disabled\r\n");
    fake_node_rule(nodes->b, "CLUSTER SLOTS",
                   "-ERR This instance has cluster support disabled\r\n");
    (void) snprintf(servers, sizeof(servers), "%s,%s", fake_node_address(nodes->a),
                    fake_node_address(nodes->b));
    expect_refusal(servers, SMQ_BAD_SERVER, "name the nodes of one cluster, or one server");
}

#define INFO_SINGLE     "$51\r\n# Server\r\nredis_version:7.0.15\r\ncluster_enabled:0\r\n\r\n"
#define INFO_STANDALONE "$55\r\n# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n\r\n"
#define INFO_CLUSTER    "$51\r\n# Server\r\nredis_version:7.0.15\r\ncluster_enabled:1\r\n\r\n"

static void test_a_refused_map_is_no_obstacle_to_a_single_server(void **state)
{
    static const struct {
        const char *info, *map;
        smq_status status;
        const char *text;
    } rows[] = {
        {INFO_SINGLE, "-ERR unknown command 'CLUSTER', with args\r\n", SMQ_OK, ""},
        {INFO_SINGLE, "-ERR command is not allowed\r\n", SMQ_OK, ""},
        {INFO_SINGLE, "-NOPERM no permissions to run 'cluster|slots'\r\n", SMQ_OK, ""},
        {INFO_STANDALONE, "-ERR command is not allowed\r\n", SMQ_OK, ""},
        {INFO_CLUSTER, "-NOPERM no permissions to run 'cluster|slots'\r\n", SMQ_DENIED, "NOPERM"},
        {INFO_CLUSTER, "-ERR unknown command 'CLUSTER', with args\r\n", SMQ_BAD_SERVER,
         "a node of a cluster that refuses CLUSTER SLOTS"},
        {"-ERR unknown command 'INFO', with args\r\n",
         "-ERR unknown command 'CLUSTER', with args\r\n", SMQ_BAD_SERVER, "allow one of the two"},
    };
    struct nodes *nodes = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fake_node_rule(nodes->a, "INFO", rows[i].info);
        fake_node_rule(nodes->a, "CLUSTER SLOTS", rows[i].map);
        client_start(&nodes->client, fake_node_address(nodes->a), TIMEOUT_MS);
        if (nodes->client.ready != rows[i].status ||
            strstr(nodes->client.ready_text, rows[i].text) == NULL) {
            fail_msg("row %zu: %d, \"%s\"", i, (int) nodes->client.ready, nodes->client.ready_text);
        }
        if (rows[i].status == SMQ_OK) {
            outcome_assert_done(nodes_eval(nodes), "1");
        }
        client_stop(&nodes->client);
    }
}

/* One master of the map evicts, the seed does not. */
static void test_every_master_is_checked(void **state)
{
    struct nodes *nodes = *state;

    fake_node_rule(nodes->a, "CLUSTER SLOTS", nodes->map_b);
    nodes_step(nodes->b, "INFO", "$31\r\n# Server\r\nredis_version:6.2.7\r\n\r\n");
    expect_refusal(fake_node_address(nodes->a), SMQ_BAD_SERVER, fake_node_address(nodes->b));
}

static void test_a_server_that_accepts_and_says_nothing(void **state)
{
    struct nodes *nodes = *state;
    struct client client;

    nodes_step(nodes->a, "INFO", NULL);
    client_start(&client, fake_node_address(nodes->a), SHORT_MS);
    assert_int_equal(client.ready, SMQ_UNAVAILABLE);
    assert_string_not_equal(client.ready_text, "");
    client_stop(&client);
}

static void test_a_denied_info_is_no_obstacle(void **state)
{
    struct nodes *nodes = *state;

    fake_node_rule(nodes->a, "INFO", "-NOPERM no permissions to run the 'info' command\r\n");
    nodes_start(nodes, TIMEOUT_MS);
    outcome_assert_done(nodes_eval(nodes), "1");
    client_stop(&nodes->client);
}

static void test_a_full_server_is_tried_again(void **state)
{
    struct nodes *nodes = *state;
    char servers[128];

    (void) snprintf(servers, sizeof(servers), "redis://me:hunter2@%s", fake_node_address(nodes->a));
    client_start(&nodes->client, servers, TIMEOUT_MS);
    assert_int_equal(nodes->client.ready, SMQ_OK);
    fake_node_step(nodes->a, &(struct fake_step){.command = "AUTH",
                                                 .reply = "-ERR max number of clients reached\r\n",
                                                 .close = true});
    fake_node_hang_up(nodes->a);
    assert_true(fake_node_wait(nodes->a, "AUTH", 2)); /* it has seen that */
    outcome_assert_done(nodes_eval(nodes), "1");
    client_stop(&nodes->client);
}

/* What is wrong with a server may be set right while we run. */
static void test_a_server_that_is_set_right_serves_again(void **state)
{
    struct nodes *nodes = *state;

    nodes_start(nodes, TIMEOUT_MS);
    nodes_step(nodes->a, "INFO", "$31\r\n# Server\r\nredis_version:6.2.7\r\n\r\n");
    fake_node_hang_up(nodes->a);
    assert_true(wait_until(is_done, nodes, WAIT_MS));
    assert_int_equal(fake_node_count(nodes->a, "INFO"), 3);
    client_stop(&nodes->client);
}

static void test_commands_wait_for_a_server_that_is_away(void **state)
{
    struct nodes *nodes = *state;
    struct pending pending = {0};
    atomic_int ended = -1;

    nodes_start(nodes, TIMEOUT_MS);
    fake_node_stop(nodes->a);
    struct outcome outcome = client_eval(&nodes->client, &nodes_script, "k", "x", SHORT_MS);
    assert_int_not_equal(outcome.outcome, REDIS_DONE);
    outcome = client_eval(&nodes->client, &nodes_script, "k", "x", SHORT_MS);
    outcome_assert_ended(outcome, REDIS_NOT_DONE, SMQ_UNAVAILABLE);
    assert_non_null(strstr(outcome.text, fake_node_address(nodes->a)));
    pending.ended = &ended;
    client_post_eval(&nodes->client, &pending, &nodes_script, "k", "x", WAIT_MS);
    fake_node_start(nodes->a);
    assert_true(wait_until(reached, &ended, WAIT_MS));
    outcome_assert_done(pending.outcome, "1");
    client_stop(&nodes->client);
}

/* Where "moving.example" leads now, whatever port is asked for. */
static _Atomic uint16_t moving_port;

/* A name with two addresses, of which the first answers nothing. */
struct addrinfo_pair {
    struct addrinfo info[2];
    struct sockaddr_in address[2];
};

/* In the place of the system's. */
int resolve(const char *host, const char *port, const struct addrinfo *hints,
            struct addrinfo **out) __asm__("getaddrinfo") __attribute__((visibility("default")));
void resolve_free(struct addrinfo *info) __asm__("freeaddrinfo")
    __attribute__((visibility("default")));

int resolve(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **out)
{
    struct addrinfo_pair *pair = memory_new(sizeof(*pair));
    bool two = strcmp(host, "two.example") == 0, moving = strcmp(host, "moving.example") == 0;

    for (int i = 0; i < 2; i++) {
        pair->address[i].sin_family = AF_INET;
        pair->address[i].sin_port =
            htons(moving ? atomic_load(&moving_port) : (uint16_t) atoi(port));
        inet_pton(AF_INET,
                  moving ? "127.0.0.1"
                  : two  ? (i == 0 ? "127.0.0.2" : "127.0.0.1")
                         : host,
                  &pair->address[i].sin_addr);
        pair->info[i].ai_family = AF_INET;
        pair->info[i].ai_socktype = hints->ai_socktype;
        pair->info[i].ai_addr = (struct sockaddr *) &pair->address[i];
        pair->info[i].ai_addrlen = sizeof(pair->address[i]);
    }
    pair->info[0].ai_next = two ? &pair->info[1] : NULL;
    *out = pair->info;
    return 0;
}

void resolve_free(struct addrinfo *info)
{
    free(info);
}

static void test_every_address_of_a_name_is_tried(void **state)
{
    struct nodes *nodes = *state;
    char servers[64];

    (void) snprintf(servers, sizeof(servers), "two.example:%d", fake_node_port(nodes->a));
    client_start(&nodes->client, servers, TIMEOUT_MS);
    assert_string_equal(nodes->client.ready_text, "");
    assert_int_equal(nodes->client.ready, SMQ_OK);
    outcome_assert_done(nodes_eval(nodes), "1");
    client_stop(&nodes->client);
}

/* A single server whose name leads to another one after its end. */
static void test_a_name_is_looked_up_for_each_connection(void **state)
{
    struct nodes *nodes = *state;

    fake_node_rule(nodes->a, "CLUSTER SLOTS",
                   "-ERR This instance has cluster support disabled\r\n");
    atomic_store(&moving_port, (uint16_t) fake_node_port(nodes->a));
    client_start(&nodes->client, "moving.example", TIMEOUT_MS);
    assert_string_equal(nodes->client.ready_text, "");
    outcome_assert_done(nodes_eval(nodes), "1");
    atomic_store(&moving_port, (uint16_t) fake_node_port(nodes->b));
    fake_node_stop(nodes->a);
    assert_true(wait_until(is_done, nodes, WAIT_MS));
    outcome_assert_done(nodes_eval(nodes), "2");
    client_stop(&nodes->client);
}

/* The name leads to another node, while the connection to the former one lives on: that one knows
 * that the hash slot is elsewhere, at its own former address. */
static void test_moved_to_the_same_address_looks_the_name_up_again(void **state)
{
    struct nodes *nodes = *state;
    char map[128], moved[64];

    (void) snprintf(map, sizeof(map),
                    "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$14\r\nmoving.example\r\n:1\r\n");
    (void) snprintf(moved, sizeof(moved), "-MOVED %d moving.example:1\r\n", slot_hash("k", 1));
    fake_node_rule(nodes->a, "CLUSTER SLOTS", map);
    fake_node_rule(nodes->b, "CLUSTER SLOTS", map);
    atomic_store(&moving_port, (uint16_t) fake_node_port(nodes->a));
    client_start(&nodes->client, "moving.example:1", TIMEOUT_MS);
    assert_string_equal(nodes->client.ready_text, "");
    outcome_assert_done(nodes_eval(nodes), "1");
    atomic_store(&moving_port, (uint16_t) fake_node_port(nodes->b));
    fake_node_rule(nodes->a, "EVALSHA", moved);
    outcome_assert_done(nodes_eval(nodes), "2");
    client_stop(&nodes->client);
}

/* The only seed leaves for good; the nodes that it named are enough. */
static void test_the_cluster_is_found_without_its_seeds(void **state)
{
    struct nodes *nodes = *state;

    fake_node_rule(nodes->a, "CLUSTER SLOTS", nodes->map_b);
    fake_node_rule(nodes->b, "CLUSTER SLOTS", nodes->map_b);
    nodes_start(nodes, TIMEOUT_MS);
    fake_node_stop(nodes->a);
    for (int i = 0; i < 3; i++) {
        outcome_assert_done(nodes_eval(nodes), "2");
        fake_node_hang_up(nodes->b);
        assert_true(wait_until(is_done, nodes, WAIT_MS));
        nodes_step(nodes->b, "EVALSHA", "-CLUSTERDOWN The cluster is down\r\n");
        outcome_assert_done(nodes_eval(nodes), "2");
        assert_true(fake_node_wait(nodes->b, "CLUSTER SLOTS", (size_t) i + 1));
    }
    client_stop(&nodes->client);
}

/* --- maps --- */

static void test_a_cluster_that_does_not_exist_yet(void **state)
{
    struct nodes *nodes = *state;
    struct client client;

    fake_node_rule(nodes->a, "CLUSTER SLOTS", "*0\r\n");
    client_start(&client, fake_node_address(nodes->a), (int64_t) 3 * SHORT_MS);
    assert_int_equal(client.ready, SMQ_UNAVAILABLE);
    assert_non_null(strstr(client.ready_text, "create the cluster first"));
    client_stop(&client);
}

static void test_an_isolated_seed_does_not_hide_the_cluster(void **state)
{
    struct nodes *nodes = *state;
    char servers[128];

    fake_node_rule(nodes->a, "CLUSTER SLOTS", "*0\r\n");
    fake_node_rule(nodes->b, "CLUSTER SLOTS", nodes->map_b);
    (void) snprintf(servers, sizeof(servers), "%s,%s", fake_node_address(nodes->a),
                    fake_node_address(nodes->b));
    client_start(&nodes->client, servers, TIMEOUT_MS);
    assert_int_equal(nodes->client.ready, SMQ_OK);
    outcome_assert_done(nodes_eval(nodes), "2");
    client_stop(&nodes->client);
}

static void test_a_bad_map_does_not_replace_a_good_one(void **state)
{
    static const char *const texts[] = {
        "*0\r\n", "*1\r\n*3\r\n:0\r\n:100\r\n*2\r\n$9\r\n127.0.0.1\r\n:1\r\n", "+what\r\n",
        "-ERR This instance has cluster support disabled\r\n"};
    struct nodes *nodes = *state;

    nodes_start(nodes, TIMEOUT_MS);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        fake_node_rule(nodes->a, "CLUSTER SLOTS", texts[i]);
        nodes_step(nodes->a, "EVALSHA", "-CLUSTERDOWN The cluster is down\r\n");
        outcome_assert_done(nodes_eval(nodes), "1");
        assert_true(fake_node_wait(nodes->a, "CLUSTER SLOTS", i + 2));
        outcome_assert_done(nodes_eval(nodes), "1");
    }
    client_stop(&nodes->client);
}

static void test_a_part_of_a_map_is_better_than_none(void **state)
{
    struct nodes *nodes = *state;
    int slot = slot_hash("k", 1);
    char text[128];

    (void) snprintf(text, sizeof(text),
                    "*1\r\n*3\r\n:%d\r\n:%d\r\n*2\r\n$9\r\n127.0.0.1\r\n:%d\r\n", slot, slot,
                    fake_node_port(nodes->a));
    fake_node_rule(nodes->a, "CLUSTER SLOTS", text);
    nodes_start(nodes, TIMEOUT_MS);
    outcome_assert_done(nodes_eval(nodes), "1");
    struct outcome outcome = client_eval(&nodes->client, &nodes_script, "elsewhere", "x", SHORT_MS);
    outcome_assert_ended(outcome, REDIS_NOT_DONE, SMQ_UNAVAILABLE);
    assert_non_null(strstr(outcome.text, "no server is known for this hash slot"));
    client_stop(&nodes->client);
}

static void test_commands_without_a_key_avoid_a_dead_node(void **state)
{
    struct nodes *nodes = *state;
    int slot = slot_hash("k", 1);
    char text[256];

    (void) snprintf(text, sizeof(text),
                    "*2\r\n*3\r\n:0\r\n:%d\r\n*2\r\n$9\r\n127.0.0.1\r\n:%d\r\n"
                    "*3\r\n:%d\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:1\r\n",
                    slot, fake_node_port(nodes->a), slot + 1);
    fake_node_rule(nodes->a, "CLUSTER SLOTS", text);
    nodes_start(nodes, TIMEOUT_MS);
    for (int i = 0; i < 50; i++) {
        const char *const words[] = {"PING", NULL};
        outcome_assert_done(client_run(&nodes->client, NULL, words), "PONG");
    }
    client_stop(&nodes->client);
}

TEST_GROUP(connecting)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, nodes_set_up, nodes_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_refused_credentials),
        TEST(test_servers_that_will_not_do),
        TEST(test_a_refused_map_is_no_obstacle_to_a_single_server),
        TEST(test_every_master_is_checked),
        TEST(test_a_server_that_accepts_and_says_nothing),
        TEST(test_a_denied_info_is_no_obstacle),
        TEST(test_a_full_server_is_tried_again),
        TEST(test_a_server_that_is_set_right_serves_again),
        TEST(test_commands_wait_for_a_server_that_is_away),
        TEST(test_every_address_of_a_name_is_tried),
        TEST(test_a_name_is_looked_up_for_each_connection),
        TEST(test_moved_to_the_same_address_looks_the_name_up_again),
        TEST(test_the_cluster_is_found_without_its_seeds),
        TEST(test_a_cluster_that_does_not_exist_yet),
        TEST(test_an_isolated_seed_does_not_hide_the_cluster),
        TEST(test_a_bad_map_does_not_replace_a_good_one),
        TEST(test_a_part_of_a_map_is_better_than_none),
        TEST(test_commands_without_a_key_avoid_a_dead_node),
    };
#undef TEST

    return cmocka_run_group_tests_name("connecting", tests, NULL, NULL);
}
