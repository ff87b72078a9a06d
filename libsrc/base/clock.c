/* clock.c - the clocks of this process.
 *
 * Thread: any. */
#include "base/clock.h"

#include <stdlib.h>

static struct timespec clock_read(clockid_t clock)
{
    struct timespec now = {0};

    if (clock_gettime(clock, &now) != 0) {
        abort(); /* fails only for a clock that does not exist */
    }
    return now;
}

static int64_t clock_read_ms(clockid_t clock)
{
    struct timespec now = clock_read(clock);

    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t clock_now_ms(void)
{
    return clock_read_ms(CLOCK_BOOTTIME);
}

int64_t clock_now_us(void)
{
    struct timespec now = clock_read(CLOCK_BOOTTIME);

    return (int64_t) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

struct timespec clock_deadline(int64_t ms)
{
    struct timespec at = clock_read(CLOCK_MONOTONIC);

    if (ms > 0) {
        at.tv_sec += ms / 1000;
        at.tv_nsec += ms % 1000 * 1000000;
        at.tv_sec += at.tv_nsec / 1000000000;
        at.tv_nsec %= 1000000000;
    }
    return at;
}

int64_t clock_wall_ms(void)
{
    return clock_read_ms(CLOCK_REALTIME);
}
