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

bool number_parse_duration(int64_t *out_ms, const char *text, size_t len, int64_t max)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}, {"", 1}};
    size_t digits = 0;
    int64_t number = 0;

    while (digits < len && text[digits] >= '0' && text[digits] <= '9') {
        digits++;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strlen(units[i].name) != len - digits ||
            memcmp(text + digits, units[i].name, len - digits) != 0) {
            continue;
        }
        if (!number_parse(&number, text, digits, max / units[i].ms)) {
            return false;
        }
        *out_ms = number * units[i].ms;
        return true;
    }
    return false;
}
