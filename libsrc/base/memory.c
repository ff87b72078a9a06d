/* memory.c - allocation that cannot fail.
 *
 * Thread: any. */
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#include <slotmq/core.h>

static void *memory_or_abort(void *memory)
{
    if (memory == NULL) {
        abort();
    }
    return memory;
}

void *memory_new(size_t size)
{
    return memory_or_abort(calloc(1, size > 0 ? size : 1));
}

void *memory_grow(void *memory, size_t count, size_t size)
{
    size_t bytes = 0;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        abort();
    }
    return memory_or_abort(realloc(memory, bytes > 0 ? bytes : 1));
}

char *memory_string(const char *string)
{
    return string == NULL ? NULL : memory_copy(string, strlen(string));
}

char *memory_copy(const void *data, size_t len)
{
    size_t size = 0;
    char *copy = NULL;

    if (data == NULL) {
        return NULL;
    }
    if (__builtin_add_overflow(len, 1, &size)) {
        abort();
    }
    copy = memory_or_abort(malloc(size));
    memcpy(copy, data, len);
    copy[len] = '\0';
    return copy;
}

/* Defined here because it must use the same allocator. */
void smq_free(void *memory)
{
    free(memory);
}
