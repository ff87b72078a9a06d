/* parallel.h - blocking calls made at once, each on a thread of its own.
 *
 * Thread: main. */
#ifndef CLI_PARALLEL_H
#define CLI_PARALLEL_H

#include <stddef.h>

/* Makes call number `index`. */
typedef void parallel_fn(size_t index, void *user);

/* Calls `run` for each index below `count`, up to 64 of them at once, and returns when all of them
 * have returned. */
void parallel_run(size_t count, parallel_fn *run, void *user);

#endif
