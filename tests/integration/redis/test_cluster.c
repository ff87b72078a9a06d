/* test_cluster.c - commands to a real cluster while it changes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "client.h"
#include "model/slot.h"
#include "real_cluster.h"
#include "support/group.h"
#include "support/servers.h"
#include "support/wait.h"

enum { TIMEOUT_MS = 3000, KEYS = 300, PENDING = 2000 };

/* Appends its argument to the list, and answers the new length. */
static const char append_text[] = "#!lua\nreturn redis.call('RPUSH', KEYS[1], ARGV[1])";
static const struct script append = {.name = "append",
                                     .text = append_text,
                                     .text_len = sizeof(append_text) - 1,
                                     .sha1 = "5f96da63890be6ccc9b5f28c1d9dda13008c8b55",
                                     .keys = 1};

/* The same on two lists. */
static const char append_both_text[] = "#!lua\nredis.call('RPUSH', KEYS[1], ARGV[1]) return "
                                       "redis.call('RPUSH', KEYS[2], ARGV[1])";
static const struct script append_both = {.name = "append_both",
                                          .text = append_both_text,
                                          .text_len = sizeof(append_both_text) - 1,
                                          .sha1 = "fa253f992ad98459d5219d6c57f04b861ec7c03c",
                                          .keys = 2};

static void node_id(char out[64], const struct server *server)
{
    redisContext *context = real_cluster_connect(server);
    redisReply *reply = redisCommand(context, "CLUSTER MYID");

    (void) snprintf(out, 64, "%s", reply->str);
    freeReplyObject(reply);
    redisFree(context);
}

static void test_scripts_run_on_every_node(void **state)
{
    struct client client;

    client_start(&client, servers_redis(real_cluster), TIMEOUT_MS);
    assert_int_equal(client.ready, SMQ_OK);
    for (int i = 0; i < KEYS; i++) {
        char key[32];
        (void) snprintf(key, sizeof(key), "every-%d", i);
        struct outcome outcome = client_eval(&client, &append, key, "x", 0);
        assert_int_equal(outcome.outcome, REDIS_DONE);
        assert_string_equal(outcome.text, "1");
    }
    client_stop(&client);
}

static void test_flushed_scripts_are_loaded_again(void **state)
{
    struct client client;

    client_start(&client, servers_redis(real_cluster), TIMEOUT_MS);
    assert_string_equal(client_eval(&client, &append, "flush", "x", 0).text, "1");
    for (size_t i = 0; i < servers_count(real_cluster); i++) {
        real_cluster_tell(servers_node(real_cluster, i), "SCRIPT FLUSH");
    }
    assert_string_equal(client_eval(&client, &append, "flush", "x", 0).text, "2");
    client_stop(&client);
}

static void test_errors_of_scripts_are_partly(void **state)
{
    static const char text[] = "#!lua\nredis.call('SET', KEYS[1], 'x') return redis.call('LPUSH', "
                               "KEYS[1], ARGV[1])";
    static const struct script broken = {.name = "broken",
                                         .text = text,
                                         .text_len = sizeof(text) - 1,
                                         .sha1 = "0000000000000000000000000000000000000000",
                                         .keys = 1};
    struct script script = broken;
    struct client client;
    char sha1[41] = "";

    redisContext *context = real_cluster_connect(servers_node(real_cluster, 0));
    redisReply *reply = redisCommand(context, "SCRIPT LOAD %b", text, sizeof(text) - 1);
    (void) snprintf(sha1, sizeof(sha1), "%s", reply->str);
    freeReplyObject(reply);
    redisFree(context);
    script.sha1 = sha1;
    client_start(&client, servers_redis(real_cluster), TIMEOUT_MS);
    struct outcome outcome = client_eval(&client, &script, "partly", "x", 0);
    assert_int_equal(outcome.outcome, REDIS_PARTLY);
    assert_non_null(strstr(outcome.text, "WRONGTYPE"));
    client_stop(&client);
}

static bool all_ended(void *arg)
{
    return atomic_load((atomic_int *) arg) == PENDING;
}

/* Move the hash slot of `key` by hand, key by key, as redis-cli does it. */
static void move_slot(const char *key, struct server *from, struct server *to)
{
    char from_id[64], to_id[64];
    int slot = slot_hash(key, strlen(key));

    node_id(from_id, from);
    node_id(to_id, to);
    real_cluster_tell(to, "CLUSTER SETSLOT %d IMPORTING %s", slot, from_id);
    real_cluster_tell(from, "CLUSTER SETSLOT %d MIGRATING %s", slot, to_id);
    real_cluster_tell(from, "MIGRATE 127.0.0.1 %d %s 0 3000", server_port(to), key);
    for (size_t i = 0; i < servers_count(real_cluster); i++) {
        real_cluster_tell(servers_node(real_cluster, i), "CLUSTER SETSLOT %d NODE %s", slot, to_id);
    }
}

