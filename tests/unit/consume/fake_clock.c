/* fake_clock.c - see fake_clock.h. */
#include "fake_clock.h"

#include <stdatomic.h>

/* `stopped_us` 0: the clock runs, `later_us` ahead. */
static _Atomic int64_t later_us, stopped_us;

/* The linker has the names. */
int64_t __real_clock_now_us(void); /* NOLINT(bugprone-reserved-identifier) */
int64_t __wrap_clock_now_us(void); /* NOLINT(bugprone-reserved-identifier) */

int64_t __wrap_clock_now_us(void) /* NOLINT(bugprone-reserved-identifier) */
{
    int64_t stopped = stopped_us;

    return stopped != 0 ? stopped : __real_clock_now_us() + later_us;
}

void fake_clock_reset(void)
{
    later_us = stopped_us = 0;
}

void fake_clock_advance(int64_t us)
{
    later_us += us;
}

void fake_clock_stop(void)
{
    stopped_us = __wrap_clock_now_us();
}
