/* test_check.c - slotmq check as monitoring runs it: one line, and the codes 0 to 3. */
#include "command.h"
#include "gate.h"
#include "support/group.h"
#include "support/wait.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Ends with this code, and its first line begins so. */
static void assert_check(int code, const char *beginning, const char *const *arguments)
{
    struct run run;

    command_run(&run, NULL, arguments);
    if (run.exit_code != code || strncmp(run.out, beginning, strlen(beginning)) != 0) {
        fail_msg("wanted %d and \"%s\"; exit %d: %s%s", code, beginning, run.exit_code, run.out,
                 run.err);
    }
    run_fini(&run);
}

static void test_all_is_well(void **state)
{
    const char *const zookeeper = servers_zookeeper(command_servers());

    assert_check(0, "SLOTMQ OK - 0 topics\n", ARGS("check"));
    command_create_topic("mail", "fixed_time", "inline");
    assert_check(0, "SLOTMQ OK - 1 topic | 'mail lag'=0ms;;;0 'mail due'=0;;;0 ", ARGS("check"));
    assert_check(0, "SLOTMQ OK - 1 topic | ", ARGS("check", "mail", "-z", zookeeper));
}

/* Also where the fleet is in Redis, whose sessions have from a second to a minute. */
static void test_each_time_that_the_flag_takes_serves(void **state)
{
    static const char *const times[] = {"100ms", "2s", "3m1s", "10m"};
    const char *const connect = "connect_timeout_ms=10s", *const request = "request_timeout_ms=10s";

    command_done(NULL, ARGS("topic", "create", "times", "--slots", "1"));
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        const char *const time = times[i];

        assert_check(0, "SLOTMQ OK - 1 topic | ",
                     ARGS("check", "times", "--timeout", time, "-X", connect, "-X", request));
        command_done(NULL, ARGS("stat", "times", "--timeout", time, "-X", connect, "-X", request));
        command_done(NULL, ARGS("peek", "times", "--timeout", time, "-X", connect, "-X", request));
    }
    command_done(NULL, ARGS("topic", "delete", "times", "--yes"));
}

/* To a process of version 0.2 without ZooKeeper: whether one consumes it is not known. */
static void bind_as_0_2(const char *topic)
{
    char key[64];

    snprintf(key, sizeof(key), "topic{%s}", topic);
    command_redis(servers_node_of(command_servers(), key),
                  ARGS("HSET", key, "coord", "standalone"));
}

static void test_a_topic_is_beyond_its_bounds(void **state)
{
    command_create_topic("late", "fixed_time", "inline");
    command_done("a\nb\nc\n", ARGS("send", "late"));
    command_kill_due("late", "1");
    bind_as_0_2("late");
    command_done("d\n", ARGS("send", "late", "--delay", "1h"));
    assert_check(0, "SLOTMQ OK", ARGS("check", "late", "--max-dead", "1", "--max-waiting", "3"));
    assert_check(1, "SLOTMQ WARNING - late: dead 1 is more than 0 | ",
                 ARGS("check", "late", "--max-dead", "0,5"));
    assert_check(2, "SLOTMQ CRITICAL - late: waiting 3 is more than 2 (and 1 more) | ",
                 ARGS("check", "late", "--max-dead", "0,5", "--max-waiting", "2"));
    assert_check(2, "SLOTMQ CRITICAL - late: lag ", ARGS("check", "late", "--max-lag", "0"));
    assert_check(2, "SLOTMQ CRITICAL - late: due 2 is more than 1 | ",
                 ARGS("check", "--max-due", "1"));
    command_done(NULL, ARGS("pause", "late"));
    assert_check(2, "SLOTMQ CRITICAL - late: due 2 is more than 1; the topic is paused | ",
                 ARGS("check", "late", "--max-due", "1"));
}

static void test_json_has_the_findings(void **state)
{
    struct run run;

    command_run(&run, NULL, ARGS("check", "late", "--max-dead", "0,5", "--json"));
    assert_int_equal(run.exit_code, 1);
    json_t *document = json_loads(run.out, 0, NULL);
    assert_non_null(document);
    assert_members(document, ARGS("status", "findings"));
    assert_string_equal(json_text(document, "status"), "warning");
    json_decref(document);
    run_fini(&run);
}

