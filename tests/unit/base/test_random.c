/* test_random.c - random numbers. */
#include <string.h>

#include "base/random.h"
#include "support/group.h"

/* Over 256 draws a bit that never changed would happen by chance once in 2^250 runs. */
static void every_bit_changes(void **state)
{
    uint64_t ones = 0;
    uint64_t zeros = 0;

    for (int i = 0; i < 256; i++) {
        uint64_t value = random_u64();

        ones |= value;
        zeros |= ~value;
    }
    assert_true(ones == UINT64_MAX);
    assert_true(zeros == UINT64_MAX);
}

static void hex_fills_its_room(void **state)
{
    char text[4096];
    char one[1] = {'x'};

    random_hex(one, 0);
    assert_int_equal(one[0], 'x');
    random_hex(one, sizeof(one));
    assert_int_equal(one[0], '\0');
    random_hex(text, sizeof(text));
    assert_int_equal(strlen(text), sizeof(text) - 1);
    assert_int_equal(strspn(text, "0123456789abcdef"), sizeof(text) - 1);
    for (const char *digit = "0123456789abcdef"; *digit != '\0'; digit++) {
        assert_non_null(strchr(text, *digit));
    }
}

/* Whatever is drawn, it is in [min / 2, min / 2 + most), where `most` doubles up to `max`. */
static void backoff_grows_up_to_its_bound(void **state)
{
    static const struct {
        uint64_t failures;
        int64_t min, max, least, most;
    } cases[] = {
        {0, 20, 1000, 10, 29},   {1, 20, 1000, 10, 49},        {5, 20, 1000, 10, 649},
        {6, 20, 1000, 10, 1009}, {16, 20, 1000, 10, 1009},     {17, 20, 1000, 10, 1009},
        {1000, 10, 500, 5, 504}, {UINT64_MAX, 20, 30, 10, 39}, {0, 1, 1, 0, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int draw = 0; draw < 500; draw++) {
            assert_in_range(random_backoff_ms(cases[i].failures, cases[i].min, cases[i].max),
                            cases[i].least, cases[i].most);
        }
    }
}

TEST_GROUP(random)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bit_changes),
        cmocka_unit_test(hex_fills_its_room),
        cmocka_unit_test(backoff_grows_up_to_its_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
