/* base64.c - bytes as text, RFC 4648 section 4.  Pure. */
#include "cli/text/base64.h"

#include <stdint.h>

/* Behind the 64 digits. */
enum { PADDING = 64 };

size_t base64_size(size_t size)
{
    return (size + 2) / 3 * 4 + 1;
}

void base64_encode(char *out, const void *bytes, size_t size)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
    const uint8_t *in = bytes;

    for (size_t i = 0; i < size; i += 3) {
        const size_t left = size - i;
        const uint32_t group = (uint32_t) in[i] << 16 | (left > 1 ? (uint32_t) in[i + 1] << 8 : 0) |
                               (left > 2 ? (uint32_t) in[i + 2] : 0);
        *out++ = alphabet[group >> 18];
        *out++ = alphabet[group >> 12 & 63];
        *out++ = alphabet[left > 1 ? group >> 6 & 63 : PADDING];
        *out++ = alphabet[left > 2 ? group & 63 : PADDING];
    }
    *out = '\0';
}

/* The value of a digit; -1: it is none. */
static int base64_digit(char digit)
{
    if (digit >= 'A' && digit <= 'Z') {
        return digit - 'A';
    }
    if (digit >= 'a' && digit <= 'z') {
        return digit - 'a' + 26;
    }
    if (digit >= '0' && digit <= '9') {
        return digit - '0' + 52;
    }
    return digit == '+' ? 62 : digit == '/' ? 63 : -1;
}

bool base64_decode(char *out, size_t *size, const char *text, size_t length)
{
    size_t padding = 0;
    size_t used = 0;

    while (padding < 2 && padding < length && text[length - 1 - padding] == '=') {
        padding++;
    }
    for (size_t i = 0; i < length; i += 4) {
        uint32_t group = 0;
        for (size_t j = i; j < i + 4; j++) {
            const int digit = j < length - padding ? base64_digit(text[j]) : 0;
            if (length % 4 != 0 || digit < 0) {
                return false;
            }
            group = group << 6 | (uint32_t) digit;
        }
        for (int shift = 16; shift >= 0; shift -= 8) {
            out[used++] = (char) (group >> shift & 255);
        }
    }
    *size = used - padding;
    return true;
}