static void tell_all(const char *const *words)
{
    for (size_t i = 0; i < servers_count(command_servers()); i++) {
        if (servers_node(command_servers(), i) != NULL) {
            command_redis(servers_node(command_servers(), i), words);
        }
    }
}

/* Of users that a consumer of a fleet in Redis may have: one lacks two commands and the channel of
 * the tree, the other one the tree.  Nothing is said of them to who does not ask. */
static void test_rights_that_members_of_a_fleet_in_redis_lack_are_named(void **state)
{
    const char *const zookeeper = servers_zookeeper(command_servers());
    char redis[128];
    struct run run;

    command_done(NULL, ARGS("topic", "create", "lacking", "--slots", "1"));
    tell_all(ARGS("ACL", "SETUSER", "app", "on", ">sesame", "~*", "resetchannels", "&wake*",
                  "+@all", "-info", "-hkeys"));
    tell_all(ARGS("ACL", "SETUSER", "job", "on", ">sesame", "~*lacking*", "&*", "+@all"));
    assert_check(0, "SLOTMQ OK", ARGS("check", "lacking", "--rights", "-z", zookeeper));
    assert_check(0, "SLOTMQ OK", ARGS("check", "lacking"));
    command_run(&run, NULL, ARGS("check", "lacking", "--rights"));
    assert_int_equal(run.exit_code, 1);
    assert_non_null(strstr(run.out,
                           "\nWARNING: app: it may send to lacking, but lacks +info +hkeys "
                           "&tree{slotmq:/slotmq}:*: its consumers are no members"));
    assert_non_null(
        strstr(run.out, " -> ACL SETUSER app +info +hkeys &tree{slotmq:/slotmq}:*, at"));
    assert_non_null(strstr(run.out, "\nWARNING: job: it may send to lacking, but lacks "
                                    "~tree{slotmq:/slotmq}: its consumers are no members"));
    run_fini(&run);
    tell_all(ARGS("ACL", "SETUSER", "app", "+info", "+hkeys", "&tree*"));
    tell_all(ARGS("ACL", "SETUSER", "job", "~tree*"));
    assert_check(0, "SLOTMQ OK", ARGS("check", "lacking", "--rights"));
    tell_all(ARGS("ACL", "SETUSER", "app", "-acl"));
    (void) snprintf(redis, sizeof(redis), "redis://app:sesame@%s",
                    server_address(servers_node(command_servers(), 0)));
    assert_check(3, "SLOTMQ UNKNOWN - rights: not known: what users may do may not be asked",
                 ARGS("check", "lacking", "--rights", "-r", redis));
    tell_all(ARGS("ACL", "DELUSER", "app", "job"));
    command_done(NULL, ARGS("topic", "delete", "lacking", "--yes"));
}

static void test_what_it_cannot_tell_is_3(void **state)
{
    command_done(NULL, ARGS("topic", "create", "ranks", "--type", "priority"));
    command_done("a\n", ARGS("send", "ranks"));
    command_done(NULL, ARGS("pause", "ranks")); /* nobody need consume it */
    assert_check(3, "SLOTMQ UNKNOWN - ranks: the lag is not known",
                 ARGS("check", "ranks", "--max-lag", "1s"));
    assert_check(3, "", ARGS("check", "ranks", "--max-dead", "many"));
    assert_check(3, "", ARGS("check", "ranks", "--max-deed", "1"));
    assert_check(3, "", ARGS("check", "ranks", "-r", ""));
}

/* What its caller did wrong is no fault of the fleet: nobody is called at night. */
static void test_a_mistake_of_its_caller_is_3(void **state)
{
    const struct server *node = servers_node(command_servers(), 0);
    char user[256];

    assert_check(3, "SLOTMQ UNKNOWN - nowhere: no topic nowhere", ARGS("check", "nowhere"));
    assert_check(3, "SLOTMQ UNKNOWN - mail/eu: topic mail has no groups", ARGS("check", "mail/eu"));
    assert_check(3, "SLOTMQ UNKNOWN - no/such/name: ", ARGS("check", "no/such/name"));
    snprintf(user, sizeof(user), "redis://nobody:wrong@%s", server_address(node));
    assert_check(3, "SLOTMQ UNKNOWN - redis: no client can be made: ", ARGS("check", "-r", user));
}