static void test_order_survives_a_move(void **state)
{
    struct client client;
    struct pending *pending = calloc(PENDING, sizeof(*pending));
    atomic_int ended = 0;
    struct server *from = servers_node_of(real_cluster, "moving");
    struct server *to = servers_node(real_cluster, from == servers_node(real_cluster, 0) ? 1 : 0);

    client_start(&client, servers_redis(real_cluster), TIMEOUT_MS);
    for (int i = 0; i < PENDING; i++) {
        char text[16];
        (void) snprintf(text, sizeof(text), "%d", i);
        pending[i].ended = &ended;
        client_post_eval(&client, &pending[i], &append, "moving", text, 20000);
        if (i == PENDING / 4) {
            move_slot("moving", from, to);
        } else if (i == PENDING / 2) {
            move_slot("moving", to, from);
        }
    }
    assert_true(wait_until(all_ended, &ended, 30000));
    redisContext *context = real_cluster_connect(from);
    redisReply *reply = redisCommand(context, "LRANGE moving 0 -1");
    assert_int_equal(reply->elements, PENDING);
    for (int i = 0; i < PENDING; i++) {
        assert_int_equal(pending[i].outcome.outcome, REDIS_DONE);
        assert_int_equal(atoi(reply->element[i]->str), i);
    }
    freeReplyObject(reply);
    redisFree(context);
    client_stop(&client);
    free(pending);
}

static void send_both(struct loop_task *task)
{
    struct pending *pending = (struct pending *) ((char *) task - offsetof(struct pending, task));

    redis_send(pending->client->redis, &pending->command);
}

static void on_both_done(const struct redis_result *result, void *user)
{
    struct pending *pending = user;

    pending->outcome.outcome = result->outcome;
    redis_command_fini(&pending->command);
    atomic_fetch_add(pending->ended, 1);
}

static void post_both(struct client *client, struct pending *pending, int number)
{
    redis_command_init(&pending->command, &append_both, slot_hash("{two}1", 6), on_both_done,
                       pending);
    pending->command.timeout_ms = 30000;
    redis_arg_string(&pending->command, "{two}1");
    redis_arg_string(&pending->command, "{two}2");
    redis_arg_int(&pending->command, number);
    pending->client = client;
    pending->task.run = send_both;
    loop_post(client->loop, &pending->task);
}

static void assert_counts_up(const struct server *server, const char *key)
{
    redisContext *context = real_cluster_connect(server);
    redisReply *reply = redisCommand(context, "LRANGE %s 1 -1", key);

    assert_int_equal(reply->elements, PENDING);
    for (int i = 0; i < PENDING; i++) {
        assert_int_equal(atoi(reply->element[i]->str), i);
    }
    freeReplyObject(reply);
    redisFree(context);
}

static bool is_on_its_way(void *arg)
{
    return atomic_load((atomic_int *) arg) > PENDING / 4;
}

/* While the keys of a script are split over two nodes it waits; nothing is lost or done twice. Both
 * lists begin with a sentinel, as no list of ours may be missing. */
static void test_scripts_of_two_keys_survive_a_move(void **state)
{
    struct client client;
    struct pending *pending = calloc(PENDING, sizeof(*pending));
    atomic_int ended = 0;
    char from_id[64], to_id[64];
    struct server *from = servers_node_of(real_cluster, "{two}1");
    struct server *to = servers_node(real_cluster, from == servers_node(real_cluster, 0) ? 1 : 0);
    int slot = slot_hash("{two}1", 6);

    node_id(from_id, from);
    node_id(to_id, to);
    real_cluster_tell(from, "RPUSH {two}1 sentinel");
    real_cluster_tell(from, "RPUSH {two}2 sentinel");
    client_start(&client, servers_redis(real_cluster), TIMEOUT_MS);
    for (int i = 0; i < PENDING; i++) {
        pending[i].ended = &ended;
        post_both(&client, &pending[i], i);
    }
    assert_true(wait_until(is_on_its_way, &ended, 30000));
    real_cluster_tell(to, "CLUSTER SETSLOT %d IMPORTING %s", slot, from_id);
    real_cluster_tell(from, "CLUSTER SETSLOT %d MIGRATING %s", slot, to_id);
    real_cluster_tell(from, "MIGRATE 127.0.0.1 %d {two}1 0 3000", server_port(to));
    real_cluster_tell(from, "MIGRATE 127.0.0.1 %d {two}2 0 3000", server_port(to));
    for (size_t i = 0; i < servers_count(real_cluster); i++) {
        real_cluster_tell(servers_node(real_cluster, i), "CLUSTER SETSLOT %d NODE %s", slot, to_id);
    }
    assert_true(wait_until(all_ended, &ended, 30000));
    for (int i = 0; i < PENDING; i++) {
        assert_int_equal(pending[i].outcome.outcome, REDIS_DONE);
    }
    assert_counts_up(to, "{two}1");
    assert_counts_up(to, "{two}2");
    client_stop(&client);
    free(pending);
}

