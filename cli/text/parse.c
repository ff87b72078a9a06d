/* parse.c - numbers, durations and times in the command line.  Pure. */
#include "cli/text/parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/* The unit of a duration; 0: it is none. */
static int64_t parse_unit(const char *name, size_t length)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"", 1}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strlen(units[i].name) == length && strncmp(units[i].name, name, length) == 0) {
            return units[i].ms;
        }
    }
    return 0;
}

bool parse_duration(int64_t *out, const char *text)
{
    int64_t before = INT64_MAX; /* the unit of the number before */
    int64_t sum = 0;

    do {
        const char *end = NULL;
        int64_t value = 0;
        if (*text == '-' || !parse_read_number(&value, text, &end)) {
            return false;
        }
        const size_t letters = strcspn(end, "0123456789");
        const int64_t unit = parse_unit(end, letters);
        if (unit == 0 || unit >= before || (letters == 0 && before != INT64_MAX) ||
            __builtin_mul_overflow(value, unit, &value) ||
            __builtin_add_overflow(sum, value, &sum)) {
            return false;
        }
        before = unit;
        text = end + letters;
    } while (*text != '\0');
    *out = sum;
    return true;
}

bool parse_lacks_unit(const char *text)
{
    return text[strspn(text, "0123456789")] == '\0' && text[strspn(text, "0")] != '\0';
}

static int parse_hex_digit(char c)
{
    const char *digit = c != '\0' ? strchr("0123456789abcdef", tolower((unsigned char) c)) : NULL;

    return digit ? (int) (digit - "0123456789abcdef") : -1;
}

bool parse_byte(int *out, const char *text)
{
    static const char names[] = "nrt0\\";
    static const char bytes[] = "\n\r\t\0\\";
    const size_t length = strlen(text);
    const char *name = text[0] == '\\' && length == 2 ? strchr(names, text[1]) : NULL;

    if (length == 1) {
        *out = (unsigned char) text[0];
        return true;
    }
    if (name) {
        *out = (unsigned char) bytes[name - names];
        return true;
    }
    if (length != 4 || text[0] != '\\' || text[1] != 'x' || parse_hex_digit(text[2]) < 0 ||
        parse_hex_digit(text[3]) < 0) {
        return false;
    }
    *out = parse_hex_digit(text[2]) * 16 + parse_hex_digit(text[3]);
    return true;
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

/* A number of as many digits as the seconds since 1970 have had since 2001: as milliseconds it
 * would be a day in the spring of 1970, which nobody means. */
static bool parse_is_seconds(int64_t number)
{
    return number >= 1000000000 && number < 10000000000;
}

bool parse_time(int64_t *out, const char *text)
{
    int64_t number = 0;
    int part[6] = {0}; /* from years to seconds */
    int ms = 0;
    int zone = 0;
    const char *rest = NULL;

    if (parse_number(&number, text)) {
        *out = parse_is_seconds(number) ? *out : number;
        return !parse_is_seconds(number);
    }
    rest = parse_read_form(part, "0000-00-00", text);
    if (!rest || (*rest != ' ' && *rest != 'T' && *rest != 't')) {
        return false;
    }
    rest = parse_read_form(part + 3, "00:00:00", rest + 1);
    rest = rest ? parse_read_fraction(&ms, rest) : NULL;
    if (!rest || !parse_read_zone(&zone, rest) || part[3] > 23 || part[4] > 59 || part[5] > 60) {
        return false;
    }
    const int leap = part[5] == 60 ? 1 : 0;
    struct tm time = {.tm_year = part[0] - 1900,
                      .tm_mon = part[1] - 1,
                      .tm_mday = part[2],
                      .tm_hour = part[3],
                      .tm_min = part[4],
                      .tm_sec = part[5] - leap};
    const int64_t seconds = timegm(&time);
    if (time.tm_mon != part[1] - 1 || time.tm_mday != part[2]) {
        return false; /* that month has no such day */
    }
    const int64_t utc = seconds - (int64_t) zone * 60 + leap;
    if (leap == 1 && utc % 86400 != 0) {
        return false; /* a leap second is the last one of a day */
    }
    *out = utc * 1000 + ms;
    return true;
}
