/* test_clock.c - the clocks of this process. */
#include <time.h>

#include "base/clock.h"
#include "support/group.h"

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

    assert_true(before <= now);
    assert_true(now <= read_ms(CLOCK_BOOTTIME));
}

static void wall_is_the_time_since_1970(void **state)
{
    assert_true(clock_wall_ms() > INT64_C(1600000000000)); /* 2020 */
    assert_true(clock_wall_ms() < INT64_C(1) << 43);       /* 2248, the end of due times */
}

static void deadline_is_so_far_away(void **state)
{
    static const int64_t rows[] = {0, 1, 999, 1000, 1001, 1999, 86400000};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t before = read_ms(CLOCK_MONOTONIC);
        struct timespec at = clock_deadline(rows[i]);
        int64_t at_ms = (int64_t) at.tv_sec * 1000 + at.tv_nsec / 1000000;

        assert_in_range(at.tv_nsec, 0, 999999999);
        assert_true(at_ms >= before + rows[i]);
        assert_true(at_ms <= read_ms(CLOCK_MONOTONIC) + rows[i]);
    }
}

static void deadline_of_no_time_is_now(void **state)
{
    struct timespec at = clock_deadline(-1);

    assert_true((int64_t) at.tv_sec * 1000 + at.tv_nsec / 1000000 <= read_ms(CLOCK_MONOTONIC));
}

TEST_GROUP(clock)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(now_is_the_time_since_boot),
        cmocka_unit_test(wall_is_the_time_since_1970),
        cmocka_unit_test(deadline_is_so_far_away),
        cmocka_unit_test(deadline_of_no_time_is_now),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
