/* arena.h - many small things that are made one after another and die together.
 *
 * Thread: its owner's. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena_block;

/* Zero is empty and valid. */
struct arena {
    struct arena_block *blocks; /* the newest first; things are cut from that one */
    size_t used;                /* of it */
};

/* Memory of `size` bytes, aligned for every type, not zeroed; NULL: there is none. */
void *arena_take(struct arena *arena, size_t size);

/* Free everything but one block of usual size, which is kept for what comes next. */
void arena_clear(struct arena *arena);

/* Free everything. */
void arena_fini(struct arena *arena);

#endif
