/* moment.c - what time it is. */
#include "cli/text/moment.h"

#include <time.h>

static int64_t moment_of(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

int64_t moment_wall_ms(void)
{
    return moment_of(CLOCK_REALTIME) / 1000;
}

int64_t moment_ms(void)
{
    return moment_of(CLOCK_MONOTONIC) / 1000;
}

int64_t moment_us(void)
{
    return moment_of(CLOCK_MONOTONIC);
}