static void test_all_groups_of_a_topic_are_looked_at(void **state)
{
    const struct server *node = servers_node(command_servers(), 0);

    command_done(NULL, ARGS("topic", "create", "ship", "--groups", "eu,us", "--slots", "2"));
    assert_check(0, "SLOTMQ OK - 2 topics | 'ship/eu lag'=0ms;;;0 ", ARGS("check", "ship"));
    command_done("a\n", ARGS("send", "ship"));
    assert_check(1,
                 "SLOTMQ WARNING - ship/eu: it was never consumed, and 1 messages are due (and "
                 "1 more) | ",
                 ARGS("check", "ship"));
    assert_check(2, "SLOTMQ CRITICAL - ship/eu: due 1 is more than 0 ",
                 ARGS("check", "ship", "--max-due", "0"));
    assert_check(1, "SLOTMQ WARNING - ship/us: ", ARGS("check", "ship/us"));
    command_redis(node, ARGS("-c", "DEL", "topic.eu{ship}"));
    assert_check(2, "SLOTMQ CRITICAL - ship/eu: ", ARGS("check", "ship"));
    assert_check(2, "SLOTMQ CRITICAL - ship/eu: ", ARGS("check", "ship/eu"));
}

/* The owners of a fleet are in its ZooKeeper. */
static void test_owners_that_are_not_looked_at_are_unknown(void **state)
{
    const char *const zookeeper = servers_zookeeper(command_servers());

    command_done(NULL, ARGS("topic", "create", "fleet", "--type", "priority", "--slots", "2"));
    command_done("a\n", ARGS("send", "fleet"));
    command_done(NULL, ARGS("consume", "fleet", "-z", zookeeper, "--exit-when-empty"));
    assert_check(3,
                 "SLOTMQ UNKNOWN - fleet: whether its slots have owners is not known: it is bound "
                 "to zookeeper:/slotmq",
                 ARGS("check", "fleet"));
    assert_check(0, "SLOTMQ OK - 1 topic | ", ARGS("check", "fleet", "-z", zookeeper));
    command_done("a\n", ARGS("send", "fleet"));
    assert_check(1, "SLOTMQ WARNING - fleet: no member consumes it, and 1 messages are due | ",
                 ARGS("check", "fleet", "-z", zookeeper));
}

static void test_servers_that_are_away_are_critical(void **state)
{
    struct servers *own = servers_start(&(struct servers_options){.redis = REDIS_SINGLE});

    assert_non_null(own);
    assert_check(0, "SLOTMQ OK", ARGS("check", "-r", servers_redis(own)));
    server_kill(servers_node(own, 0));
    assert_check(2, "SLOTMQ CRITICAL - redis: ",
                 ARGS("check", "-r", servers_redis(own), "-X", "connect_timeout_ms=1s"));
    servers_free(own);
}

static void test_a_replica_without_its_master_is_critical(void **state)
{
    struct servers *own = servers_start(&(struct servers_options){.redis = REDIS_SINGLE});
    char line[256];

    assert_non_null(own);
    command_redis(servers_node(own, 0), ARGS("REPLICAOF", "127.0.0.1", "1"));
    snprintf(
        line, sizeof(line),
        "SLOTMQ CRITICAL - redis: no client can be made: %s: it is a replica of 127.0.0.1:1, and "
        "accepts no writes",
        server_address(servers_node(own, 0)));
    assert_check(2, line, ARGS("check", "-r", servers_redis(own)));
    command_redis(servers_node(own, 0), ARGS("REPLICAOF", "NO", "ONE"));
    assert_check(0, "SLOTMQ OK", ARGS("check", "-r", servers_redis(own)));
    servers_free(own);
}

/* Nagios gives a plugin 10 s. */
static void test_servers_that_hang_take_8_s_in_all(void **state)
{
    struct servers *own =
        servers_start(&(struct servers_options){.redis = REDIS_CLUSTER, .zookeeper = true});
    struct timespec begun, ended;

    assert_non_null(own);
    server_pause(servers_node(own, 1));
    server_pause(servers_zookeeper_server(own));
    clock_gettime(CLOCK_MONOTONIC, &begun);
    assert_check(2, "SLOTMQ CRITICAL - ",
                 ARGS("check", "-r", servers_redis(own), "-z", servers_zookeeper(own)));
    clock_gettime(CLOCK_MONOTONIC, &ended);
    assert_in_range(ended.tv_sec - begun.tv_sec, 0, 8);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    assert_check(
        2, "SLOTMQ CRITICAL - ",
        ARGS("check", "-r", servers_redis(own), "-z", servers_zookeeper(own), "--timeout", "2s"));
    clock_gettime(CLOCK_MONOTONIC, &ended);
    assert_in_range(ended.tv_sec - begun.tv_sec, 0, 4);
    server_resume(servers_node(own, 1));
    server_resume(servers_zookeeper_server(own));
    servers_free(own);
}

