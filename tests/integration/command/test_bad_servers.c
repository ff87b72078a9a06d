/* test_bad_servers.c - no server, a wrong one, a wrong password: each is reported, with its exit
 * code.
 */
#include "command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/group.h"
#include "support/port.h"
#include "support/wait.h"

/* "127.0.0.1:PORT" on which no process listens while `port` is reserved. */
static void nowhere(char *address, size_t size, struct port *port)
{
    assert_true(port_reserve(port, false));
    snprintf(address, size, "127.0.0.1:%d", port->number);
}

static void test_no_redis(void **state)
{
    struct port port;
    char address[32];

    nowhere(address, sizeof(address), &port);
    command_refused(69, address, NULL, ARGS("-r", address, "topic", "list"));
    command_refused(69, address, NULL, ARGS("-r", address, "send", "t", "x"));
    command_refused(69, address, NULL, ARGS("-r", address, "consume", "t"));
    command_refused(69, address, NULL, ARGS("stat", "--json", "-r", address));
    port_release(&port);
}

static void test_addresses_that_are_none(void **state)
{
    static const char *const addresses[] = {"localhost:", "localhost:99999999", ":6379",
                                            "http://localhost:6379"};

    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        command_refused(64, "host:port", NULL, ARGS("-r", addresses[i], "topic", "list"));
    }
}

static void test_a_socket_that_does_not_exist(void **state)
{
    command_refused(69, "/nowhere/redis.sock: no such file or directory", NULL,
                    ARGS("-r", "/nowhere/redis.sock", "topic", "list"));
}

/* With a comma behind the last, and with the database of every cluster. */
static void test_addresses_as_people_write_them(void **state)
{
    static const char *const forms[] = {"%s,", "redis://%s/", "redis://%s/0", "redis://%s,/0"};
    struct servers *servers = servers_start(&(struct servers_options){.redis = REDIS_SINGLE});
    char address[64];

    assert_non_null(servers);
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        snprintf(address, sizeof(address), forms[i], servers_redis(servers));
        command_done(NULL, ARGS("-r", address, "topic", "list"));
    }
    servers_free(servers);
}

/* No machine has the address 192.0.2.1; the port is the one that the error names. */
static void test_a_port_may_be_left_out(void **state)
{
    struct servers *servers = servers_start(&(struct servers_options){.redis = REDIS_SINGLE});

    assert_non_null(servers);
    const char *redis = servers_redis(servers);
    command_refused(
        69, "192.0.2.1:6379", NULL,
        ARGS("-r", "redis://192.0.2.1/0", "-X", "connect_timeout_ms=500ms", "topic", "list"));
    command_done(NULL, ARGS("-r", redis, "topic", "create", "t", "--type", "priority"));
    command_refused(69, "192.0.2.1:2181 ", NULL,
                    ARGS("-r", redis, "-z", "192.0.2.1,/team", "-X", "session_timeout_ms=500ms",
                         "consume", "t"));
    servers_free(servers);
}

static void test_no_zookeeper(void **state)
{
    struct servers *servers = servers_start(&(struct servers_options){.redis = REDIS_SINGLE});
    struct port port;
    char address[32];

    assert_non_null(servers);
    const char *redis = servers_redis(servers);
    nowhere(address, sizeof(address), &port);
    command_done(NULL, ARGS("-r", redis, "topic", "create", "t", "--type", "priority"));
    command_done(NULL, ARGS("-r", redis, "-z", address, "send", "t", "x")); /* needs none */
    command_refused(69, "ZooKeeper", NULL, ARGS("-r", redis, "-z", address, "consume", "t"));
    command_refused(64, "\"non sense\"", NULL,
                    ARGS("-r", redis, "-z", "non sense", "consume", "t"));
    command_refused(64, "\"127.0.0.1:0\"", NULL,
                    ARGS("-r", redis, "-z", "127.0.0.1:0", "consume", "t"));
    /* The topic was not given to a fleet that could not be reached. */
    char *out = command_out(NULL, ARGS("-r", redis, "consume", "t", "--count", "1"));
    assert_string_equal(out, "x\n");
    free(out);
    port_release(&port);
    servers_free(servers);
}

/* Other servers close the connection when they read what is said to Redis. */
static void test_a_server_that_is_not_redis_is_asked_about(void **state)
{
    struct servers *servers =
        servers_start(&(struct servers_options){.redis = REDIS_SINGLE, .zookeeper = true});
    char asked[160];

    assert_non_null(servers);
    const char *zookeeper = servers_zookeeper(servers);
    snprintf(asked, sizeof(asked),
             "%s: it closed the connection without a reply: is it a Redis server?", zookeeper);
    command_refused(69, asked, NULL, ARGS("-r", zookeeper, "topic", "list"));
    servers_free(servers);
}

/* Those that let nobody load a script, or that know nothing of scripts. */
static void test_a_server_without_scripts_is_named(void **state)
{
    static const char *const configs[][3] = {
        {"rename-command SCRIPT \"\""},
        {"rename-command SCRIPT \"\"", "rename-command EVALSHA \"\""},
    };

    for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
        struct servers *servers = servers_start(
            &(struct servers_options){.redis = REDIS_SINGLE, .redis_config = configs[i]});

        assert_non_null(servers);
        command_refused(
            78, "runs no Lua scripts", NULL,
            ARGS("-r", servers_redis(servers), "topic", "create", "t", "--type", "fifo"));
        servers_free(servers);
    }
}

