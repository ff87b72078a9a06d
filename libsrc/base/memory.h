/* memory.h - allocation that cannot fail, for the small structures of the library.
 *
 * Memory whose size a caller chooses (bodies, keys, batches) is allocated with malloc() at the
 * public entry points, and failure is reported as SMQ_NO_MEMORY; for small structures the process
 * is aborted (decision 0002), unless the application frees some (memory_on_lack()).
 *
 * Thread: any. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Has it freed memory, so that the allocation of `size` bytes (0: not known) may be tried again? */
typedef bool memory_lack_fn(size_t size, void *user);

/* Ask it before the process is aborted; NULL: abort.  Set it before there are other threads. */
void memory_on_lack(memory_lack_fn *lack, void *user);

/* An allocation has failed.  Returns if it may be tried again, and aborts otherwise. */
void memory_lacks(size_t size);

/* Zeroed memory of `size` bytes; never NULL.  Free with free(). */
void *memory_new(size_t size);

/* As realloc() for `count` items of `size` bytes, checked for overflow; never NULL. */
void *memory_grow(void *memory, size_t count, size_t size);

/* Return copies; never NULL for an argument that is not NULL.  memory_copy() adds a NUL after the
 * bytes. */
char *memory_string(const char *string);
char *memory_copy(const void *data, size_t len);

#endif