static void test_followed_redirects_are_counted(void **state)
{
    struct client client;
    struct server *from = servers_node_of(real_cluster, "counted");
    struct server *to = servers_node(real_cluster, from == servers_node(real_cluster, 0) ? 1 : 0);

    client_start(&client, servers_redis(real_cluster), TIMEOUT_MS);
    assert_string_equal(client_eval(&client, &append, "counted", "x", 0).text, "1");
    assert_int_equal(redis_counts(client.redis).redirects, 0);
    move_slot("counted", from, to);
    assert_string_equal(client_eval(&client, &append, "counted", "x", 10000).text, "2");
    assert_true(redis_counts(client.redis).redirects > 0);
    assert_int_equal(redis_counts(client.redis).reconnects, 0);
    client_stop(&client);
}

static bool has_reconnected(void *arg)
{
    struct client *client = arg;

    (void) client_eval(client, &append, "again", "x", 10000);
    return redis_counts(client->redis).reconnects == 1;
}

static void test_reconnects_are_counted(void **state)
{
    struct client client;

    client_start(&client, servers_redis(real_cluster), TIMEOUT_MS);
    assert_string_equal(client_eval(&client, &append, "again", "x", 0).text, "1");
    assert_int_equal(redis_counts(client.redis).reconnects, 0);
    real_cluster_tell(servers_node_of(real_cluster, "again"), "CLIENT KILL TYPE normal");
    assert_true(wait_until(has_reconnected, &client, TIMEOUT_MS));
    client_stop(&client);
}

static void test_a_paused_node_is_unknown_then_serves_again(void **state)
{
    struct client client;
    struct server *node = servers_node_of(real_cluster, "paused");

    client_start(&client, servers_redis(real_cluster), TIMEOUT_MS);
    assert_string_equal(client_eval(&client, &append, "paused", "x", 0).text, "1");
    server_pause(node);
    struct outcome outcome = client_eval(&client, &append, "paused", "x", 300);
    assert_int_equal(outcome.outcome, REDIS_UNKNOWN);
    assert_int_equal(outcome.status, SMQ_UNKNOWN);
    server_resume(node);
    outcome = client_eval(&client, &append, "paused", "x", 10000);
    assert_int_equal(outcome.outcome, REDIS_DONE);
    client_stop(&client);
    assert_true(servers_wait(real_cluster, 20000));
}

static void test_a_killed_node_is_waited_for(void **state)
{
    struct client client;
    struct server *node = servers_node_of(real_cluster, "killed");
    struct pending pending = {0};
    atomic_int ended = PENDING - 1;

    client_start(&client, servers_redis(real_cluster), TIMEOUT_MS);
    assert_string_equal(client_eval(&client, &append, "killed", "x", 0).text, "1");
    server_kill(node);
    struct outcome outcome = client_eval(&client, &append, "killed", "x", 300);
    assert_int_not_equal(outcome.outcome, REDIS_DONE);
    pending.ended = &ended;
    client_post_eval(&client, &pending, &append, "killed", "x", 30000);
    assert_true(server_restart(node));
    assert_true(wait_until(all_ended, &ended, 30000));
    assert_int_equal(pending.outcome.outcome, REDIS_DONE);
    client_stop(&client);
    assert_true(servers_wait(real_cluster, 20000));
}

static void test_no_server_is_said_at_once(void **state)
{
    struct client client;

    client_start(&client, "127.0.0.1:1", TIMEOUT_MS);
    assert_int_equal(client.ready, SMQ_UNAVAILABLE);
    assert_non_null(strstr(client.ready_text, "127.0.0.1:1"));
    client_stop(&client);
}

static void test_stopping_ends_what_waits(void **state)
{
    struct client client;
    struct pending *pending = calloc(PENDING, sizeof(*pending));
    atomic_int ended = 0;

    client_start(&client, servers_redis(real_cluster), TIMEOUT_MS);
    for (int i = 0; i < PENDING; i++) {
        pending[i].ended = &ended;
        client_post_eval(&client, &pending[i], &append, "stopping", "x", 0);
    }
    client_stop(&client);
    assert_int_equal(atomic_load(&ended), PENDING);
    free(pending);
}

