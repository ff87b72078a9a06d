/* base64.h - bytes as text, RFC 4648 section 4.  Pure. */
#ifndef CLI_BASE64_H
#define CLI_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* Room for the text of `size` bytes and its NUL. */
size_t base64_size(size_t size);

/* The bytes of a text of `length` characters with its padding; `out` has room for `length`.  false:
 * it is no base64. */
bool base64_decode(char *out, size_t *size, const char *text, size_t length);

void base64_encode(char *out, const void *bytes, size_t size);

#endif
