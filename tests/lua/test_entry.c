/* test_entry.c - lua/lib/score.lua, entry.lua and body.lua on the vectors that the C code is tested
 * on too. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script_table.h"
#include "support/group.h"
#include "support/vectors.h"

/* Appends a part of the scripts to the text. */
static void append_part(char *text, size_t size, const char *path)
{
    FILE *file = fopen(path, "r");
    size_t len = strlen(text);

    assert_non_null(file);
    len += fread(text + len, 1, size - len - 1, file);
    fclose(file);
    text[len] = '\0';
}

/* The parts with one expression behind them, over ARGV; the answer is a string. */
static redisReply *evaluate(struct fixture *fixture, const char *expression, const char *first,
                            size_t first_len, const char *second)
{
    static char text[8192];
    redisReply *reply;
    size_t len;

    text[0] = '\0';
    append_part(text, sizeof(text) - 512, LIBRARY "/score.lua");
    append_part(text, sizeof(text) - 512, LIBRARY "/entry.lua");
    len = strlen(text);
    snprintf(text + len, sizeof(text) - len, "\nlocal body\n");
    append_part(text, sizeof(text) - 512, LIBRARY "/body.lua");
    len = strlen(text);
    snprintf(text + len, sizeof(text) - len, "\nreturn %s\n", expression);
    reply = redisCommand(fixture->redis, "EVAL %s 0 %b %s", text, first, first_len, second);
    assert_non_null(reply);
    if (reply->type != REDIS_REPLY_STRING) {
        fail_msg("%s of %s: %s", expression, first, reply->str);
    }
    return reply;
}

static void evaluates_to(struct fixture *fixture, const char *expression, const char *first,
                         const char *second, const char *expected)
{
    redisReply *reply = evaluate(fixture, expression, first, strlen(first), second);

    if (strcmp(reply->str, expected) != 0) {
        fail_msg("%s of %s, %s: %s, not %s", expression, first, second, reply->str, expected);
    }
    freeReplyObject(reply);
}

static void reads_as(struct fixture *fixture, const char *score, const char *integer,
                     const char *attempts)
{
    char expected[64];

    snprintf(expected, sizeof(expected), "%s %s", integer, attempts);
    evaluates_to(fixture, "string.format('%d %d', split(ARGV[1]))", score, "", expected);
}

static void attempts_of(char out[8], const struct vector *vector, int at)
{
    long retries = strtol(vector->fields[at], NULL, 10);
    long suspect = strtol(vector->fields[at + 1], NULL, 10);

    snprintf(out, 8, "%ld", retries * 2 + suspect);
}

static void check_score(const struct vector *vector, void *user)
{
    struct fixture *fixture = user;
    char attempts[8];
    redisReply *reply;

    attempts_of(attempts, vector, 2);
    reply = evaluate(fixture, "join(tonumber(ARGV[1]), tonumber(ARGV[2]))", vector->fields[1],
                     strlen(vector->fields[1]), attempts);
    assert_true(strtod(reply->str, NULL) == strtod(vector->fields[4], NULL));
    freeReplyObject(reply);
    reads_as(fixture, vector->fields[4], vector->fields[1], attempts);
    reads_as(fixture, vector->fields[5], vector->fields[1], attempts);
}

static void check_read(const struct vector *vector, void *user)
{
    struct fixture *fixture = user;
    char attempts[8];

    attempts_of(attempts, vector, 3);
    reads_as(fixture, vector->fields[1], vector->fields[2], attempts);
}

static void check_rest(const struct vector *vector, void *user)
{
    struct fixture *fixture = user;
    evaluates_to(fixture, "string.format('%.0f', REST + ARGV[1])", vector->fields[1], "",
                 vector->fields[2]);
}