static void test_evicting_and_single_servers(void **state)
{
    const char *const evicting[] = {"maxmemory 100mb", "maxmemory-policy allkeys-lru", NULL};
    struct servers_options options = {.redis = REDIS_SINGLE, .redis_config = evicting};
    struct servers *bad = servers_start(&options);
    struct client client;

    client_start(&client, servers_redis(bad), TIMEOUT_MS);
    assert_int_equal(client.ready, SMQ_BAD_SERVER);
    assert_non_null(strstr(client.ready_text, "maxmemory-policy noeviction"));
    client_stop(&client);
    servers_free(bad);

    options.redis_config = NULL;
    struct servers *single = servers_start(&options);
    client_start(&client, servers_redis(single), TIMEOUT_MS);
    assert_int_equal(client.ready, SMQ_OK);
    assert_string_equal(client_eval(&client, &append, "a", "x", 0).text, "1");
    assert_string_equal(client_eval(&client, &append, "b", "x", 0).text, "1");
    client_stop(&client);
    servers_free(single);
}

/* As managed services restrict a server. */
static void test_single_servers_that_refuse_commands(void **state)
{
    static const struct {
        const char *config;
        smq_status status;
        const char *text;
    } rows[] = {
        {"rename-command CLUSTER \"\"", SMQ_OK, ""},
        {"user default on nopass ~* &* +@all -cluster", SMQ_OK, ""},
        {"rename-command INFO \"\"", SMQ_OK, ""},
        {"user default on nopass ~* &* +@all -info", SMQ_OK, ""},
        {"user default on nopass ~* &* +@all -info -cluster", SMQ_DENIED, "cluster|slots"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *const config[] = {rows[i].config, NULL};
        struct servers_options options = {.redis = REDIS_SINGLE, .redis_config = config};
        struct servers *single = servers_start(&options);
        struct client client;

        if (single == NULL) {
            fail_msg("no server with %s", rows[i].config);
        }
        client_start(&client, servers_redis(single), TIMEOUT_MS);
        if (client.ready != rows[i].status || strstr(client.ready_text, rows[i].text) == NULL) {
            fail_msg("%s: %d, \"%s\"", rows[i].config, (int) client.ready, client.ready_text);
        }
        if (client.ready == SMQ_OK) {
            assert_string_equal(client_eval(&client, &append, "a", "x", 0).text, "1");
        }
        client_stop(&client);
        servers_free(single);
    }
}

static void test_passwords(void **state)
{
    const char *const secret[] = {"requirepass se:cret", NULL};
    struct servers_options options = {.redis = REDIS_SINGLE, .redis_config = secret};
    struct servers *single = servers_start(&options);
    char uri[128];
    struct client client;

    if (single == NULL) {
        fail_msg("no server with a password");
    }
    client_start(&client, servers_redis(single), TIMEOUT_MS);
    assert_int_equal(client.ready, SMQ_DENIED);
    client_stop(&client);
    (void) snprintf(uri, sizeof(uri), "redis://:wrong@%s", servers_redis(single));
    client_start(&client, uri, TIMEOUT_MS);
    assert_int_equal(client.ready, SMQ_DENIED);
    assert_null(strstr(client.ready_text, "wrong@"));
    client_stop(&client);
    (void) snprintf(uri, sizeof(uri), "redis://default:se%%3Acret@%s", servers_redis(single));
    client_start(&client, uri, TIMEOUT_MS);
    assert_int_equal(client.ready, SMQ_OK);
    client_stop(&client);
    servers_free(single);
}

TEST_GROUP(cluster)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scripts_run_on_every_node),
        cmocka_unit_test(test_flushed_scripts_are_loaded_again),
        cmocka_unit_test(test_errors_of_scripts_are_partly),
        cmocka_unit_test(test_order_survives_a_move),
        cmocka_unit_test(test_scripts_of_two_keys_survive_a_move),
        cmocka_unit_test(test_followed_redirects_are_counted),
        cmocka_unit_test(test_reconnects_are_counted),
        cmocka_unit_test(test_a_paused_node_is_unknown_then_serves_again),
        cmocka_unit_test(test_a_killed_node_is_waited_for),
        cmocka_unit_test(test_no_server_is_said_at_once),
        cmocka_unit_test(test_stopping_ends_what_waits),
        cmocka_unit_test(test_evicting_and_single_servers),
        cmocka_unit_test(test_single_servers_that_refuse_commands),
        cmocka_unit_test(test_passwords),
    };

    return cmocka_run_group_tests_name("redis cluster", tests, real_cluster_start,
                                       real_cluster_stop);
}
