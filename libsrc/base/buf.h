/* buf.h - a growing byte buffer.
 *
 * Thread: its owner's. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stddef.h>

/* A zeroed buffer is empty and valid.  Once something was added data[len] is NUL. */
struct buf {
    char *data;
    size_t len, size;
};

void buf_fini(struct buf *buf);
void buf_clear(struct buf *buf); /* sets len to 0, and keeps the memory */
void buf_add(struct buf *buf, const void *data, size_t len);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Make space for `len` more bytes at data + len; the caller adds the bytes that it wrote to
 * `len`. */
char *buf_room(struct buf *buf, size_t len);

/* Drop the first `len` bytes. */
void buf_consume(struct buf *buf, size_t len);

#endif
