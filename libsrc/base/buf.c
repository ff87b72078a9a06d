/* buf.c - a growing byte buffer.
 *
 * Thread: its owner's. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { BUF_SIZE_MIN = 64 };

void buf_fini(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){0};
}

void buf_clear(struct buf *buf)
{
    buf->len = 0;
    if (buf->data != NULL) {
        buf->data[0] = '\0';
    }
}

char *buf_room(struct buf *buf, size_t len)
{
    size_t needed = 0;
    size_t size = buf->size > BUF_SIZE_MIN ? buf->size : BUF_SIZE_MIN;

    if (__builtin_add_overflow(buf->len, len, &needed) ||
        __builtin_add_overflow(needed, 1, &needed)) {
        abort();
    }
    if (needed <= buf->size) {
        return buf->data + buf->len;
    }
    while (size < needed && !__builtin_mul_overflow(size, 2, &size)) {
    }
    if (size < needed) {
        size = needed;
    }
    buf->data = memory_grow(buf->data, size, 1);
    buf->size = size;
    return buf->data + buf->len;
}

void buf_add(struct buf *buf, const void *data, size_t len)
{
    char *room = buf_room(buf, len);

    if (len > 0) {
        memcpy(room, data, len);
    }
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args;
    int len = 0;

    va_start(args, format);
    len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0) {
        abort();
    }
    va_start(args, format);
    vsnprintf(buf_room(buf, (size_t) len), (size_t) len + 1, format, args);
    va_end(args);
    buf->len += (size_t) len;
}

void buf_consume(struct buf *buf, size_t len)
{
    if (len >= buf->len) {
        buf_clear(buf);
        return;
    }
    buf->len -= len;
    memmove(buf->data, buf->data + len, buf->len + 1);
}
