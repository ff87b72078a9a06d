/* arena.h - memory for many small objects that are allocated one after another and freed together.
 *
 * Thread: its owner's. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena_block;

/* A zeroed arena is empty and valid. */
struct arena {
    struct arena_block *blocks; /* the newest first; memory is cut from that one */
    size_t used;                /* bytes used of the newest block */
};

/* Allocate `size` bytes, aligned for every type, not zeroed; NULL: out of memory. */
void *arena_alloc(struct arena *arena, size_t size);

/* Free everything except one block of usual size, which is kept for reuse. */
void arena_clear(struct arena *arena);

/* Free everything. */
void arena_fini(struct arena *arena);

#endif
