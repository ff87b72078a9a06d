/* number.c - decimal numbers in text that is not trusted.
 *
 * Pure. */
#include "model/number.h"

#include <string.h>

bool number_parse(int64_t *out, const char *text, size_t len, int64_t max)
{
    int64_t value = 0;

    if (len == 0 || (len > 1 && text[0] == '0')) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, text[i] - '0', &value)) {
            return false;
        }
    }
    if (value > max) {
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