/* Before-image, letter, claim number and the member's bytes again as hex. */
static void check_entry(const struct vector *vector, void *user)
{
    struct fixture *fixture = user;
    const char *hex = vector->fields[5];
    bool unnumbered = strchr("ds", vector->fields[2][0]) != NULL;
    char expected[VECTOR_LINE_MAX];
    struct buf entry = {0};
    redisReply *reply;

    for (; hex[0] != '\0'; hex += 2) {
        char pair[3] = {hex[0], hex[1], '\0'};
        char byte = (char) strtol(pair, NULL, 16);

        buf_add(&entry, &byte, 1);
    }
    snprintf(expected, sizeof(expected), "%s %s %s %s", vector->fields[1], vector->fields[2],
             unnumbered ? "" : vector->fields[3], vector->fields[4]);
    reply = evaluate(fixture,
                     "(function(before, letter, member) return before .. ' ' .. letter .. "
                     "' ' .. claim_of(ARGV[1]) .. ' ' .. string.gsub(member, '.', function(c) "
                     "return string.format('%02x', string.byte(c)) end) end)(decode(ARGV[1]))",
                     entry.data, entry.len, "");
    assert_string_equal(reply->str, expected);
    freeReplyObject(reply);
    buf_fini(&entry);
}

/* Through the send script, which alone knows places. */
static void check_ties(const struct vector *vector, void *user)
{
    struct fixture *fixture = user;
    char line[128];
    struct script_row lines[] = {{"open p", "OK"},
                                 {"redis ZADD prepare{x} 5 5c1:z", "1"}, /* not empty */
                                 {line, NULL},
                                 {line, NULL},
                                 {line, NULL}};

    script_table_run(fixture, lines, 2);
    snprintf(line, sizeof(line), "redis HSET slot{x} seq %s", vector->fields[2]);
    script_table_run(fixture, lines + 2, 1);
    snprintf(line, sizeof(line), "send a %s", vector->fields[1]);
    script_table_run(fixture, lines + 3, 1);
    snprintf(line, sizeof(line), "redis ZSCORE x a");
    lines[4].expected = vector->fields[3];
    script_table_run(fixture, lines + 4, 1);
}

static void test_scores(void **state)
{
    vector_each(VECTORS "/entries.txt", "score", 5, check_score, *state);
    vector_each(VECTORS "/entries.txt", "read", 4, check_read, *state);
}

static void test_entries(void **state)
{
    vector_each(VECTORS "/entries.txt", "entry", 5, check_entry, *state);
}

static void test_rests(void **state)
{
    vector_each(VECTORS "/entries.txt", "rest", 2, check_rest, *state);
}

static void test_ties(void **state)
{
    vector_each(VECTORS "/entries.txt", "ties", 3, check_ties, *state);
}

static void check_beside(const struct vector *vector, void *user)
{
    struct fixture *fixture = user;
    char expected[VECTOR_LINE_MAX];

    snprintf(expected, sizeof(expected), "%s %s %s %s", vector->fields[1], vector->fields[2],
             vector->fields[3], vector->fields[4]);
    evaluates_to(fixture,
                 "(function(first, limit, expiry) return string.format('%.0f %s %s %d', "
                 "first, limit ~= '' and limit or '-', expiry and string.format('%.0f', expiry) or "
                 "'-', header_refs(ARGV[1])) end)(header_split(ARGV[1]))",
                 vector->fields[5], "", expected);
    evaluates_to(fixture,
                 "(function(first, limit, expiry) return header_join(first, limit, expiry, "
                 "header_refs(ARGV[1])) end)(header_split(ARGV[1]))",
                 vector->fields[5], "", vector->fields[5]);
}

static void test_beside_bodies(void **state)
{
    vector_each(VECTORS "/headers.txt", "beside", 7, check_beside, *state);
}

static void test_what_is_no_entry(void **state)
{
    static const char *const texts[] = {"",     "a:b",   "20:b",    "20x1:b", "c1:b",
                                        "20c1", "20c1b", "20 c1:b", "20c-1:b"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        evaluates_to(*state, "decode(ARGV[1]) or 'nil'", texts[i], "", "nil");
    }
}

TEST_GROUP(entry)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores),        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_rests),         cmocka_unit_test(test_ties),
        cmocka_unit_test(test_beside_bodies), cmocka_unit_test(test_what_is_no_entry),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
