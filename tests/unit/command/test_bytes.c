/* test_bytes.c - bytes of messages in results: base64, JSON, fields. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message/nth_field.h"
#include "cli/text/base64.h"
#include "cli/text/output.h"
#include "cli/text/printable.h"
#include "support/group.h"

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

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[16];
        const size_t size = strlen(rows[i][0]);
        assert_int_equal(base64_size(size), strlen(rows[i][1]) + 1);
        base64_encode(text, rows[i][0], size);
        assert_string_equal(text, rows[i][1]);
        char back[16];
        size_t back_size = 99;
        assert_true(base64_decode(back, &back_size, text, strlen(text)));
        assert_int_equal(back_size, size);
        assert_memory_equal(back, rows[i][0], size);
    }
}

static void test_what_is_no_base64_is_refused(void **state)
{
    static const char *const texts[] = {"Z",    "Zg",   "Zg=",  "====",  "Z===",    "Zm9v\n",
                                        "Zm-v", "Zm9 ", "=m9v", "Zm9vZ", "Zg==Zg=="};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char out[16];
        size_t size = 0;
        if (base64_decode(out, &size, texts[i], strlen(texts[i]))) {
            fail_msg("\"%s\" was read", texts[i]);
        }
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
    assert_json("plain", 5, "{\"body\":\"plain\"}");
    assert_json("say \"hi\"\n", 9, "{\"body\":\"say \\\"hi\\\"\\n\"}");
    assert_json("a\0b", 3, "{\"body\":\"a\\u0000b\"}");
    assert_json("\xc3\xa9", 2, "{\"body\":\"\xc3\xa9\"}");
    assert_json("\xff", 1, "{\"body_base64\":\"/w==\"}");
    assert_json("\xc3", 1, "{\"body_base64\":\"ww==\"}");
    assert_json("\xed\xa0\x80", 3, "{\"body_base64\":\"7aCA\"}");
}

/* The UTF-8 of a character of at least two bytes; its length. */
static size_t encode(char out[5], uint32_t character)
{
    const size_t length = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};

    for (size_t i = length - 1; i > 0; i--, character >>= 6) {
        out[i] = (char) (0x80 | (character & 0x3f));
    }
    out[0] = (char) (first[length] | character);
    out[length] = '\0';
    return length;
}

/* In text as \xHH, in JSON as \uHHHH. */
static void assert_shown(uint32_t character, bool escaped)
{
    char bytes[5], text[32], json[32], wanted[32] = "";
    const size_t size = encode(bytes, character);

    for (size_t i = 0; i < size; i++) {
        snprintf(wanted + 4 * i, 5, "\\x%02x", (unsigned char) bytes[i]);
    }
    (void) printable_text(text, bytes, size, false);
    assert_string_equal(text, escaped ? wanted : bytes);
    if (character < 0x10000) {
        snprintf(wanted, sizeof(wanted), "\\u%04X", (unsigned) character);
    } else {
        snprintf(wanted, sizeof(wanted), "\\u%04X\\u%04X",
                 (unsigned) (0xd800 + ((character - 0x10000) >> 10)),
                 (unsigned) (0xdc00 + (character & 0x3ff)));
    }
    (void) printable_json(json, bytes, size);
    assert_string_equal(json, escaped ? wanted : bytes);
}

/* Characters that reverse what stands beside them, or that cannot be seen, and their neighbours,
 * which are ordinary. */
static void test_characters_that_deceive_are_escaped(void **state)
{
    static const uint32_t hidden[] = {0x00ad, 0x061c, 0x180e,  0x200b,  0x200c, 0x200d,
                                      0x200e, 0x200f, 0x2028,  0x2029,  0x202a, 0x202e,
                                      0x2060, 0x2064, 0x2066,  0x2069,  0x206f, 0xfeff,
                                      0xfff9, 0xfffb, 0xe0001, 0xe0020, 0xe007f};
    static const uint32_t shown[] = {0x00a0, 0x00ae, 0x061b, 0x061d, 0x200a, 0x2010,
                                     0x202f, 0x2070, 0xfe0f, 0xff01, 0xfffd, 0x1f422};

    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
        assert_shown(hidden[i], true);
    }
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
        assert_shown(shown[i], false);
    }
}

#define ROW(bytes, wanted, ascii)                                                                  \
    {                                                                                              \
        bytes, sizeof(bytes) - 1, wanted, ascii                                                    \
    }

static void test_no_byte_controls_a_terminal(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *text;
        bool ascii;
    } rows[] = {
        ROW("plain", "plain", false),
        ROW("a\0b\n", "a\\x00b\\x0a", false),
        ROW("\033[31m\177", "\\x1b[31m\\x7f", false),
        ROW("\xc2\x9b"
            "31m",
            "\\xc2\\x9b31m", false), /* U+009B, a CSI */
        ROW("\x9b"
            "31m\xc3",
            "\\x9b31m\\xc3", false), /* the same in 8 bits; no UTF-8 */
        ROW("\xc2\xa0\xc3\xa9", "\xc2\xa0\xc3\xa9", false),
        ROW("\xe2\x82\xac\xf0\x9f\x90\xa2", "\xe2\x82\xac\xf0\x9f\x90\xa2", false),
        ROW("\xc0\x80", "\\xc0\\x80", false),          /* NUL, too long */
        ROW("\xed\xa0\x80", "\\xed\\xa0\\x80", false), /* a surrogate */
        ROW("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", false),
        ROW("\\x00 \\y", "\\x5cx00 \\y", false), /* not to be taken for a NUL */
        ROW("\xc3\xa9", "\\xc3\\xa9", true),
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[64];
        assert_true(PRINTABLE_ROOM(rows[i].size) <= sizeof(text));
        const size_t size = printable_text(text, rows[i].bytes, rows[i].size, rows[i].ascii);
        assert_string_equal(text, rows[i].text);
        assert_int_equal(size, strlen(text));
    }
}

static void test_json_holds_no_control_characters(void **state)
{
    assert_json("\033\177\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", 10,
                "{\"body\":\"\\u001B\\u007F\\u0080\\u009B\\u009F\xc2\xa0\"}");
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

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct nth_field found =
            nth_field(rows[i].line, strlen(rows[i].line), rows[i].number);
        assert_int_equal(found.size, strlen(rows[i].field));
        assert_memory_equal(found.start, rows[i].field, found.size);
    }
}

static void test_a_field_may_hold_any_byte(void **state)
{
    const struct nth_field found = nth_field("a\0b c", 5, 1);

    assert_int_equal(found.size, 3);
    assert_memory_equal(found.start, "a\0b", 3);
}

TEST_GROUP(bytes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base64_vectors_of_rfc_4648),
        cmocka_unit_test(test_what_is_no_base64_is_refused),
        cmocka_unit_test(test_bytes_that_are_not_utf8_come_as_base64),
        cmocka_unit_test(test_no_byte_controls_a_terminal),
        cmocka_unit_test(test_characters_that_deceive_are_escaped),
        cmocka_unit_test(test_json_holds_no_control_characters),
        cmocka_unit_test(test_a_field_is_found_between_white_space),
        cmocka_unit_test(test_a_field_may_hold_any_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
