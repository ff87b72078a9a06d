/* printable.h - bytes as text that no terminal obeys.  Pure.
 *
 * UTF-8 stays as it is.  Control characters (also DEL, and the C1 ones, U+0080 to U+009F) and bytes
 * that are no UTF-8 come as \xHH, and so does a backslash before an x. */
#ifndef CLI_PRINTABLE_H
#define CLI_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

/* The room that the text of `size` bytes needs, with its NUL. */
#define PRINTABLE_ROOM(size) (4 * (size) + 1)

/* Writes the text with a NUL behind it, and gives its length.  `ascii`: nothing else stays. */
size_t printable_text(char *out, const void *bytes, size_t size, bool ascii);

/* A JSON text with its control characters, from DEL on, as \u007F to \u009F: `out` needs room for
 * PRINTABLE_JSON_ROOM(size). */
#define PRINTABLE_JSON_ROOM(size) (6 * (size) + 1)
size_t printable_json(char *out, const char *text, size_t size);

#endif
