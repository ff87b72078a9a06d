/* test_greeting.c - which servers may be used. */
#include <string.h>

#include <uv.h>

#include "redis/greeting.h"
#include "support/group.h"

struct info_case {
    int type;
    const char *text;
    smq_status status;
    const char *why; /* a part of it */
};

static const struct info_case cases[] = {
    {REDIS_REPLY_STRING, "# Server\r\nredis_version:7.0.15\r\nmaxmemory:0\r\n", SMQ_OK, ""},
    {REDIS_REPLY_STRING, "# Server\r\nredis_version:8.2.1\r\n", SMQ_OK, ""},
    {REDIS_REPLY_STRING, "# Server\r\nredis_version:6.2.14\r\n", SMQ_BAD_SERVER,
     "6.2.14 is too old"},
    {REDIS_REPLY_STRING, "# Server\r\n", SMQ_BAD_SERVER, "too old"},
    {REDIS_REPLY_STRING,
     "#\r\nredis_version:7.0.15\r\nrole:slave\r\nmaster_host:10.0.0.7\r\nmaster_port:6379\r\n"
     "cluster_enabled:0\r\n",
     SMQ_UNAVAILABLE, "replica of 10.0.0.7:6379"},
    {REDIS_REPLY_STRING,
     "#\r\nredis_version:7.0.15\r\nrole:slave\r\nmaster_host:10.0.0.7\r\nmaster_port:6379\r\n"
     "cluster_enabled:1\r\n",
     SMQ_OK, ""},
    {REDIS_REPLY_STRING, "#\r\nredis_version:7.0.15\r\nrole:master\r\ncluster_enabled:0\r\n",
     SMQ_OK, ""},
    {REDIS_REPLY_STRING, "#\r\nredis_version:7.2.4\r\nvalkey_version:8.0.1\r\n", SMQ_OK, ""},
    {REDIS_REPLY_STRING, "#\r\nredis_version:7.2.4\r\nvalkey_version:7.2.0\r\n", SMQ_OK, ""},
    {REDIS_REPLY_STRING, "#\r\nredis_version:7.0.0\r\nvalkey_version:7.1.9\r\n", SMQ_BAD_SERVER,
     "7.1.9"},
    {REDIS_REPLY_STRING,
     "#\r\nredis_version:7.0.15\r\nmaxmemory:100\r\nmaxmemory_policy:allkeys-lru\r\n",
     SMQ_BAD_SERVER, "maxmemory-policy noeviction"},
    {REDIS_REPLY_STRING,
     "#\r\nredis_version:7.0.15\r\nmaxmemory:100\r\nmaxmemory_policy:allkeys-random\r\n",
     SMQ_BAD_SERVER, "allkeys-random"},
    {REDIS_REPLY_STRING,
     "#\r\nredis_version:7.0.15\r\nmaxmemory:100\r\nmaxmemory_policy:noeviction\r\n", SMQ_OK, ""},
    {REDIS_REPLY_STRING,
     "#\r\nredis_version:7.0.15\r\nmaxmemory:100\r\nmaxmemory_policy:volatile-lru\r\n", SMQ_OK, ""},
    {REDIS_REPLY_STRING,
     "#\r\nredis_version:7.0.15\r\nmaxmemory:100\r\nmaxmemory_policy:volatile-ttl\r\n", SMQ_OK, ""},
    {REDIS_REPLY_STRING, "#\r\nredis_version:7.0.15\r\nmaxmemory:100\r\nmaxmemory_policy:\r\n",
     SMQ_BAD_SERVER, "noeviction"},
    {REDIS_REPLY_STRING,
     "#\r\nredis_version:7.0.15\r\nmaxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n", SMQ_OK, ""},
    {REDIS_REPLY_ERROR, "NOPERM this user has no permissions", SMQ_OK, "NOPERM"},
    {REDIS_REPLY_ERROR, "ERR unknown command 'INFO', with args beginning with: ", SMQ_OK,
     "unknown command"},
    {REDIS_REPLY_ERROR, "ERR command is not allowed", SMQ_OK, "not allowed"},
    {REDIS_REPLY_ERROR, "NOAUTH Authentication required.", SMQ_DENIED, "name a user"},
    {REDIS_REPLY_ERROR, "DENIED Redis is running in protected mode", SMQ_DENIED, "protected mode"},
    {REDIS_REPLY_ERROR, "ERR max number of clients reached", SMQ_UNAVAILABLE, "max number"},
    {REDIS_REPLY_ERROR, "ERR something", SMQ_UNAVAILABLE, "ERR something"},
    {REDIS_REPLY_INTEGER, "", SMQ_BAD_SERVER, "does not answer INFO"},
};

