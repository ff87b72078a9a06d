/* base64.c - bytes as text, RFC 4648 section 4.  Pure. */
#include "base64.h"

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
