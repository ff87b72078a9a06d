/* test_greeting.c - which servers may be used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "redis/greeting.h"

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
    {REDIS_REPLY_STRING, "#\r\nredis_version:7.2.4\r\nvalkey_version:8.0.1\r\n", SMQ_OK, ""},
    {REDIS_REPLY_STRING, "#\r\nredis_version:7.2.4\r\nvalkey_version:7.2.0\r\n", SMQ_OK, ""},
    {REDIS_REPLY_STRING, "#\r\nredis_version:7.0.0\r\nvalkey_version:7.1.9\r\n", SMQ_BAD_SERVER,
     "7.1.9"},
    {REDIS_REPLY_STRING,
     "#\r\nredis_version:7.0.15\r\nmaxmemory:100\r\nmaxmemory_policy:allkeys-lru\r\n",
     SMQ_BAD_SERVER, "maxmemory-policy noeviction"},
    {REDIS_REPLY_STRING,
     "#\r\nredis_version:7.0.15\r\nmaxmemory:100\r\nmaxmemory_policy:noeviction\r\n", SMQ_OK, ""},
    {REDIS_REPLY_STRING,
     "#\r\nredis_version:7.0.15\r\nmaxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n", SMQ_OK, ""},
    {REDIS_REPLY_ERROR, "NOPERM this user has no permissions", SMQ_OK, "NOPERM"},
    {REDIS_REPLY_ERROR, "NOAUTH Authentication required.", SMQ_DENIED, "name a user"},
    {REDIS_REPLY_ERROR, "DENIED Redis is running in protected mode", SMQ_DENIED, "protected mode"},
    {REDIS_REPLY_ERROR, "ERR max number of clients reached", SMQ_UNAVAILABLE, "max number"},
    {REDIS_REPLY_ERROR, "ERR something", SMQ_UNAVAILABLE, "ERR something"},
    {REDIS_REPLY_INTEGER, "", SMQ_BAD_SERVER, "does not answer INFO"},
};

static void test_info(void **state)
{
    (void) state;
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

static void test_auth(void **state)
{
    char error[] = "WRONGPASS invalid username-password pair", why[256];
    redisReply good = {.type = REDIS_REPLY_STATUS};
    redisReply bad = {.type = REDIS_REPLY_ERROR, .str = error, .len = sizeof(error) - 1};

    (void) state;
    assert_int_equal(greeting_check_auth(why, sizeof(why), &good), SMQ_OK);
    assert_int_equal(greeting_check_auth(why, sizeof(why), &bad), SMQ_DENIED);
    assert_non_null(strstr(why, "WRONGPASS"));

    char full[] = "ERR max number of clients reached";
    redisReply busy = {.type = REDIS_REPLY_ERROR, .str = full, .len = sizeof(full) - 1};
    assert_int_equal(greeting_check_auth(why, sizeof(why), &busy), SMQ_UNAVAILABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_auth),
    };

    return cmocka_run_group_tests_name("greeting", tests, NULL, NULL);
}
