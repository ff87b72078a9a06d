/* test_width.c - texts that fit into columns of a terminal. */
#include <locale.h>
#include <stdlib.h>

#include "cli/text/width.h"
#include "support/group.h"

#define DOTS "\xe2\x80\xa6" /* an ellipsis */
#define WIDE "\xe6\xb3\xa8" /* takes two columns */
#define E    "e\xcc\x81"    /* an e, and an accent that takes none */

static void test_columns_are_those_of_a_terminal(void **state)
{
    assert_int_equal(width_of(""), 0);
    assert_int_equal(width_of("abc"), 3);
    assert_int_equal(width_of(WIDE WIDE "a"), 5);
    assert_int_equal(width_of(E), 1);
    assert_int_equal(width_of("\xff"), 1);
    assert_int_equal(width_of("ab\nabcd\nabc"), 4);
}

static void test_what_is_wider_is_narrowed(void **state)
{
    static const struct {
        char *(*narrow)(const char *text, size_t columns);
        const char *text;
        size_t columns;
        const char *wanted;
    } rows[] = {
        {width_cut, "abcdef", 6, "abcdef"},
        {width_cut, "abcdef", 5, "abcd" DOTS},
        {width_cut, "abcdef", 3, "ab" DOTS},
        {width_cut, "abcdef", 2, "ab"},
        {width_cut, "abcdef", 0, ""},
        {width_cut, WIDE WIDE WIDE, 5, WIDE WIDE DOTS},
        {width_cut, WIDE WIDE WIDE, 4, WIDE DOTS},
        {width_cut, E E E E, 3, E E DOTS},
        {width_shorten, "orders/billing", 14, "orders/billing"},
        {width_shorten, "orders/billing", 9, "orde" DOTS "ling"},
        {width_shorten, "orders/billing", 8, "orde" DOTS "ing"},
        {width_shorten, "a" WIDE WIDE WIDE "z", 6, "a" WIDE DOTS "z"},
        {width_wrap, "one two three", 13, "one two three"},
        {width_wrap, "one two three", 8, "one two\nthree"},
        {width_wrap, "one two three", 7, "one two\nthree"},
        {width_wrap, "one two three", 6, "one\ntwo\nthree"},
        {width_wrap, "0-5,9-9,20-22", 8, "0-5,9-9,\n20-22"},
        {width_wrap, "at redis-0.shop.local:6379", 12, "at\nredis-0.\nshop.local:\n6379"},
        {width_wrap, "one  ", 3, "one"},
        {width_wrap, "abcdefgh", 3, "abc\ndef\ngh"},
        {width_wrap, WIDE WIDE, 3, WIDE "\n" WIDE},
        {width_wrap, WIDE WIDE, 1, WIDE "\n" WIDE},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *text = rows[i].narrow(rows[i].text, rows[i].columns);
        assert_string_equal(text, rows[i].wanted);
        free(text);
    }
}

/* In a locale without UTF-8 a terminal may not show the character. */
static void test_an_ellipsis_of_ascii(void **state)
{
    assert_non_null(setlocale(LC_CTYPE, "C"));
    char *text = width_cut("abcdef", 5);
    assert_string_equal(text, "ab...");
    free(text);
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
}

static int setup(void **state)
{
    return setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

TEST_GROUP(width)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_are_those_of_a_terminal),
        cmocka_unit_test(test_what_is_wider_is_narrowed),
        cmocka_unit_test(test_an_ellipsis_of_ascii),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