/* At once: the servers may evict what has a time to live, which nothing has. */
static void test_a_server_that_evicts_what_has_a_time_to_live_will_do(void **state)
{
    static const char *const config[] = {"maxmemory 100mb", "maxmemory-policy volatile-lru", NULL};
    struct servers *servers =
        servers_start(&(struct servers_options){.redis = REDIS_SINGLE, .redis_config = config});

    assert_non_null(servers);
    command_done(NULL,
                 ARGS("-r", servers_redis(servers), "topic", "create", "t", "--type", "priority"));
    servers_free(servers);
}

static void test_a_wrong_password_is_denied(void **state)
{
    static const char *const config[] = {"requirepass secret", NULL};
    struct servers *servers =
        servers_start(&(struct servers_options){.redis = REDIS_SINGLE, .redis_config = config});
    char address[64];

    assert_non_null(servers);
    command_refused(77, "", NULL, ARGS("-r", servers_redis(servers), "topic", "list"));
    snprintf(address, sizeof(address), "redis://:wrong-guess@%s", servers_redis(servers));
    struct run run;
    command_run(&run, NULL, ARGS("-r", address, "topic", "list"));
    assert_refused(&run, 77, "");
    assert_null(strstr(run.err, "wrong-guess"));
    run_fini(&run);
    snprintf(address, sizeof(address), "redis://:secret@%s", servers_redis(servers));
    command_done(NULL, ARGS("-r", address, "topic", "list"));
    servers_free(servers);
}

static void test_a_server_that_evicts_keys_is_refused(void **state)
{
    static const char *const config[] = {"maxmemory 100mb", "maxmemory-policy allkeys-lru", NULL};
    struct servers *servers =
        servers_start(&(struct servers_options){.redis = REDIS_SINGLE, .redis_config = config});

    assert_non_null(servers);
    command_refused(78, "noeviction", NULL, ARGS("-r", servers_redis(servers), "topic", "list"));
    servers_free(servers);
}

static void test_a_full_redis_is_told_with_what_was_sent(void **state)
{
    enum { LINES = 200, WIDTH = 50000 };
    static const char *const config[] = {"maxmemory 6mb", NULL};
    struct servers *servers =
        servers_start(&(struct servers_options){.redis = REDIS_SINGLE, .redis_config = config});
    char *text = malloc((size_t) LINES * WIDTH + 1);
    struct run run;

    assert_non_null(servers);
    assert_non_null(text);
    memset(text, 'x', (size_t) LINES * WIDTH);
    for (int i = 0; i < LINES; i++) {
        char *line = text + (ptrdiff_t) i * WIDTH;
        line[snprintf(line, 16, "%d", i)] = ' ';
        line[WIDTH - 1] = '\n';
    }
    text[(size_t) LINES * WIDTH] = '\0';
    const char *redis = servers_redis(servers);
    command_done(NULL, ARGS("-r", redis, "topic", "create", "t", "--type", "priority"));
    command_run(&run, text, ARGS("-r", redis, "send", "t", "--key-field", "1"));
    assert_refused(&run, 75, "line ");
    assert_non_null(strstr(run.err, "maxmemory"));
    const char *sent = strstr(run.err, "; sent ");
    assert_non_null(sent);
    json_t *document = command_json(NULL, ARGS("-r", redis, "stat", "t", "--json"));
    const json_t *topic = json_array_get(json_object_get(document, "topics"), 0);
    assert_int_equal(strtol(sent + strlen("; sent "), NULL, 10), json_number(topic, "waiting"));
    json_decref(document);
    run_fini(&run);
    free(text);
    servers_free(servers);
}

static bool is_gone(void *arg)
{
    return !port_answers(server_port(arg));
}

/* The program takes the server down: whether its answer was stored is not known. */
static void test_an_answer_that_cannot_be_stored_is_told(void **state)
{
    struct servers *servers = servers_start(&(struct servers_options){.redis = REDIS_SINGLE});
    char pid[16];
    struct run run;

    assert_non_null(servers);
    const char *redis = servers_redis(servers);
    struct server *server = servers_node(servers, 0);
    snprintf(pid, sizeof(pid), "%d", (int) server_pid(server));
    command_done(NULL, ARGS("-r", redis, "topic", "create", "t", "--type", "priority"));
    command_done(NULL, ARGS("-r", redis, "send", "t", "x"));
    command_start(&run, NULL,
                  ARGS("-r", redis, "consume", "t", "--count", "1", "--drain-timeout", "200ms",
                       "--", "kill", "-9", pid));
    assert_true(wait_until(is_gone, server, TIMEOUT_MS));
    run_signal(&run, SIGTERM);
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_int_equal(run.exit_code, 75);
    assert_non_null(strstr(run.err, redis)); /* it is away */
    assert_non_null(strstr(run.err, "the drain time has ended"));
    run_fini(&run);
    servers_free(servers);
}

TEST_GROUP(bad_servers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_redis),
        cmocka_unit_test(test_addresses_that_are_none),
        cmocka_unit_test(test_a_socket_that_does_not_exist),
        cmocka_unit_test(test_addresses_as_people_write_them),
        cmocka_unit_test(test_a_port_may_be_left_out),
        cmocka_unit_test(test_no_zookeeper),
        cmocka_unit_test(test_a_server_that_is_not_redis_is_asked_about),
        cmocka_unit_test(test_a_server_without_scripts_is_named),
        cmocka_unit_test(test_a_server_that_evicts_what_has_a_time_to_live_will_do),
        cmocka_unit_test(test_a_wrong_password_is_denied),
        cmocka_unit_test(test_a_server_that_evicts_keys_is_refused),
        cmocka_unit_test(test_a_full_redis_is_told_with_what_was_sent),
        cmocka_unit_test(test_an_answer_that_cannot_be_stored_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
