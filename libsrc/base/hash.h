/* hash.h - uthash, whose tables take their memory from base/memory.h like all else: by default a
 * table that gets none ends the process with exit(-1), from whatever thread that is.
 *
 * Thread: any. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/memory.h"

#define uthash_malloc(size) memory_new(size)
#include <uthash.h>

#endif
