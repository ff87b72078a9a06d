/* number.c - decimal numbers in text that is not trusted.
 *
 * Pure. */
#include "model/number.h"

#include <string.h>

/* The digits of an int64_t; a number with that many digits does not overflow a uint64_t. */
enum { DIGITS_MAX = 19 };

size_t number_read_prefix(int64_t *out, const char *text, size_t len, int64_t max)
{
    size_t most = len < DIGITS_MAX + 1 ? len : DIGITS_MAX + 1;
    uint64_t value = 0;
    size_t used = 0;

    for (; used < most; used++) {
        unsigned digit = (unsigned char) text[used] - (unsigned) '0';
        if (digit > 9) {
            break;
        }
        value = value * 10 + digit;
    }
    if (used == 0 || used > DIGITS_MAX || (used > 1 && text[0] == '0') || value > (uint64_t) max) {
        return 0;
    }
    *out = (int64_t) value;
    return used;
}

bool number_parse(int64_t *out, const char *text, size_t len, int64_t max)
{
    int64_t value = 0;
    size_t used = number_read_prefix(&value, text, len, max);

    if (used == 0 || used != len) {
        return false;
    }
    *out = value;
    return true;
}

/* A unit, and how much it is. */
struct number_unit {
    const char *name;
    int64_t amount;
};

/* Read a number up to `max`, and the unit behind it, as long as its letters are; NULL: there is no
 * number, or no such unit.  `used`: the bytes of both. */
static const struct number_unit *number_read_unit(int64_t *number, size_t *used,
                                                  const struct number_unit *units, size_t count,
                                                  const char *text, size_t len, int64_t max)
{
    const size_t digits = number_read_prefix(number, text, len, max);
    size_t letters = 0;

    while (digits + letters < len &&
           (text[digits + letters] < '0' || text[digits + letters] > '9')) {
        letters++;
    }
    *used = digits + letters;
    for (size_t i = 0; digits > 0 && i < count; i++) {
        if (strlen(units[i].name) == letters &&
            memcmp(text + digits, units[i].name, letters) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

bool number_parse_duration(int64_t *out_ms, const char *text, size_t len, int64_t max)
{
    static const struct number_unit units[] = {{"ms", 1},      {"s", 1000},     {"m", 60000},
                                               {"h", 3600000}, {"d", 86400000}, {"", 1}};
    int64_t before = INT64_MAX; /* the unit of the number before */
    int64_t sum = 0;

    do {
        int64_t number = 0;
        size_t used = 0;
        const struct number_unit *unit = number_read_unit(
            &number, &used, units, sizeof(units) / sizeof(units[0]), text, len, max);
        const bool bare = unit != NULL && unit->name[0] == '\0';
        if (unit == NULL || unit->amount >= before || (bare && before != INT64_MAX) ||
            number > (max - sum) / unit->amount) {
            return false;
        }
        sum += number * unit->amount;
        before = unit->amount;
        text += used;
        len -= used;
    } while (len > 0);
    *out_ms = sum;
    return true;
}

bool number_parse_size(int64_t *out, const char *text, size_t len, int64_t max)
{
    static const struct number_unit units[] = {{"", 1},         {"K", 1 << 10},   {"M", 1 << 20},
                                               {"G", 1 << 30},  {"KiB", 1 << 10}, {"MiB", 1 << 20},
                                               {"GiB", 1 << 30}};
    int64_t number = 0;
    size_t used = 0;
    const struct number_unit *unit =
        number_read_unit(&number, &used, units, sizeof(units) / sizeof(units[0]), text, len, max);

    if (unit == NULL || used != len || number > max / unit->amount) {
        return false;
    }
    *out = number * unit->amount;
    return true;
}
