/* test_cursor.c - where a visit continues, as text. */
#include <string.h>

#include "model/cursor.h"
#include "support/group.h"

static void good_ones_come_back_as_they_were(void **state)
{
    static const struct {
        const char *text;
        struct cursor cursor;
    } cases[] = {
        {"3:waiting:1700000000000:order-7",
         {.slot = 3, .state = SMQ_STATE_WAITING, .score = "1700000000000", .name = "order-7"}},
        {"0:claimed:31000.0078125:1000c1:a:b",
         {.slot = 0, .state = SMQ_STATE_CLAIMED, .score = "31000.0078125", .name = "1000c1:a:b"}},
        {"63:resting:-7:%25%20%0A%FF",
         {.slot = 63, .state = SMQ_STATE_RESTING, .score = "-7", .name = "% \n\xff"}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf text = {0}, name = {0};
        struct cursor cursor = cases[i].cursor, parsed;

        cursor.name_len = strlen(cursor.name);
        cursor_format(&text, &cursor);
        assert_string_equal(text.data, cases[i].text);
        assert_true(cursor_parse(&parsed, &name, text.data, 64));
        assert_int_equal(parsed.slot, cursor.slot);
        assert_int_equal(parsed.state, cursor.state);
        assert_string_equal(parsed.score, cursor.score);
        assert_int_equal(parsed.name_len, cursor.name_len);
        assert_memory_equal(parsed.name, cursor.name, cursor.name_len);
        buf_fini(&text);
        buf_fini(&name);
    }
}

static void a_name_with_a_nul(void **state)
{
    struct cursor cursor = {.state = SMQ_STATE_DEAD, .score = "1", .name = "a\0b", .name_len = 3},
                  parsed;
    struct buf text = {0}, name = {0};

    cursor_format(&text, &cursor);
    assert_string_equal(text.data, "0:dead:1:a%00b");
    assert_true(cursor_parse(&parsed, &name, text.data, 1));
    assert_int_equal(parsed.name_len, 3);
    assert_memory_equal(parsed.name, "a\0b", 3);
    buf_fini(&text);
    buf_fini(&name);
}

static void bad_ones_are_refused(void **state)
{
    static const char *const cases[] = {
        "",
        "3",
        "3:waiting",
        "3:waiting:1",
        "3:waiting:1:",
        "4:waiting:1:a",
        "-1:waiting:1:a",
        ":waiting:1:a",
        "99999999999999999999:waiting:1:a",
        "3::1:a",
        "3:wait:1:a",
        "3:WAITING:1:a",
        "3:waiting::a",
        "3:waiting:inf:a",
        "3:waiting:nan:a",
        "3:waiting:(1:a",
        "3:waiting:1.3:a",
        "3:waiting:99999999999999999999:a",
        "3:waiting:1:%",
        "3:waiting:1:%4",
        "3:waiting:1:%4g",
        "3:waiting:1:a b",
        "3:waiting:1:\x80",
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf name = {0};
        struct cursor parsed;

        if (cursor_parse(&parsed, &name, cases[i], 4)) {
            fail_msg("accepted: %s", cases[i]);
        }
        buf_fini(&name);
    }
}

TEST_GROUP(cursor)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_ones_come_back_as_they_were),
        cmocka_unit_test(a_name_with_a_nul),
        cmocka_unit_test(bad_ones_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
