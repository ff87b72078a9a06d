/* clock.c - a library that is loaded before a server of a chaos run, so that its wall clock can be
 * moved: CHAOS_CLOCK names the file of wall.h.
 *
 * Thread: main, before others begin. */
#include <stdlib.h>

#include "wall.h"

static __attribute__((constructor)) void clock_begin(void)
{
    const char *path = getenv("CHAOS_CLOCK");

    if (path != NULL) {
        wall_open(path);
    }
}
