/* test_clock.c - the clocks of this process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"

static int64_t read_ms(clockid_t clock)
{
    struct timespec now;

    assert_int_equal(clock_gettime(clock, &now), 0);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void now_is_the_time_since_boot(void **state)
{
    int64_t before = read_ms(CLOCK_BOOTTIME);
    int64_t now = clock_now_ms();

    (void) state;
    assert_true(before <= now);
    assert_true(now <= read_ms(CLOCK_BOOTTIME));
}

static void wall_is_the_time_since_1970(void **state)
{
    (void) state;
    assert_true(clock_wall_ms() > INT64_C(1600000000000)); /* 2020 */
    assert_true(clock_wall_ms() < INT64_C(1) << 43);       /* 2248, the end of due times */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(now_is_the_time_since_boot),
        cmocka_unit_test(wall_is_the_time_since_1970),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