static void test_a_topic_that_nobody_consumes_is_a_warning(void **state)
{
    command_done(NULL, ARGS("topic", "create", "idle", "--type", "priority", "--slots", "1"));
    assert_check(0, "SLOTMQ OK", ARGS("check", "idle"));
    command_done(NULL, ARGS("send", "idle", "a"));
    assert_check(1, "SLOTMQ WARNING - idle: it was never consumed, and 1 messages are due | ",
                 ARGS("check", "idle"));
}

/* A slot keeps the name of an owner that sleeps, hangs or was killed. */
static void test_messages_that_their_owner_does_not_claim_are_a_warning(void **state)
{
    command_done(NULL, ARGS("topic", "create", "asleep", "--type", "fixed_time", "--slots", "1"));
    command_done(NULL, ARGS("send", "asleep", "a"));
    command_done(NULL, ARGS("consume", "asleep", "--count", "1"));
    bind_as_0_2("asleep");
    command_done("{\"body\":\"b\",\"due_at\":\"2020-01-01T00:00:00Z\"}\n",
                 ARGS("send", "asleep", "--json", "--restore"));
    assert_check(0, "SLOTMQ OK - 1 topic | ", ARGS("check", "asleep"));
    command_redis(servers_node_of(command_servers(), "slot{asleep_0}"),
                  ARGS("HSET", "slot{asleep_0}", "owner", "worker-1"));
    assert_check(1, "SLOTMQ WARNING - asleep: 1 messages are due, for ", ARGS("check", "asleep"));
    command_done(NULL, ARGS("pause", "asleep"));
    assert_check(0, "SLOTMQ OK - 1 topic | ", ARGS("check", "asleep"));
    command_done(NULL, ARGS("topic", "delete", "asleep", "--force", "--yes"));
}

/* Five messages of one key are in work at this member, which handles the first of them until the
 * gate is opened. */
static void begin_work(struct run *run, const char *topic, const char *name,
                       const struct gate *gate)
{
    const char *const zookeeper = servers_zookeeper(command_servers());

    command_done(NULL, ARGS("topic", "create", topic, "--slots", "1"));
    command_done("a\nb\nc\nd\ne\n", ARGS("send", topic, "--key", "k"));
    command_start(run, NULL,
                  ARGS("consume", topic, "-z", zookeeper, "-X", name, "-X",
                       "session_timeout_ms=4000", "--", "sh", "-c", gate->program));
    command_wait_stat(topic, "claimed", 5);
}

/* Does `slotmq work` say, with these flags, that the only owner is gone? */
static bool work_is_gone(const char *const *arguments)
{
    json_t *document = command_json(NULL, arguments);
    const json_t *work = json_array_get(json_object_get(document, "work"), 0);
    const bool gone = json_is_true(json_object_get(work, "gone"));

    assert_int_equal(json_number(work, "claimed"), 5);
    json_decref(document);
    return gone;
}

static void assert_owners(int expected, const char *const *arguments)
{
    json_t *document = command_json(NULL, arguments);

    assert_int_equal(json_number(json_array_get(json_object_get(document, "topics"), 0), "owners"),
                     expected);
    json_decref(document);
}

static bool is_critical(void *arg)
{
    const char *const *const *arguments = arg;
    struct run run;

    command_run(&run, NULL, *arguments);
    const bool critical = run.exit_code == 2;
    run_fini(&run);
    return critical;
}

