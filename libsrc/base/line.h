/* line.h - text for people: always one line.
 *
 * Thread: any. */
#ifndef BASE_LINE_H
#define BASE_LINE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Format into out[0..size), cut to fit; control characters become spaces. */
void line_format(char *out, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* Write out[0..size), cut to fit, with control characters as \xNN; `ascii`: also what is not ASCII,
 * and backslashes. */
void line_escape(char *out, size_t size, const void *data, size_t len, bool ascii);

/* How many bytes of `text` fit into `most` without a part of a UTF-8 character. */
size_t line_fit(const char *text, size_t most);

#endif
