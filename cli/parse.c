/* parse.c - numbers, durations and near misses in the command line.  Pure. */
#include "parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Names longer than this are never proposed; none of ours is. */
#define NEAREST_MAX 32

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The number at the start of `text`; *end is what follows it. */
static bool read_number(int64_t *out, const char *text, const char **end)
{
    const char *digits = *text == '-' ? text + 1 : text;
    char *stop = NULL;

    if (!is_digit(*digits)) {
        return false;
    }
    errno = 0;
    const long long value = strtoll(text, &stop, 10);
    if (errno != 0) {
        return false;
    }
    *out = value;
    *end = stop;
    return true;
}

bool parse_number(int64_t *out, const char *text)
{
    const char *end = NULL;
    int64_t value = 0;

    if (!read_number(&value, text, &end) || *end != '\0') {
        return false;
    }
    *out = value;
    return true;
}

bool parse_duration(int64_t *out, const char *text)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"", 1}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    const char *end = NULL;
    int64_t value = 0;

    if (*text == '-' || !read_number(&value, text, &end)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(end, units[i].name) == 0) {
            return !__builtin_mul_overflow(value, units[i].ms, out);
        }
    }
    return false;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters to insert, remove, replace or swap with their neighbour. */
static size_t edit_distance(const char *a, const char *b)
{
    const size_t rows = strlen(a);
    const size_t columns = strlen(b);
    size_t cost[NEAREST_MAX + 1][NEAREST_MAX + 1];

    for (size_t i = 0; i <= rows; i++) {
        cost[i][0] = i;
    }
    for (size_t j = 0; j <= columns; j++) {
        cost[0][j] = j;
    }
    for (size_t i = 1; i <= rows; i++) {
        for (size_t j = 1; j <= columns; j++) {
            const size_t replace = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            cost[i][j] = least(replace, least(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                cost[i][j] = least(cost[i][j], cost[i - 2][j - 2] + 1);
            }
        }
    }
    return cost[rows][columns];
}

struct nearest nearest_to(const char *typed)
{
    const size_t allowed = strlen(typed) / 3;

    return (struct nearest){.typed = typed, .distance = (allowed > 0 ? allowed : 1) + 1};
}

void nearest_offer(struct nearest *nearest, const char *name)
{
    const size_t typed = strlen(nearest->typed);

    if (typed > NEAREST_MAX || strlen(name) > NEAREST_MAX) {
        return;
    }
    const bool begins = typed >= 2 && strncmp(name, nearest->typed, typed) == 0;
    const size_t distance = begins ? 1 : edit_distance(nearest->typed, name);
    if (distance < nearest->distance) {
        nearest->distance = distance;
        nearest->best = name;
    }
}
