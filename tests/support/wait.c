#include "support/wait.h"

#include <time.h>

enum { POLL_MS = 5 };

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool wait_until(wait_condition *condition, void *arg, int64_t timeout_ms)
{
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    int64_t deadline = now_ms() + timeout_ms;

    while (!condition(arg)) {
        if (now_ms() >= deadline) {
            return condition(arg);
        }
        nanosleep(&pause, NULL);
    }
    return true;
}
