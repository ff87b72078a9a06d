/* test_redirect.c - every error that a server can give, and what follows from it. */
#include <stdio.h>
#include <string.h>

#include "redis/redirect.h"
#include "support/group.h"

struct step_case {
    const char *error;
    enum step_kind kind;
    smq_status status;
    bool refresh;
    const char *host;
    int port;
};

static const struct step_case cases[] = {
    {"MOVED 3999 127.0.0.1:6381", STEP_MOVED, SMQ_OK, true, "127.0.0.1", 6381},
    {"MOVED 0 ::1:6381", STEP_MOVED, SMQ_OK, true, "::1", 6381},
    {"MOVED 16383 :6381", STEP_MOVED, SMQ_OK, true, "", 6381},
    {"MOVED 16384 127.0.0.1:6381", STEP_WAIT, SMQ_OK, true, NULL, 0},
    {"MOVED 3999 127.0.0.1:0", STEP_WAIT, SMQ_OK, true, NULL, 0},
    {"MOVED 3999 127.0.0.1:99999", STEP_WAIT, SMQ_OK, true, NULL, 0},
    {"MOVED 3999", STEP_WAIT, SMQ_OK, true, NULL, 0},
    {"MOVED x 127.0.0.1:1", STEP_WAIT, SMQ_OK, true, NULL, 0},
    {"MOVED", STEP_WAIT, SMQ_OK, true, NULL, 0},
    {"MOVED 3999 ?:6381", STEP_WAIT, SMQ_OK, true, NULL, 0},
    {"ASK 3999 node-1.example:6381", STEP_ASK, SMQ_OK, false, "node-1.example", 6381},
    {"TRYAGAIN Multiple keys request during rehashing of slot", STEP_WAIT, SMQ_OK, false, NULL, 0},
    {"CLUSTERDOWN The cluster is down", STEP_WAIT, SMQ_OK, true, NULL, 0},
    {"LOADING Redis is loading the dataset in memory", STEP_WAIT, SMQ_OK, false, NULL, 0},
    {"MASTERDOWN Link with MASTER is down", STEP_WAIT, SMQ_OK, true, NULL, 0},
    {"READONLY You can't write against a read only replica.", STEP_WAIT, SMQ_OK, true, NULL, 0},
    {"BUSY Redis is busy running a script.", STEP_WAIT, SMQ_OK, false, NULL, 0},
    {"NOREPLICAS Not enough good replicas to write.", STEP_WAIT, SMQ_OK, false, NULL, 0},
    {"ERR max number of clients reached", STEP_WAIT, SMQ_OK, false, NULL, 0},
    {"ERR max number of clients + cluster connections reached", STEP_WAIT, SMQ_OK, false, NULL, 0},
    {"NOSCRIPT No matching script. Please use EVAL.", STEP_LOAD, SMQ_OK, false, NULL, 0},
    {"OOM command not allowed when used memory > 'maxmemory'.", STEP_REFUSED, SMQ_FULL, false, NULL,
     0},
    {"OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'",
     STEP_REFUSED, SMQ_FULL, false, NULL, 0},
    {"ERR Protocol error: invalid bulk length", STEP_REFUSED, SMQ_TOO_BIG, false, NULL, 0},
    {"MISCONF Errors writing to the AOF file", STEP_REFUSED, SMQ_UNAVAILABLE, false, NULL, 0},
    {"NOAUTH Authentication required.", STEP_WAIT, SMQ_OK, false, NULL, 0},
    {"WRONGPASS invalid username-password pair", STEP_REFUSED, SMQ_DENIED, false, NULL, 0},
    {"NOPERM this user has no permissions", STEP_REFUSED, SMQ_DENIED, false, NULL, 0},
    {"BUSYGROUP not ours", STEP_REFUSED, SMQ_INTERNAL, false, NULL, 0},
    {"ERR unknown command", STEP_REFUSED, SMQ_INTERNAL, false, NULL, 0},
    {"", STEP_REFUSED, SMQ_INTERNAL, false, NULL, 0},
    {"DENIED Redis is running in protected mode", STEP_REFUSED, SMQ_DENIED, false, NULL, 0},
    {"CROSSSLOT Keys in request don't hash to the same slot", STEP_REFUSED, SMQ_INTERNAL, false,
     NULL, 0},
    {"UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)",
     STEP_UNKNOWN, SMQ_UNKNOWN, true, NULL, 0},
    {"ERR The user executing the script can't publish to the channel mentioned in the command "
     "script: 5f96, on @user_script:9.",
     STEP_PARTLY, SMQ_DENIED, false, NULL, 0},
    {"ERR ACL failure in script: User u has no permissions to run the 'hincrby' command script: "
     "5f96, on @user_script:9.",
     STEP_PARTLY, SMQ_DENIED, false, NULL, 0},
    {"ERR ACL failure in script: No permissions to access a channel script: on @user_script:9.",
     STEP_PARTLY, SMQ_DENIED, false, NULL, 0},
    {"ERR what was sent says: ACL failure in script: no script: on @user_script:9.", STEP_PARTLY,
     SMQ_INTERNAL, false, NULL, 0},
    {"WRONGTYPE Operation against a key holding the wrong kind of value", STEP_REFUSED, SMQ_INVALID,
     false, NULL, 0},
    {"WRONGTYPE Operation against a key holding the wrong kind of value script: 5f96, on "
     "@user_script:9.",
     STEP_PARTLY, SMQ_INVALID, false, NULL, 0},
    {"ERR Script attempted to access a non local key in a cluster node script: "
     "5f96da63890be6ccc9b5f28c1d9dda13008c8b55, on @user_script:2.",
     STEP_PARTLY, SMQ_INTERNAL, false, NULL, 0},
    {"OOM command not allowed when used memory > 'maxmemory'. script: 5f96, on @user_script:1.",
     STEP_PARTLY, SMQ_INTERNAL, false, NULL, 0},
};

