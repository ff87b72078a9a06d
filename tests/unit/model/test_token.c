/* test_token.c - the fencing token of a slot's owner. */
#include <string.h>

#include "model/token.h"
#include "support/group.h"

/* In rising order. */
static const struct {
    struct token token;
    const char *text;
} tokens[] = {
    {{0, 0}, "000000000000000000000000"},
    {{0, 1}, "000000000000000000000001"},
    {{1, 0}, "000000010000000000000000"},
    {{1, 0xffffffff}, "0000000100000000ffffffff"},
    {{1, UINT64_C(0x100000000)}, "000000010000000100000000"},
    {{1, UINT64_C(0x123456789abcdef0)}, "00000001123456789abcdef0"},
    {{1, UINT64_MAX}, "00000001ffffffffffffffff"},
    {{2, 0}, "000000020000000000000000"},
    {{UINT32_MAX, UINT64_MAX}, "ffffffffffffffffffffffff"},
};

enum { TOKENS = sizeof(tokens) / sizeof(tokens[0]) };

static void token_text_reads_back(void **state)
{
    for (size_t i = 0; i < TOKENS; i++) {
        char text[TOKEN_TEXT_LEN + 1];
        struct token token = {9, 9};

        token_format(text, tokens[i].token);
        assert_string_equal(text, tokens[i].text);
        assert_true(token_parse(&token, text, TOKEN_TEXT_LEN));
        assert_int_equal(token_compare(token, tokens[i].token), 0);
    }
}

static void token_order_is_that_of_its_text(void **state)
{
    for (size_t i = 0; i < TOKENS; i++) {
        for (size_t j = 0; j < TOKENS; j++) {
            int order = token_compare(tokens[i].token, tokens[j].token);
            int text_order = strcmp(tokens[i].text, tokens[j].text);

            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
            assert_int_equal((order > 0) - (order < 0), (text_order > 0) - (text_order < 0));
        }
    }
}

static void token_refuses_other_text(void **state)
{
    static const char *const texts[] = {
        "",
        "shared",
        "00000000000000000000000",
        "0000000000000000000000000",
        "00000000000000000000000A",
        "00000000000000000000000g",
        "00000000000000000000000-",
        " 00000000000000000000000",
        "0x0000000000000000000001",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct token token = {7, 7};

        assert_false(token_parse(&token, texts[i], strlen(texts[i])));
        assert_int_equal(token.generation, 7);
        assert_int_equal(token.epoch, 7);
    }
    assert_false(token_parse(&(struct token){0}, "00000000000000000000000\0", TOKEN_TEXT_LEN));
}

TEST_GROUP(token)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_text_reads_back),
        cmocka_unit_test(token_order_is_that_of_its_text),
        cmocka_unit_test(token_refuses_other_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
