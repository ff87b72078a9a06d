/* test_line.c - text for people: always one line. */
#include <string.h>

#include "base/line.h"
#include "support/group.h"

static void format(char *out, size_t size, const char *text, ...)
    __attribute__((format(printf, 3, 4)));

static void format(char *out, size_t size, const char *text, ...)
{
    va_list args;

    va_start(args, text);
    line_format(out, size, text, args);
    va_end(args);
}

static void line_is_one_line(void **state)
{
    char out[64];

    format(out, sizeof(out), "%s %d", "slot", 7);
    assert_string_equal(out, "slot 7");
    format(out, sizeof(out), "%s", "a\nb\r\nc\td\x1b[1m\x7f");
    assert_string_equal(out, "a b  c d [1m ");
    format(out, sizeof(out), "%s", "caf\xc3\xa9");
    assert_string_equal(out, "caf\xc3\xa9");
}

static void line_is_cut_to_fit(void **state)
{
    char out[8];

    memset(out, '!', sizeof(out));
    format(out, 4, "%s", "abcdefgh");
    assert_string_equal(out, "abc");
    assert_int_equal(out[4], '!');
    format(out, 1, "%s", "abcdefgh");
    assert_string_equal(out, "");
}

static void text_that_fits_has_no_part_of_a_character(void **state)
{
    static const struct {
        const char *text;
        size_t most, fits;
    } rows[] = {
        {"", 4, 0},
        {"abcd", 4, 4},
        {"abcde", 4, 4},
        {"abc\xc3\xa9", 4, 3},
        {"abc\xc3\xa9", 5, 5},
        {"ab\xe2\x82\xac", 4, 2},
        {"ab\xe2\x82\xac", 5, 5},
        {"a\xf0\x9f\x98\x80", 4, 1},
        {"\xf0\x9f\x98\x80", 3, 0},
        {"\xa9\xa9\xa9\xa9\xa9", 4, 4}, /* not UTF-8 */
        {"\xa9\xa9", 1, 1},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(line_fit(rows[i].text, rows[i].most), rows[i].fits);
    }
}

static void escaped_text_shows_its_control_characters(void **state)
{
    static const struct {
        const char *text, *escaped;
        bool ascii;
    } rows[] = {
        {"", "", false},
        {"card declined", "card declined", false},
        {"a\nb\x1b\x7f", "a\\x0ab\\x1b\\x7f", false},
        {"C:\\caf\xc3\xa9", "C:\\caf\xc3\xa9", false},
        {"C:\\caf\xc3\xa9", "C:\\x5ccaf\\xc3\\xa9", true},
    };
    char out[64];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        line_escape(out, sizeof(out), rows[i].text, strlen(rows[i].text), rows[i].ascii);
        assert_string_equal(out, rows[i].escaped);
    }
    line_escape(out, 9, "\n\n\n", 3, false);
    assert_string_equal(out, "\\x0a\\x0a");
}

TEST_GROUP(line)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_is_one_line),
        cmocka_unit_test(line_is_cut_to_fit),
        cmocka_unit_test(text_that_fits_has_no_part_of_a_character),
        cmocka_unit_test(escaped_text_shows_its_control_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