static void test_errors(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct step_case *it = &cases[i];
        char text[256];
        redisReply reply = {.type = REDIS_REPLY_ERROR, .str = text, .len = strlen(it->error)};
        memcpy(text, it->error, strlen(it->error) + 1);
        struct step step = redirect_next(&reply, false);
        print_message("%s\n", it->error);
        assert_int_equal(step.kind, it->kind);
        assert_int_equal(step.status, it->status);
        assert_int_equal(step.refresh, it->refresh);
        if (it->host != NULL) {
            assert_string_equal(step.to.host, it->host);
            assert_int_equal(step.to.port, it->port);
        }
    }
}

static void test_everything_else_is_done(void **state)
{
    static const int types[] = {REDIS_REPLY_STRING, REDIS_REPLY_ARRAY, REDIS_REPLY_INTEGER,
                                REDIS_REPLY_NIL, REDIS_REPLY_STATUS};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        redisReply reply = {.type = types[i]};
        assert_int_equal(redirect_next(&reply, false).kind, STEP_DONE);
    }
}

/* A script can return an error of its own making, after it has written. */
static void test_an_unknown_error_of_a_script_is_partly(void **state)
{
    char text[] = "MYERROR of my own";
    redisReply reply = {.type = REDIS_REPLY_ERROR, .str = text, .len = sizeof(text) - 1};

    assert_int_equal(redirect_next(&reply, true).kind, STEP_PARTLY);
    assert_int_equal(redirect_next(&reply, false).kind, STEP_REFUSED);
}

