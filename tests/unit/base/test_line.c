/* test_line.c - text for people: always one line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/line.h"

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

    (void) state;
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

    (void) state;
    memset(out, '!', sizeof(out));
    format(out, 4, "%s", "abcdefgh");
    assert_string_equal(out, "abc");
    assert_int_equal(out[4], '!');
    format(out, 1, "%s", "abcdefgh");
    assert_string_equal(out, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_is_one_line),
        cmocka_unit_test(line_is_cut_to_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
