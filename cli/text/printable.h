/* printable.h - bytes as text that no terminal obeys.  Pure.
 *
 * UTF-8 stays as it is, but for characters that control the terminal or the order of the text, or
 * that take no room: these come as \xHH, as do bytes that are no UTF-8, and a backslash before
 * an x. */
#ifndef CLI_PRINTABLE_H
#define CLI_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

/* The room that the text of `size` bytes needs, with its NUL. */
#define PRINTABLE_ROOM(size) (4 * (size) + 1)

/* Writes the text with a NUL behind it, and gives its length.  `ascii`: nothing else stays. */
size_t printable_text(char *out, const void *bytes, size_t size, bool ascii);

/* A JSON text with these characters, from DEL on, as \uHHHH: `out` needs room for
 * PRINTABLE_JSON_ROOM(size). */
#define PRINTABLE_JSON_ROOM(size) (6 * (size) + 1)
size_t printable_json(char *out, const char *text, size_t size);

#endif
