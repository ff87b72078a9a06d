/* line.c - text for people: always one line.
 *
 * Thread: any. */
#include "base/line.h"

#include <stdio.h>
#include <string.h>

void line_format(char *out, size_t size, const char *format, va_list args)
{
    if (vsnprintf(out, size, format, args) < 0) {
        out[0] = '\0';
    }
    for (char *at = out; *at != '\0'; at++) {
        if ((unsigned char) *at < ' ' || *at == '\x7f') {
            *at = ' ';
        }
    }
}

static bool line_is_plain(unsigned char byte, bool ascii)
{
    return byte >= ' ' && byte != 0x7f && !(ascii && (byte > 0x7f || byte == '\\'));
}

void line_escape(char *out, size_t size, const void *data, size_t len, bool ascii)
{
    const unsigned char *bytes = data;
    size_t used = 0;

    for (size_t i = 0; i < len && used + 4 < size; i++) {
        if (line_is_plain(bytes[i], ascii)) {
            out[used++] = (char) bytes[i];
        } else {
            used += (size_t) snprintf(out + used, 5, "\\x%02x", bytes[i]);
        }
    }
    out[used] = '\0';
}

size_t line_fit(const char *text, size_t most)
{
    size_t len = strnlen(text, most + 1), cut = most;

    if (len <= most) {
        return len;
    }
    while (cut > 0 && most - cut < 3 && ((unsigned char) text[cut] & 0xc0) == 0x80) {
        cut--; /* the byte after the cut continues a character */
    }
    return ((unsigned char) text[cut] & 0xc0) == 0x80 ? most : cut; /* the text is not UTF-8 then */
}
