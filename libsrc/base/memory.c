/* memory.c - allocation that cannot fail.
 *
 * Thread: any. */
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#include <slotmq/core.h>

static struct {
    memory_lack_fn *lack; /* does not change once there are clients */
    void *user;
} memory_settings;

void memory_on_lack(memory_lack_fn *lack, void *user)
{
    memory_settings.lack = lack;
    memory_settings.user = user;
}

void memory_lacks(size_t size)
{
    if (memory_settings.lack == NULL || !memory_settings.lack(size, memory_settings.user)) {
        abort();
    }
}

void *memory_new(size_t size)
{
    void *memory;

    while ((memory = calloc(1, size > 0 ? size : 1)) == NULL) {
        memory_lacks(size);
    }
    return memory;
}

void *memory_grow(void *memory, size_t count, size_t size)
{
    size_t bytes = 0;
    void *grown;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        abort();
    }
    while ((grown = realloc(memory, bytes > 0 ? bytes : 1)) == NULL) {
        memory_lacks(bytes);
    }
    return grown;
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
    while ((copy = malloc(size)) == NULL) {
        memory_lacks(size);
    }
    memcpy(copy, data, len);
    copy[len] = '\0';
    return copy;
}

/* Defined here because it must use the same allocator. */
void smq_free(void *memory)
{
    free(memory);
}
