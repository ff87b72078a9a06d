/* test_last_line.c - the last line of what a program wrote to its standard error. */
#include <string.h>

#include "cli/consume/last_line.h"
#include "support/group.h"

static void test_the_last_line_is_bounded_and_cleaned(void **state)
{
    static const struct {
        const char *written, *line;
    } rows[] = {
        {"", ""},
        {"\n\n", ""},
        {"one", "one"},
        {"one\n", "one"},
        {"one\ntwo\n", "two"},
        {"one\ntwo\n\n  \n", "two"},
        {"  \tone \t\r\n", "one"},
        {"10 %\r50 %\r", "50 %"},
        {"\033[1;31merror\033[0m: no\n", "error: no"},
        {"\033[31m\033[0m\n", ""},
        {"one\n\033", "one"},
        {"a\001b", "a\\x01b"},
        {"caf\303\251\n", "caf\303\251"},
        {"\377\n", "\\xff"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct last_line whole = {.now_size = 0};
        struct last_line pieces = {.now_size = 0};
        char text[PRINTABLE_ROOM(SMQ_REASON_MAX)];

        last_line_add(&whole, rows[i].written, strlen(rows[i].written));
        last_line_text(text, &whole);
        assert_string_equal(text, rows[i].line);
        for (const char *at = rows[i].written; *at != '\0'; at++) {
            last_line_add(&pieces, at, 1);
        }
        last_line_text(text, &pieces);
        assert_string_equal(text, rows[i].line);
    }
}

static void test_the_beginning_of_a_long_line_is_kept(void **state)
{
    struct last_line line = {.now_size = 0};
    char text[PRINTABLE_ROOM(SMQ_REASON_MAX)];

    last_line_add(&line, "begin ", 6);
    for (int i = 0; i < 1000; i++) {
        last_line_add(&line, "x", 1);
    }
    last_line_add(&line, "\n", 1);
    last_line_text(text, &line);
    assert_int_equal(strlen(text), SMQ_REASON_MAX);
    assert_memory_equal(text, "begin xxx", 9);
}

TEST_GROUP(last_line)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_line_is_bounded_and_cleaned),
        cmocka_unit_test(test_the_beginning_of_a_long_line_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
