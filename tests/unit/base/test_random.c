/* test_random.c - random numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"

/* Over 256 draws a bit that never changed would happen by chance once in 2^250 runs. */
static void every_bit_changes(void **state)
{
    uint64_t ones = 0;
    uint64_t zeros = 0;

    (void) state;
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

    (void) state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bit_changes),
        cmocka_unit_test(hex_fills_its_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
