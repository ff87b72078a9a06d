/* test_doctor.c - slotmq doctor looks at real servers: what is wrong is found, and what is whole is
 * not. */
#include "doctor.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/group.h"
#include "support/wait.h"

static const char *zookeeper;

/* A cluster at which nothing is to be found. */
static int setup(void **state)
{
    static const char *const config[] = {"appendonly yes", "appendfsync everysec", NULL};
    const int failed = command_setup_with(&(struct servers_options){
        .redis = REDIS_CLUSTER, .replicas = 1, .redis_config = config, .zookeeper = true});

    zookeeper = failed != 0 ? NULL : servers_zookeeper(command_servers());
    return failed;
}

static struct server *node(size_t number)
{
    return servers_node(command_servers(), number);
}

static void test_nothing_is_found(void **state)
{
    json_t *document = NULL;
    const json_t *finding = NULL;
    char *shown = NULL;

    document = doctor_run(0, ARGS("-z", zookeeper));
    assert_string_equal(json_text(document, "severity"), "ok");
    finding = json_array_get(json_object_get(document, "findings"), 0);
    assert_members(
        finding, (const char *const[]){"check", "severity", "subject", "finding", "advice", NULL});
    assert_found(document, "clocks", "ok", "", "nothing was found");
    json_decref(document);
    document = doctor_run(0, ARGS("-X", "name=nobody"));
    assert_found(document, "zookeeper", "unknown", "", "no ZooKeeper was given");
    json_decref(document);
    shown = command_drawn(80, ARGS("doctor", "-z", zookeeper));
    assert_width(shown, 80);
    assert_non_null(strstr(shown, "persistence"));
    free(shown);
}

static void test_eviction_is_found(void **state)
{
    json_t *document = NULL;

    command_redis(node(1), ARGS("CONFIG", "SET", "maxmemory-policy", "allkeys-lru"));
    document = doctor_run(1, ARGS("-z", zookeeper));
    assert_found(document, "memory", "warning", server_address(node(1)), "allkeys-lru");
    json_decref(document);
    command_redis(node(1), ARGS("CONFIG", "SET", "maxmemory", "1gb"));
    document = doctor_run(2, ARGS("-z", zookeeper));
    assert_found(document, "redis", "error", "", server_address(node(1)));
    assert_found(document, "redis", "error", "", "maxmemory-policy allkeys-lru");
    json_decref(document);
    command_redis(node(1), ARGS("CONFIG", "SET", "maxmemory-policy", "noeviction"));
    command_redis(node(1), ARGS("CONFIG", "SET", "maxmemory", "0"));
    json_decref(doctor_run(0, ARGS("-z", zookeeper)));
}

static bool replica_is_missed(void *arg)
{
    struct run run;
    bool missed = false;

    (void) arg;
    command_run(&run, NULL, ARGS("doctor", "-z", zookeeper));
    missed = strstr(run.out, "0 of its 1 replicas") != NULL;
    run_fini(&run);
    return missed;
}

static void test_a_replica_that_is_away_is_found(void **state)
{
    json_t *document = NULL;

    server_kill(node(3)); /* of master 0 */
    assert_true(wait_until(replica_is_missed, NULL, TIMEOUT_MS));
    document = doctor_run(2, ARGS("-z", zookeeper));
    assert_found(document, "replicas", "error", server_address(node(0)), "0 of its 1 replicas");
    assert_not_found(document, "redis");
    json_decref(document);
    assert_true(server_restart(node(3)));
    assert_true(servers_wait(command_servers(), TIMEOUT_MS));
}

static void test_a_master_that_is_away_costs_one_time_out(void **state)
{
    json_t *document = NULL;

    command_done(NULL, ARGS("topic", "create", "wide", "--slots", "1024"));
    server_pause(node(0));
    server_pause(node(3)); /* nobody takes over */
    document = doctor_run(
        2, ARGS("-r", server_address(node(1)), "-z", zookeeper, "-X", "request_timeout_ms=1000"));
    assert_found(document, "redis", "error", server_address(node(0)), "");
    assert_found(document, "damage", "unknown", "", "when all Redis masters answer");
    json_decref(document);
    server_resume(node(0));
    server_resume(node(3));
    assert_true(servers_wait(command_servers(), TIMEOUT_MS));
    command_done(NULL, ARGS("topic", "delete", "wide", "--yes"));
}

