/* parse.c - numbers, durations, times and near misses in the command line.  Pure. */
#include "parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Names longer than this are never proposed; no verb and no flag is longer. */
#define NEAREST_MAX 32

static bool parse_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The number at the start of `text`; *end is what follows it. */
static bool parse_read_number(int64_t *out, const char *text, const char **end)
{
    const char *digits = *text == '-' ? text + 1 : text;
    char *stop = NULL;

    if (!parse_is_digit(*digits)) {
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

    if (!parse_read_number(&value, text, &end) || *end != '\0') {
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

    if (*text == '-' || !parse_read_number(&value, text, &end)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(end, units[i].name) == 0) {
            return !__builtin_mul_overflow(value, units[i].ms, out);
        }
    }
    return false;
}

/* Reads as many digits as `form` has '0', and the other characters of it as they are; letters in
 * either case.  Gives what follows; NULL: the text has another form. */
static const char *parse_read_form(int *out, const char *form, const char *text)
{
    for (; *form != '\0'; form++, text++) {
        if (*form != '0') {
            if (toupper((unsigned char) *text) != *form) {
                return NULL;
            }
            out++;
        } else if (parse_is_digit(*text)) {
            *out = *out * 10 + (*text - '0');
        } else {
            return NULL;
        }
    }
    return text;
}

/* "Z", "+01:30" or "-0500" up to the end, in minutes east of Greenwich. */
static bool parse_read_zone(int *minutes, const char *text)
{
    int part[2] = {0, 0};
    const char *rest = NULL;

    if ((*text == 'Z' || *text == 'z') && text[1] == '\0') {
        *minutes = 0;
        return true;
    }
    if (*text != '+' && *text != '-') {
        return false;
    }
    rest = parse_read_form(part, "00:00", text + 1);
    if (!rest) {
        part[0] = part[1] = 0;
        rest = parse_read_form(part, "00", text + 1);
        rest = rest ? parse_read_form(part + 1, "00", rest) : NULL;
    }
    *minutes = (*text == '-' ? -1 : 1) * (part[0] * 60 + part[1]);
    return rest && *rest == '\0' && part[0] < 24 && part[1] < 60;
}

/* ".25" as 250; digits after the third are ignored. */
static const char *parse_read_fraction(int *ms, const char *text)
{
    int weight = 100;

    *ms = 0;
    if (*text != '.') {
        return text;
    }
    if (!parse_is_digit(text[1])) {
        return NULL;
    }
    for (text++; parse_is_digit(*text); text++, weight /= 10) {
        *ms += (*text - '0') * weight;
    }
    return text;
}

bool parse_time(int64_t *out, const char *text)
{
    int part[6] = {0}; /* from years to seconds */
    int ms = 0;
    int zone = 0;
    const char *rest = NULL;

    if (parse_number(out, text)) {
        return true;
    }
    rest = parse_read_form(part, "0000-00-00", text);
    if (!rest || (*rest != ' ' && *rest != 'T' && *rest != 't')) {
        return false;
    }
    rest = parse_read_form(part + 3, "00:00:00", rest + 1);
    rest = rest ? parse_read_fraction(&ms, rest) : NULL;
    if (!rest || !parse_read_zone(&zone, rest) || part[3] > 23 || part[4] > 59 || part[5] > 59) {
        return false;
    }
    struct tm time = {.tm_year = part[0] - 1900,
                      .tm_mon = part[1] - 1,
                      .tm_mday = part[2],
                      .tm_hour = part[3],
                      .tm_min = part[4],
                      .tm_sec = part[5]};
    const int64_t seconds = timegm(&time);
    if (time.tm_mon != part[1] - 1 || time.tm_mday != part[2]) {
        return false; /* that month has no such day */
    }
    *out = (seconds - (int64_t) zone * 60) * 1000 + ms;
    return true;
}

static size_t parse_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters to insert, remove, replace or swap with their neighbour. */
static size_t parse_edit_distance(const char *a, const char *b)
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
            cost[i][j] = parse_least(replace, parse_least(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                cost[i][j] = parse_least(cost[i][j], cost[i - 2][j - 2] + 1);
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
    const size_t distance = begins ? 1 : parse_edit_distance(nearest->typed, name);
    if (distance < nearest->distance) {
        nearest->distance = distance;
        nearest->best = name;
    }
}