static void test_info(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct info_case *it = &cases[i];
        char text[256], why[256] = "";
        redisReply reply = {.type = it->type, .str = text, .len = strlen(it->text)};
        memcpy(text, it->text, strlen(it->text) + 1);
        print_message("%s\n", it->text);
        assert_int_equal(greeting_check_info(why, sizeof(why), &reply), it->status);
        assert_non_null(strstr(why, it->why));
        assert_int_equal(why[0] == '\0', it->why[0] == '\0');
    }
}

static void test_replicas(void **state)
{
    static const struct {
        int type;
        const char *text;
        int count;
    } replicas[] = {
        {REDIS_REPLY_STRING, "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n", 0},
        {REDIS_REPLY_STRING,
         "# Replication\r\nrole:master\r\nconnected_slaves:3\r\n"
         "slave0:ip=10.0.0.1,port=7003,state=online,offset=14,lag=0\r\n"
         "slave1:ip=10.0.0.2,port=7003,state=wait_bgsave,offset=0,lag=0\r\n"
         "slave2:ip=10.0.0.3,port=7003,state=online,offset=14,lag=1\r\n",
         2},
        {REDIS_REPLY_STRING, "# Replication\r\nrole:slave\r\nconnected_slaves:0\r\n", -1},
        {REDIS_REPLY_STRING, "", -1},
        {REDIS_REPLY_ERROR, "NOPERM this user has no permissions", -1},
        {REDIS_REPLY_INTEGER, "", -1},
    };

    for (size_t i = 0; i < sizeof(replicas) / sizeof(replicas[0]); i++) {
        char text[400];
        redisReply reply = {.type = replicas[i].type, .str = text, .len = strlen(replicas[i].text)};
        memcpy(text, replicas[i].text, strlen(replicas[i].text) + 1);
        assert_int_equal(greeting_replicas(&reply), replicas[i].count);
    }
}

static void test_auth(void **state)
{
    char error[] = "WRONGPASS invalid username-password pair", why[256];
    redisReply good = {.type = REDIS_REPLY_STATUS};
    redisReply bad = {.type = REDIS_REPLY_ERROR, .str = error, .len = sizeof(error) - 1};

    assert_int_equal(greeting_check_auth(why, sizeof(why), &good), SMQ_OK);
    assert_int_equal(greeting_check_auth(why, sizeof(why), &bad), SMQ_DENIED);
    assert_non_null(strstr(why, "WRONGPASS"));

    char full[] = "ERR max number of clients reached";
    redisReply busy = {.type = REDIS_REPLY_ERROR, .str = full, .len = sizeof(full) - 1};
    assert_int_equal(greeting_check_auth(why, sizeof(why), &busy), SMQ_UNAVAILABLE);
}

static void test_a_server_that_says_nothing_may_be_another(void **state)
{
    static const char other[] = "it closed the connection without a reply: is it a Redis server?";

    assert_string_equal(greeting_cut(UV_EOF, false), other);
    assert_string_equal(greeting_cut(UV_ECONNRESET, false), other);
    assert_string_equal(greeting_cut(UV_EPIPE, false), other);
    assert_string_equal(greeting_cut(UV_ETIMEDOUT, false), "connection timed out");
    assert_string_equal(greeting_cut(UV_EOF, true), "it closed the connection");
    assert_string_equal(greeting_cut(UV_ECONNRESET, true), "connection reset by peer");
}

TEST_GROUP(greeting)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_replicas),
        cmocka_unit_test(test_auth),
        cmocka_unit_test(test_a_server_that_says_nothing_may_be_another),
    };

    return cmocka_run_group_tests_name("greeting", tests, NULL, NULL);
}