/* Whatever else is well: nobody works, and nobody else can get the messages. */
static void test_work_of_a_consumer_that_was_killed_is_critical(void **state)
{
    const char *const zookeeper = servers_zookeeper(command_servers());
    const char *const *check = ARGS("check", "hang", "-z", zookeeper);
    static const char ends_leases[] =
        "for _, entry in ipairs(redis.call('ZRANGE', KEYS[1], 0, 4)) do "
        "redis.call('ZADD', KEYS[1], redis.call('TIME')[1] * 1000 - 60000, entry) end";
    struct run killed;
    struct gate gate;

    gate_close(&gate);
    begin_work(&killed, "hang", "name=worker-1", &gate);
    assert_check(0, "SLOTMQ OK - 1 topic | ", check);
    assert_false(work_is_gone(ARGS("work", "hang", "-z", zookeeper, "--json")));
    assert_owners(1, ARGS("stat", "hang", "-z", zookeeper, "--json"));
    assert_check(2, "SLOTMQ CRITICAL - hang: work ",
                 ARGS("check", "hang", "-z", zookeeper, "--max-work", "0"));
    run_signal(&killed, SIGKILL);
    assert_true(wait_until(is_critical, &check, TIMEOUT_MS));
    assert_check(
        2, "SLOTMQ CRITICAL - hang: 5 messages are in work at member worker-1, the oldest for ",
        check);
    assert_true(work_is_gone(ARGS("work", "hang", "-z", zookeeper, "--json")));
    assert_owners(0, ARGS("stat", "hang", "-z", zookeeper, "--json"));
    /* without ZooKeeper the lease says it */
    assert_false(work_is_gone(ARGS("work", "hang", "--json")));
    assert_owners(1, ARGS("stat", "hang", "--json"));
    command_redis(servers_node_of(command_servers(), "prepare{hang_0}"),
                  ARGS("EVAL", ends_leases, "1", "prepare{hang_0}"));
    assert_int_equal(command_stat("hang", "stalled"), 5);
    assert_int_equal(command_stat("hang", "due"), 5);
    assert_check(
        2, "SLOTMQ CRITICAL - hang: 5 messages are in work at member worker-1, the oldest for ",
        ARGS("check", "hang"));
    assert_true(command_stat("hang", "oldest_due_age_ms") > 0);
    command_done(NULL, ARGS("pause", "hang"));
    assert_check(0, "SLOTMQ OK", check);
    gate_open(&gate);
    run_fini(&killed);
    command_done(NULL, ARGS("topic", "delete", "hang", "--force", "--yes"));
}

/* Whose numbers would make the line longer than agents take. */
static void test_of_many_topics_the_numbers_are_sums(void **state)
{
    command_done(NULL, ARGS("topic", "create", "many", "--slots", "1", "--groups", "a,b,c,d,e"));
    command_done(NULL, ARGS("send", "many", "x", "--delay", "1h"));
    assert_check(0,
                 "SLOTMQ OK - 5 topics | 'lag'=0ms;60000;120000;0 'due'=0;;;0 'waiting'=5;;;0 "
                 "'resting'=0;;;0 'dead'=0;;;0 'work'=0ms;;;0\n",
                 ARGS("check", "many", "--max-lag", "1m,2m", "--max-waiting", "1"));
}

TEST_GROUP(check)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_is_well),
        cmocka_unit_test(test_each_time_that_the_flag_takes_serves),
        cmocka_unit_test(test_a_topic_is_beyond_its_bounds),
        cmocka_unit_test(test_json_has_the_findings),
        cmocka_unit_test(test_rights_that_members_of_a_fleet_in_redis_lack_are_named),
        cmocka_unit_test(test_what_it_cannot_tell_is_3),
        cmocka_unit_test(test_a_mistake_of_its_caller_is_3),
        cmocka_unit_test(test_all_groups_of_a_topic_are_looked_at),
        cmocka_unit_test(test_of_many_topics_the_numbers_are_sums),
        cmocka_unit_test(test_owners_that_are_not_looked_at_are_unknown),
        cmocka_unit_test(test_messages_that_their_owner_does_not_claim_are_a_warning),
        cmocka_unit_test(test_work_of_a_consumer_that_was_killed_is_critical),
        cmocka_unit_test(test_servers_that_are_away_are_critical),
        cmocka_unit_test(test_a_replica_without_its_master_is_critical),
        cmocka_unit_test(test_servers_that_hang_take_8_s_in_all),
        cmocka_unit_test(test_a_topic_that_nobody_consumes_is_a_warning),
    };

    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
