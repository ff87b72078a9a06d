/* test_embedded.c - the scripts as the library carries them, with the server's own clock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hiredis/hiredis.h>

#include "scripts.h"
#include "support/group.h"
#include "support/servers.h"

#define SLOT_KEYS "x prepare{x} dead{x} why{x} slot{x}"

struct server_under_test {
    struct servers *servers;
    redisContext *redis;
};

static int setup(void **state)
{
    static struct server_under_test under_test;
    struct servers_options options = {.redis = REDIS_SINGLE};

    under_test.servers = servers_start(&options);
    if (under_test.servers == NULL) {
        return -1;
    }
    under_test.redis = redisConnect("127.0.0.1", server_port(servers_node(under_test.servers, 0)));
    *state = &under_test;
    return under_test.redis == NULL || under_test.redis->err != 0 ? -1 : 0;
}

static int teardown(void **state)
{
    struct server_under_test *under_test = *state;

    redisFree(under_test->redis);
    servers_free(under_test->servers);
    return 0;
}

static void test_the_sha1_is_that_of_the_text(void **state)
{
    struct server_under_test *under_test = *state;

    for (size_t i = 0; i < SCRIPTS_COUNT; i++) {
        redisReply *reply = redisCommand(under_test->redis, "SCRIPT LOAD %b", scripts_all[i]->text,
                                         scripts_all[i]->text_len);

        assert_non_null(reply);
        assert_string_equal(reply->str, scripts_all[i]->sha1);
        assert_int_equal(strlen(scripts_all[i]->text), scripts_all[i]->text_len);
        freeReplyObject(reply);
    }
}

static void test_no_script_carries_a_clock_of_tests(void **state)
{
    for (size_t i = 0; i < SCRIPTS_COUNT; i++) {
        assert_null(strstr(scripts_all[i]->text, "test.now"));
    }
}

/* A full server must drain: only sends are refused for want of memory. */
static void test_only_sends_need_memory(void **state)
{
    for (size_t i = 0; i < SCRIPTS_COUNT; i++) {
        bool send = strncmp(scripts_all[i]->name, "send", 4) == 0 ||
                    strcmp(scripts_all[i]->name, "schedule_tick") == 0 ||
                    strcmp(scripts_all[i]->name, "writable") == 0;
        const char *first = scripts_all[i]->text;

        assert_true(strncmp(first, "#!lua", 5) == 0);
        assert_true((strncmp(first, "#!lua\n", 6) == 0) == send);
    }
}

static redisReply *call(struct server_under_test *under_test, const struct script *script,
                        const char *words)
{
    char line[512];
    redisReply *reply;

    snprintf(line, sizeof(line), "EVALSHA %s %d %s", script->sha1, script->keys - script->optional,
             words);
    reply = redisCommand(under_test->redis, line);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR) {
        fail_msg("%s: %s", script->name, reply->str);
    }
    assert_string_equal(reply->element[0]->str, "OK");
    return reply;
}

static void test_a_message_by_the_servers_clock(void **state)
{
    struct server_under_test *under_test = *state;
    long long before_ms = (long long) time(NULL) * 1000 - 1000;
    redisReply *reply;
    long long now_ms;

    freeReplyObject(call(under_test, &script_slot_open, SLOT_KEYS " n.1 m wake{x} 0 text 1 0 0 0"));
    freeReplyObject(call(under_test, &script_takeover,
                         SLOT_KEYS " n.1 000000010000000000000001 m fast 16 1000 me fleet"));
    freeReplyObject(call(under_test, &script_send,
                         "x prepare{x} slot{x} n.1 m wake{x} 0 0 0 0 me 1 a +0 b +3600000"));
    reply =
        call(under_test, &script_consume,
             SLOT_KEYS " n.1 000000010000000000000001 m wake{x} 10 1000 30000 16 0 0 1 0 0 - - 0");
    now_ms = reply->element[1]->integer;
    assert_int_equal(reply->elements, 8);
    assert_true(now_ms >= before_ms && now_ms <= before_ms + 3600000);
    freeReplyObject(reply);
    reply = redisCommand(under_test->redis, "ZSCORE x b");
    assert_true(llabs(strtoll(reply->str, NULL, 10) - 3600000 - now_ms) < 60000);
    freeReplyObject(reply);
}

/* Memory used up: send is refused before it wrote anything, consume continues. */
static void test_a_full_server_drains(void **state)
{
    struct server_under_test *under_test = *state;
    redisReply *reply;

    freeReplyObject(redisCommand(under_test->redis, "CONFIG SET maxmemory 1"));
    reply = redisCommand(under_test->redis,
                         "EVALSHA %s 3 x prepare{x} slot{x} n.1 m wake{x} 0 0 0 0 - 0 c +0",
                         script_send.sha1);
    assert_int_equal(reply->type, REDIS_REPLY_ERROR);
    assert_true(strncmp(reply->str, "OOM", 3) == 0);
    freeReplyObject(reply);
    reply = redisCommand(under_test->redis,
                         "EVALSHA %s 3 x prepare{x} slot{x} n.1 m 1 0 0 0 0 - 0 wake{x} c +0",
                         script_send_groups.sha1);
    assert_int_equal(reply->type, REDIS_REPLY_ERROR);
    assert_true(strncmp(reply->str, "OOM", 3) == 0);
    freeReplyObject(reply);
    freeReplyObject(
        call(under_test, &script_consume,
             SLOT_KEYS " n.1 000000010000000000000001 m wake{x} 10 1000 30000 16 0 1 1 0 0 - - 0"));
    freeReplyObject(redisCommand(under_test->redis, "CONFIG SET maxmemory 0"));
}

static const struct script *script_of(const char *name)
{
    for (size_t i = 0; i < SCRIPTS_COUNT; i++) {
        if (strcmp(scripts_all[i]->name, name) == 0) {
            return scripts_all[i];
        }
    }
    fail_msg("no script %s", name);
    return NULL;
}

/* "rights" asks for each command that an owner cannot do without. */
static void test_the_rights_are_those_of_the_scripts(void **state)
{
    static const char *const owners[] = {"takeover", "consume", "consume_any", "renew", "vacate"};
    static const char begin[] = ".call('";
    const char *rights = script_of("rights")->text;

    for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
        const char *at = script_of(owners[i])->text;

        while ((at = strstr(at, begin)) != NULL) {
            char quoted[32];

            at += strlen(begin);
            (void) snprintf(quoted, sizeof(quoted), "'%.*s'", (int) strcspn(at, "'"), at);
            if (strstr(rights, quoted) == NULL) {
                fail_msg("%s calls %s, and rights does not ask for it", owners[i], quoted);
            }
        }
    }
}

TEST_GROUP(embedded)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_sha1_is_that_of_the_text),
        cmocka_unit_test(test_no_script_carries_a_clock_of_tests),
        cmocka_unit_test(test_only_sends_need_memory),
        cmocka_unit_test(test_a_message_by_the_servers_clock),
        cmocka_unit_test(test_a_full_server_drains),
        cmocka_unit_test(test_the_rights_are_those_of_the_scripts),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