/* The other masters have noticed that one is away. */
static bool cluster_is_found(void *arg)
{
    const char *redis = arg;
    json_t *document = doctor_run(2, ARGS("-r", redis, "-X", "request_timeout_ms=1s"));
    const bool found = doctor_found(document, "cluster", "error", "", "");

    json_decref(document);
    return found;
}

/* It needs nothing but to run again: its hash slots and messages are there. */
static void test_a_frozen_master_is_to_be_woken(void **state)
{
    char redis[64];
    char *shown = NULL;
    json_t *document = NULL;

    snprintf(redis, sizeof(redis), "%s", server_address(node(1)));
    server_pause(node(0));
    server_pause(node(3)); /* nobody takes over */
    assert_true(wait_until(cluster_is_found, redis, TIMEOUT_MS));
    document = doctor_run(2, ARGS("-r", redis, "-X", "request_timeout_ms=1s"));
    shown = json_dumps(document, 0);
    assert_non_null(shown);
    assert_null(strstr(shown, "redis-cli"));
    free(shown);
    json_decref(document);
    server_resume(node(0));
    server_resume(node(3));
    assert_true(servers_wait(command_servers(), TIMEOUT_MS));
}

static void test_a_slot_that_lost_its_key_is_found(void **state)
{
    const struct server *master = NULL;
    json_t *document = NULL;

    command_done(NULL, ARGS("topic", "create", "torn", "--slots", "4"));
    master = servers_node_of(command_servers(), "slot{torn_2}");
    assert_non_null(master);
    command_redis(master, ARGS("DEL", "slot{torn_2}"));
    document = doctor_run(2, ARGS("-z", zookeeper));
    assert_found(document, "damage", "error", "torn", "lost a part of 1 of its slots");
    json_decref(document);
    command_done(NULL, ARGS("topic", "repair", "torn"));
    json_decref(doctor_run(0, ARGS("-z", zookeeper)));
    command_done(NULL, ARGS("topic", "delete", "torn", "--yes"));
}

static void test_a_topic_that_nobody_consumes_is_found(void **state)
{
    json_t *document = NULL;

    command_done(NULL, ARGS("topic", "create", "alone"));
    json_decref(doctor_run(0, ARGS("-z", zookeeper)));
    command_done(NULL, ARGS("send", "alone", "x"));
    document = doctor_run(1, ARGS("-z", zookeeper));
    assert_found(document, "consumers", "warning", "alone", "never consumed, and 1 messages");
    json_decref(document);
    command_done(NULL, ARGS("topic", "delete", "alone", "--force", "--yes"));
}

static void test_what_may_not_be_read_is_no_error(void **state)
{
    char servers[128];
    json_t *document = NULL;

    for (size_t i = 0; i < servers_count(command_servers()); i++) {
        command_redis(node(i), ARGS("ACL", "SETUSER", "reader", "on", ">sesame", "~*", "&*",
                                    "+@all", "-config"));
    }
    snprintf(servers, sizeof(servers), "redis://reader:sesame@%s", server_address(node(0)));
    document = doctor_run(0, ARGS("-z", zookeeper, "-r", servers));
    assert_found(document, "persistence", "unknown", "127.0.0.1:", "may not be read");
    assert_not_found(document, "persistence");
    json_decref(document);
}

static void tell_all(const char *const *words)
{
    for (size_t i = 0; i < servers_count(command_servers()); i++) {
        command_redis(node(i), words);
    }
}

/* One user lacks the channels, as Redis 7 makes it; one lacks a command; one may only look; one is
 * off. */
