/* buf.h - a growing byte buffer.
 *
 * Thread: its owner's. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stddef.h>

/* Zero is empty and valid.  data[len] is always NUL once something was added. */
struct buf {
    char *data;
    size_t len, size;
};

void buf_fini(struct buf *buf);
void buf_clear(struct buf *buf); /* len = 0, memory is kept */
void buf_add(struct buf *buf, const void *data, size_t len);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Room for `len` more bytes behind data + len; add what was used to len. */
char *buf_room(struct buf *buf, size_t len);

/* Drop the first `len` bytes. */
void buf_consume(struct buf *buf, size_t len);

#endif
