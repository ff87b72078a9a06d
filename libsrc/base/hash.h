/* hash.h - uthash with base/memory.h as its allocator.  By default a table that gets no memory ends
 * the process with exit(-1), on any thread.
 *
 * Thread: any. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/memory.h"

#define uthash_malloc(size) memory_new(size)
#include <uthash.h>

#endif
