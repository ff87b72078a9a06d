/* base64.h - bytes as text, RFC 4648 section 4.  Pure. */
#ifndef CLI_BASE64_H
#define CLI_BASE64_H

#include <stddef.h>

/* Room for the text of `size` bytes and its NUL. */
size_t base64_size(size_t size);

void base64_encode(char *out, const void *bytes, size_t size);

#endif
