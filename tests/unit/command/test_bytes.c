/* test_bytes.c - bytes of messages in results: base64, JSON, fields. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/base64.h"
#include "cli/field.h"
#include "cli/output.h"

static void test_base64_vectors_of_rfc_4648(void **state)
{
    static const char *const rows[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xfb\xff\xfe", "+//+"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[16];
        const size_t size = strlen(rows[i][0]);
        assert_int_equal(base64_size(size), strlen(rows[i][1]) + 1);
        base64_encode(text, rows[i][0], size);
        assert_string_equal(text, rows[i][1]);
    }
}

static void assert_json(const void *bytes, size_t size, const char *wanted)
{
    json_t *object = json_object();
    size_t length = 0;

    output_set_bytes(object, "body", bytes, size);
    char *text = output_json_text(&length, object);
    assert_string_equal(text, wanted);
    assert_int_equal(length, strlen(wanted));
    free(text);
}

static void test_bytes_that_are_not_utf8_come_as_base64(void **state)
{
    (void) state;
    assert_json("plain", 5, "{\"body\":\"plain\"}");
    assert_json("say \"hi\"\n", 9, "{\"body\":\"say \\\"hi\\\"\\n\"}");
    assert_json("a\0b", 3, "{\"body\":\"a\\u0000b\"}");
    assert_json("\xc3\xa9", 2, "{\"body\":\"\xc3\xa9\"}");
    assert_json("\xff", 1, "{\"body_base64\":\"/w==\"}");
    assert_json("\xc3", 1, "{\"body_base64\":\"ww==\"}");
    assert_json("\xed\xa0\x80", 3, "{\"body_base64\":\"7aCA\"}");
}

static void test_bytes_are_shown_without_nul(void **state)
{
    char text[4];

    (void) state;
    output_printable(text, "a\0b", 3);
    assert_string_equal(text, "a?b");
}

static void test_a_field_is_found_between_white_space(void **state)
{
    static const struct {
        const char *line;
        size_t number;
        const char *field; /* "": there is none */
    } rows[] = {
        {"one two three", 1, "one"},
        {"one two three", 3, "three"},
        {"one two three", 4, ""},
        {"  one\t\t two  ", 1, "one"},
        {"  one\t\t two  ", 2, "two"},
        {"  one\t\t two  ", 3, ""},
        {"one", 1, "one"},
        {"   ", 1, ""},
        {"", 1, ""},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct field found = field_of(rows[i].line, strlen(rows[i].line), rows[i].number);
        assert_int_equal(found.size, strlen(rows[i].field));
        assert_memory_equal(found.start, rows[i].field, found.size);
    }
}

static void test_a_field_may_hold_any_byte(void **state)
{
    const struct field found = field_of("a\0b c", 5, 1);

    (void) state;
    assert_int_equal(found.size, 3);
    assert_memory_equal(found.start, "a\0b", 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base64_vectors_of_rfc_4648),
        cmocka_unit_test(test_bytes_that_are_not_utf8_come_as_base64),
        cmocka_unit_test(test_bytes_are_shown_without_nul),
        cmocka_unit_test(test_a_field_is_found_between_white_space),
        cmocka_unit_test(test_a_field_may_hold_any_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