static void test_servers_without_scripts(void **state)
{
    static const struct {
        const char *error;
        bool without;
    } rows[] = {
        {"ERR unknown command 'EVALSHA', with args beginning with: '5f96' '5' ", true},
        {"ERR unknown command 'SCRIPT', with args beginning with: 'LOAD' ", true},
        {"ERR Could not find scripting engine 'lua'", true},
        {"ERR unknown command called from script script: 5f96, on @user_script:9.", false},
        {"NOSCRIPT No matching script. Please use EVAL.", false},
        {"NOPERM this user has no permissions to run the 'script|load' command", false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[160];
        redisReply reply = {.type = REDIS_REPLY_ERROR, .str = text, .len = strlen(rows[i].error)};

        memcpy(text, rows[i].error, strlen(rows[i].error) + 1);
        assert_int_equal(redirect_without_scripts(&reply), rows[i].without);
    }
}

/* Redis 7.0 names only the line of the script. */
static void test_denied_commands(void **state)
{
    static const char script[] = "#!lua\n"
                                 "local a = 1\n"
                                 "redis.call('ZADD', a, b)\n"
                                 "local x = redis.call('HGET', redis.call('ZRANGE', s, 0, 0)[1])\n"
                                 "return redis.call(\"odd\") or redis.pcall('DEL";
    static const struct {
        const char *error, *commands; /* NULL: none */
    } rows[] = {
        {"ERR The user executing the script can't run this command or subcommand script: 57ab, on "
         "@user_script:3.",
         "zadd"},
        {"ERR The user executing the script can't run this command or subcommand script: 57ab, on "
         "@user_script:4.",
         "hget or zrange"},
        {"ERR The user executing the script can't run this command or subcommand script: 57ab, on "
         "@user_script:5.",
         "del"},
        {"ERR The user executing the script can't run this command or subcommand script: 57ab, on "
         "@user_script:2.",
         NULL},
        {"ERR The user executing the script can't run this command or subcommand script: 57ab, on "
         "@user_script:6.",
         NULL},
        {"ERR The user executing the script can't run this command @user_script:-1.", NULL},
        {"ERR The user executing the script can't run this command or subcommand", NULL},
        {"ERR ACL failure in script: User u has no permissions to run the 'hincrby' command "
         "script: 5f96, on @user_script:3.",
         NULL},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[160], commands[REDIRECT_COMMANDS_MAX];
        redisReply reply = {.type = REDIS_REPLY_ERROR, .str = text, .len = strlen(rows[i].error)};

        memcpy(text, rows[i].error, strlen(rows[i].error) + 1);
        assert_int_equal(redirect_denied_commands(commands, &reply, script),
                         rows[i].commands != NULL);
        assert_string_equal(commands, rows[i].commands != NULL ? rows[i].commands : "");
    }
}

/* A line of many commands does not fit. */
static void test_many_denied_commands(void **state)
{
    char text[] = "ERR The user executing the script can't run this command, on @user_script:1.";
    char script[1024], commands[REDIRECT_COMMANDS_MAX];
    redisReply reply = {.type = REDIS_REPLY_ERROR, .str = text, .len = strlen(text)};
    size_t len = 0;

    for (int i = 0; i < 20; i++) {
        len += (size_t) snprintf(script + len, sizeof(script) - len, "call('ZINTERSTORE', %d)", i);
    }
    assert_true(redirect_denied_commands(commands, &reply, script));
    assert_int_equal(strncmp(commands, "zinterstore or zinterstore", 26), 0);
}

/* Each server says it in other words; those of Redis 7.2 and Valkey are alike. */
static void test_denials_in_a_script(void **state)
{
    static const struct {
        const char *error;
        enum redirect_denial denial;
    } rows[] = {
        {"ERR The user executing the script can't run this command or subcommand", REDIRECT_DENIED},
        {"ERR The user executing the script can't publish to the channel mentioned in the command",
         REDIRECT_DENIED_CHANNEL},
        {"ERR ACL failure in script: User u has no permissions to run the 'spublish' command",
         REDIRECT_DENIED},
        {"ERR ACL failure in script: No permissions to access a channel", REDIRECT_DENIED_CHANNEL},
        {"NOPERM User u has no permissions to run the 'pubsub|shardnumsub' command",
         REDIRECT_DENIED},
        {"NOPERM No permissions to access a channel", REDIRECT_DENIED_CHANNEL},
        {"ERR Script attempted to access a non local key in a cluster node", REDIRECT_ALLOWED},
        {"ERR Unknown Redis command called from script", REDIRECT_ALLOWED},
        {"", REDIRECT_ALLOWED},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[160];
        redisReply error = {.type = REDIS_REPLY_ERROR, .str = text, .len = strlen(rows[i].error)};

        memcpy(text, rows[i].error, strlen(rows[i].error) + 1);
        assert_int_equal(redirect_denial(&error), rows[i].denial);
    }
}

TEST_GROUP(redirect)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_everything_else_is_done),
        cmocka_unit_test(test_an_unknown_error_of_a_script_is_partly),
        cmocka_unit_test(test_servers_without_scripts),
        cmocka_unit_test(test_denied_commands),
        cmocka_unit_test(test_many_denied_commands),
        cmocka_unit_test(test_denials_in_a_script),
    };

    return cmocka_run_group_tests_name("redirect", tests, NULL, NULL);
}
