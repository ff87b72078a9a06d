/* test_loading.c - a master dies while a fleet consumes and a producer sends, and returns with what
 * its append-only file has: while it reads that, it answers LOADING. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/load.h"
#include "support/long_form.h"
#include "support/wait.h"

/* Without replicas, and with time to load. */
static int start(void **state)
{
    static const char *const config[] = {"appendonly yes", "appendfsync everysec",
                                         "auto-aof-rewrite-percentage 0", NULL};
    struct servers_options options = {
        .redis = REDIS_CLUSTER, .redis_config = config, .zookeeper = true};

    (void) state;
    return cluster_start(&options);
}

/* How often the server refused a script of ours. */
static int64_t scripts_refused(const struct server *server)
{
    redisReply *reply = keys_command_at(server, "INFO commandstats");
    const char *at = strstr(reply->str, "cmdstat_evalsha:");
    int64_t refused = 0;

    at = at != NULL ? strstr(at, "rejected_calls=") : NULL;
    if (at != NULL) {
        refused = strtoll(at + strlen("rejected_calls="), NULL, 10);
    }
    freeReplyObject(reply);
    return refused;
}

/* Redis alone dies, so its file has everything that it confirmed. */
static void nothing_is_lost_or_handled_twice_when_a_master_loads_its_data(void **state)
{
    struct load *load = load_start(*state);
    struct server *server = load_master(load, 0);

    load_send(load, long_form(SIZE_LOADING_MESSAGES));
    load_await_handled(load);
    freeReplyObject(keys_command_at(server, "CONFIG SET key-load-delay 200")); /* us a command */
    freeReplyObject(keys_command_at(server, "CONFIG REWRITE"));
    load_send(load, long_form(SIZE_BURST));
    server_kill(server);
    load_send(load, long_form(SIZE_BURST));
    assert_true(server_restart(server));
    assert_true(scripts_refused(server) > 0);
    assert_true(servers_wait(cluster_servers(), TIMEOUT_MS));
    load_send(load, long_form(SIZE_BURST));
    load_end_each_once(load);
    freeReplyObject(keys_command_at(server, "CONFIG SET key-load-delay 0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOAD_TESTS(nothing_is_lost_or_handled_twice_when_a_master_loads_its_data),
    };

    return cmocka_run_group_tests_name("loading", tests, start, cluster_end);
}
