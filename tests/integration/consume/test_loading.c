/* test_loading.c - a master dies while a fleet consumes and a producer sends, and returns with what
 * its append-only file has: while it reads that, it answers LOADING. */
#include <stdio.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/load.h"
#include "support/commandstats.h"
#include "support/group.h"
#include "support/long_form.h"
#include "support/wait.h"

/* Without replicas, and with time to load. */
static int start(void **state)
{
    static const char *const config[] = {"appendonly yes", "appendfsync everysec",
                                         "auto-aof-rewrite-percentage 0", NULL};
    struct servers_options options = {
        .redis = REDIS_CLUSTER, .redis_config = config, .zookeeper = true};

    return cluster_start(&options);
}

/* Make the server read its file for at least 20 s, until key-load-delay is 0 again. */
static void make_loading_slow(const struct server *server)
{
    char key[32] = "padding";

    for (int i = 0; servers_node_of(cluster_servers(), key) != server; i++) {
        snprintf(key, sizeof(key), "padding{%d}", i);
    }
    freeReplyObject(keys_command_at(server, "EVAL %s 1 %s",
                                    "for i = 1, 100000 do redis.call('INCR', KEYS[1]) end", key));
    freeReplyObject(keys_command_at(server, "CONFIG SET key-load-delay 200")); /* us a command */
    freeReplyObject(keys_command_at(server, "CONFIG REWRITE"));
}

/* Has the server, which reads its file, refused a script of ours?  It may not listen yet. */
static bool has_refused_a_script(void *arg)
{
    const struct server *server = arg;
    redisContext *redis = redisConnect("127.0.0.1", server_port(server));
    redisReply *reply = NULL;
    bool refused;

    assert_non_null(redis);
    if (redis->err == 0) {
        reply = redisCommand(redis, "INFO commandstats");
    }
    refused = reply != NULL && reply->type == REDIS_REPLY_STRING &&
              commandstats_read(reply->str, "evalsha", "rejected_calls") > 0;
    freeReplyObject(reply);
    redisFree(redis);
    return refused;
}

/* Redis alone dies, so its file has everything that it confirmed. */
static void nothing_is_lost_or_handled_twice_when_a_master_loads_its_data(void **state)
{
    struct load *load = load_start(*state);
    struct server *server = load_master(load, 0);

    load_send(load, long_form(SIZE_LOADING_MESSAGES));
    load_await_handled(load);
    make_loading_slow(server);
    load_send(load, long_form(SIZE_BURST));
    server_kill(server);
    load_send(load, long_form(SIZE_BURST));
    assert_true(server_launch(server));
    assert_true(wait_until(has_refused_a_script, server, TIMEOUT_MS));
    freeReplyObject(keys_command_at(server, "CONFIG SET key-load-delay 0"));
    assert_true(server_await(server));
    assert_true(servers_wait(cluster_servers(), TIMEOUT_MS));
    load_send(load, long_form(SIZE_BURST));
    load_end_each_once(load);
}

TEST_GROUP(loading)
{
    const struct CMUnitTest tests[] = {
        LOAD_TESTS(nothing_is_lost_or_handled_twice_when_a_master_loads_its_data),
    };

    return cmocka_run_group_tests_name("loading", tests, start, cluster_end);
}
