/* number.c - decimal numbers in text that is not trusted.
 *
 * Pure. */
#include "model/number.h"

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
