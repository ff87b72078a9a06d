/* line.c - text for people: always one line.
 *
 * Thread: any. */
#include "base/line.h"

#include <stdio.h>

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
