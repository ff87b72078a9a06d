/* test_server_facts.c - what the texts of a Redis server say, and what they leave open. */
#include <string.h>

#include "model/server_facts.h"
#include "support/group.h"

#define ZEROS "000000000000000000000000000000000000000"

static const char nodes[] =
    "b" ZEROS " 127.0.0.1:7001@17001 master - 0 1 2 connected 5461-10922\n"
    "a" ZEROS " 127.0.0.1:7000@17000 myself,master - 0 0 1 connected 0-5460 "
    "[93->-b" ZEROS "] [94-<-b" ZEROS "]\n"
    "c" ZEROS " 127.0.0.1:7003@17003 slave a" ZEROS " 0 1 1 connected\n"
    "d" ZEROS " 127.0.0.1:7004@17004 slave,fail a" ZEROS " 0 1 1 disconnected\n"
    "e" ZEROS " 127.0.0.1:7005@17005 slave b" ZEROS " 0 1 2 connected\n";

static const char info[] = "# Server\r\nredis_version:7.2.4\r\n# Memory\r\nused_memory:1048576\r\n"
                           "maxmemory:0\r\nmaxmemory_policy:noeviction\r\n# Persistence\r\n"
                           "rdb_last_bgsave_status:ok\r\naof_enabled:1\r\n"
                           "aof_last_write_status:ok\r\n# Replication\r\nrole:master\r\n"
                           "connected_slaves:2\r\n"
                           "slave0:ip=10.0.0.1,port=7003,state=online,offset=90,lag=0\r\n"
                           "slave1:ip=10.0.0.2,port=7004,state=wait_bgsave,offset=0,lag=9\r\n"
                           "master_repl_offset:100\r\n# Cluster\r\ncluster_enabled:1\r\n";

static void test_info(void **state)
{
    struct server_facts facts = server_facts_none;

    server_facts_take_info(&facts, info);
    assert_false(facts.valkey);
    assert_string_equal(facts.version, "7.2.4");
    assert_true(facts.cluster);
    assert_int_equal(facts.maxmemory, 0);
    assert_int_equal(facts.used_memory, 1048576);
    assert_string_equal(facts.maxmemory_policy, "noeviction");
    assert_int_equal(facts.appendonly, 1);
    assert_false(facts.write_failed);
    assert_int_equal(facts.replicas, 1);
    assert_int_equal(facts.lag_bytes, 10);
}

static void test_other_servers(void **state)
{
    struct server_facts facts = server_facts_none;

    server_facts_take_info(&facts, "redis_version:7.2.4\r\nserver_name:valkey\r\n"
                                   "valkey_version:9.1.0\r\nrole:slave\r\n"
                                   "rdb_last_bgsave_status:err\r\n");
    assert_true(facts.valkey);
    assert_string_equal(facts.version, "9.1.0");
    assert_true(facts.write_failed);
    assert_int_equal(facts.replicas, -1);
    facts = server_facts_none;
    server_facts_take_info(&facts, "maxmemory:much\r\nused_memory:-5\r\nxmaxmemory:7");
    assert_string_equal(facts.version, "");
    assert_int_equal(facts.maxmemory, -1);
    assert_int_equal(facts.used_memory, -1);
    assert_int_equal(facts.appendonly, -1);
}

static void test_cluster(void **state)
{
    struct server_facts facts = server_facts_none;

    server_facts_take_cluster(&facts, "cluster_state:fail\r\ncluster_slots_assigned:16384\r\n"
                                      "cluster_slots_ok:16000\r\n");
    assert_true(facts.cluster); /* also if INFO is refused */
    assert_string_equal(facts.cluster_state, "fail");
    assert_int_equal(facts.cluster_slots_ok, 16000);
    server_facts_take_nodes(&facts, nodes);
    assert_int_equal(facts.replicas_known, 2);
    assert_int_equal(facts.migrations, 2);
}

static void test_texts_that_say_nothing(void **state)
{
    static const char *const texts[] = {"", "\n", "x", "a b\n", "1 2 3 4\n"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct server_facts facts = server_facts_none;

        server_facts_take_nodes(&facts, texts[i]);
        server_facts_take_cluster(&facts, texts[i]);
        assert_memory_equal(&facts, &server_facts_none, sizeof(facts));
    }
}

static void test_settings(void **state)
{
    struct server_facts facts = server_facts_none;

    server_facts_take_setting(&facts, "appendfsync", "everysec");
    server_facts_take_setting(&facts, "save", "3600 1 300 100");
    server_facts_take_setting(&facts, "cluster-node-timeout", "15000");
    server_facts_take_setting(&facts, "hz", "10");
    assert_true(facts.configured);
    assert_string_equal(facts.appendfsync, "everysec");
    assert_int_equal(facts.node_timeout_ms, 15000);
    assert_string_equal(facts.save, "3600 1 300 100");
}

TEST_GROUP(server_facts)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info),     cmocka_unit_test(test_other_servers),
        cmocka_unit_test(test_cluster),  cmocka_unit_test(test_texts_that_say_nothing),
        cmocka_unit_test(test_settings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
