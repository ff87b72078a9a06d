/* units.c - see units.h. */
#include "cli/text/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *name;
    int64_t ms;
} times[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
enum { TIME_COUNT = sizeof(times) / sizeof(times[0]) };

void units_duration(char text[UNITS_MAX], int64_t ms)
{
    for (size_t i = 0; i < TIME_COUNT && ms != 0; i++) {
        if (ms % times[i].ms == 0) {
            snprintf(text, UNITS_MAX, "%" PRId64 "%s", ms / times[i].ms, times[i].name);
            return;
        }
    }
    snprintf(text, UNITS_MAX, "%" PRId64, ms);
}

void units_age(char text[UNITS_MAX], int64_t ms)
{
    size_t first = 0;

    while (first + 1 < TIME_COUNT && ms < times[first].ms) {
        first++;
    }
    const int64_t large = ms / times[first].ms;
    const int64_t rest = ms % times[first].ms;
    const int64_t small = first + 2 < TIME_COUNT ? rest / times[first + 1].ms : 0;
    if (small > 0) {
        snprintf(text, UNITS_MAX, "%" PRId64 "%s%" PRId64 "%s", large, times[first].name, small,
                 times[first + 1].name);
    } else {
        snprintf(text, UNITS_MAX, "%" PRId64 "%s", large, times[first].name);
    }
}

void units_size(char text[UNITS_MAX], int64_t bytes)
{
    static const char *const names[] = {"", "KiB", "MiB", "GiB"};
    size_t unit = 0;

    while (unit < 3 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, UNITS_MAX, "%" PRId64 "%s", bytes, names[unit]);
}

void units_in_text(char *out, size_t size, const char *text)
{
    size_t used = 0;

    out[0] = '\0';
    while (*text != '\0' && used + UNITS_MAX < size) {
        if (*text >= '0' && *text <= '9') {
            char *end = NULL;
            char duration[UNITS_MAX];
            units_duration(duration, strtoll(text, &end, 10));
            used += (size_t) snprintf(out + used, size - used, "%s", duration);
            text = end;
        } else {
            out[used++] = *text++;
            out[used] = '\0';
        }
    }
}