static void test_a_sender_that_wakes_nobody_is_found(void **state)
{
    char servers[128];
    json_t *document = NULL;

    command_done(NULL, ARGS("topic", "create", "late", "--slots", "1"));
    tell_all(ARGS("ACL", "SETUSER", "app", "on", ">sesame", "~*", "resetchannels", "+@all"));
    tell_all(ARGS("ACL", "SETUSER", "job", "on", ">sesame", "~*", "&*", "+@all", "-spublish"));
    tell_all(ARGS("ACL", "SETUSER", "eye", "on", ">sesame", "~*", "resetchannels", "+@read"));
    tell_all(ARGS("ACL", "SETUSER", "old", "off", ">sesame", "~*", "resetchannels", "+@all"));
    document = doctor_run(1, ARGS("-z", zookeeper));
    assert_found(document, "rights", "warning", "app", "to late, but lacks &wake{late_*: it wakes");
    assert_found(document, "rights", "warning", "job", "to late, but lacks +spublish: it wakes");
    assert_false(doctor_found(document, "rights", "warning", "eye", ""));
    assert_false(doctor_found(document, "rights", "warning", "old", ""));
    json_decref(document);
    snprintf(servers, sizeof(servers), "redis://app:sesame@%s", server_address(node(0)));
    tell_all(ARGS("ACL", "SETUSER", "app", "-acl|users", "-acl|getuser"));
    document = doctor_run(1, ARGS("-z", zookeeper, "-r", servers));
    assert_found(document, "rights", "warning", "app", "&wake{late_*");
    assert_false(doctor_found(document, "rights", "warning", "job", ""));
    json_decref(document);
    tell_all(ARGS("ACL", "SETUSER", "app", "-acl"));
    document = doctor_run(0, ARGS("-z", zookeeper, "-r", servers));
    assert_found(document, "rights", "unknown", "", "may not be asked");
    json_decref(document);
    tell_all(ARGS("ACL", "DELUSER", "app", "job", "eye", "old"));
    json_decref(doctor_run(0, ARGS("-z", zookeeper)));
    command_done(NULL, ARGS("topic", "delete", "late", "--yes"));
}

static void test_a_password_is_never_shown(void **state)
{
    char servers[128];
    struct run run;

    snprintf(servers, sizeof(servers), "redis://reader:wrong-sesame@%s", server_address(node(0)));
    command_run(&run, NULL, ARGS("doctor", "-r", servers, "-z", zookeeper));
    assert_int_equal(run.exit_code, 2);
    assert_non_null(strstr(run.out, "no client can be made"));
    assert_null(strstr(run.out, "sesame"));
    assert_null(strstr(run.err, "sesame"));
    run_fini(&run);
    command_refused(64, "no Redis given", NULL, ARGS("doctor", "-r", ""));
}

static void test_zookeeper_that_is_away_is_found(void **state)
{
    struct server *server = servers_zookeeper_server(command_servers());
    json_t *document = NULL;

    server_stop(server);
    document = doctor_run(2, ARGS("-z", zookeeper, "-X", "session_timeout_ms=2000"));
    assert_found(document, "zookeeper", "error", "", "no session can be used");
    assert_found(document, "members", "unknown", "", "the fleet was not read");
    json_decref(document);
    assert_true(server_restart(server));
    json_decref(doctor_run(0, ARGS("-z", zookeeper)));
}

TEST_GROUP(doctor)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_found),
        cmocka_unit_test(test_eviction_is_found),
        cmocka_unit_test(test_a_replica_that_is_away_is_found),
        cmocka_unit_test(test_a_master_that_is_away_costs_one_time_out),
        cmocka_unit_test(test_a_frozen_master_is_to_be_woken),
        cmocka_unit_test(test_a_slot_that_lost_its_key_is_found),
        cmocka_unit_test(test_a_topic_that_nobody_consumes_is_found),
        cmocka_unit_test(test_what_may_not_be_read_is_no_error),
        cmocka_unit_test(test_a_sender_that_wakes_nobody_is_found),
        cmocka_unit_test(test_a_password_is_never_shown),
        cmocka_unit_test(test_zookeeper_that_is_away_is_found),
    };

    return cmocka_run_group_tests(tests, setup, command_teardown);
}
