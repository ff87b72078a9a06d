/* test_command.c - commands are rendered as hiredis renders them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/redis.h"
#include "support/group.h"

enum { ARGS_MAX = 1200, LARGE = 70000 };

static char large[LARGE];

/* An argument; `text` NULL: the first `len` bytes of `large`. */
struct arg {
    const char *text;
    size_t len;
};

static const struct script script = {
    .name = "x", .text = "return 1", .sha1 = "0123456789abcdef0123456789abcdef01234567", .keys = 5};

/* `repeat`: the arguments this many times over. */
static const struct row {
    bool scripted;
    int keys;
    size_t count, repeat;
    struct arg args[4];
} rows[] = {
    {false, 0, 1, 1, {{"PING", 4}}},
    {false, 0, 2, 1, {{"GET", 3}, {"", 0}}},
    {false, 0, 3, 1, {{"SET", 3}, {"k\0\r\n$", 5}, {"\xff*9", 3}}},
    {false, 0, 4, 1, {{"A", 1}, {NULL, 9}, {NULL, 10}, {NULL, 100}}},
    {false, 0, 2, 1, {{"ECHO", 4}, {NULL, LARGE}}},
    {true, 1, 1, 1, {{"key", 3}}},
    {true, 5, 4, 1, {{"a", 1}, {"b", 1}, {"", 0}, {"1000", 4}}},
    {true, 12, 2, 500, {{"member", 6}, {NULL, 64}}},
};

static void add(struct redis_command *command, const struct arg *arg)
{
    redis_arg(command, arg->text != NULL ? arg->text : large, arg->len);
}

static void expect(const struct redis_command *command, const struct row *row)
{
    const char *argv[ARGS_MAX] = {"EVALSHA", script.sha1}, *rendered;
    size_t lens[ARGS_MAX] = {7, 40}, count = 0, len = 0;
    char keys[12], *expected = NULL;

    if (row->scripted) {
        lens[2] = (size_t) snprintf(keys, sizeof(keys), "%d", row->keys);
        argv[2] = keys;
        count = 3;
    }
    for (size_t i = 0; i < row->count * row->repeat; i++, count++) {
        const struct arg *arg = &row->args[i % row->count];
        argv[count] = arg->text != NULL ? arg->text : large;
        lens[count] = arg->len;
    }
    long long expected_len = redisFormatCommandArgv(&expected, (int) count, argv, lens);
    rendered = redis_command_render(command, &len);
    assert_int_equal(len, expected_len);
    assert_memory_equal(rendered, expected, len);
    redisFreeCommand(expected);
}

/* A command that is used again shows nothing of what it was before. */
static void test_commands(void **state)
{
    struct redis_command command;

    memset(large, '$', sizeof(large));
    redis_command_init(&command, NULL, REDIS_ANY_NODE, NULL, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];

        redis_command_clear(&command);
        command.script = row->scripted ? &script : NULL;
        command.keys = row->keys;
        for (size_t j = 0; j < row->count * row->repeat; j++) {
            add(&command, &row->args[j % row->count]);
        }
        expect(&command, row);
        expect(&command, row); /* as for a repeat */
    }
    redis_command_fini(&command);
}

static void test_numbers(void **state)
{
    static const int64_t numbers[] = {0, 7, -1, 10, 1700000000020, INT64_MAX, INT64_MIN};
    struct redis_command command;

    redis_command_init(&command, NULL, REDIS_ANY_NODE, NULL, NULL);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        char text[24];
        struct row row = {.count = 1, .repeat = 1};

        row.args[0].len = (size_t) snprintf(text, sizeof(text), "%lld", (long long) numbers[i]);
        row.args[0].text = text;
        redis_command_clear(&command);
        redis_arg_int(&command, numbers[i]);
        expect(&command, &row);
    }
    redis_command_fini(&command);
}

TEST_GROUP(command)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_numbers),
    };

    return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
