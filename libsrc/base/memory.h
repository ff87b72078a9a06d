/* memory.h - allocation that cannot fail, for the small structures of the library.
 *
 * Memory whose size a caller chooses (bodies, keys, batches) is allocated with malloc() at the
 * public entry points, and failure is reported as SMQ_NO_MEMORY; for small structures the process
 * is aborted (decision 0002).
 *
 * Thread: any. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>

/* Zeroed memory of `size` bytes; never NULL.  Free with free(). */
void *memory_new(size_t size);

/* As realloc() for `count` items of `size` bytes, checked for overflow; never NULL. */
void *memory_grow(void *memory, size_t count, size_t size);

/* Return copies; never NULL for an argument that is not NULL.  memory_copy() adds a NUL after the
 * bytes. */
char *memory_string(const char *string);
char *memory_copy(const void *data, size_t len);

#endif
