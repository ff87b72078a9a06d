/* full_counts.h - how many sends were refused because a topic or a group was full, by its name.
 *
 * Thread: any. */
#ifndef CORE_FULL_COUNTS_H
#define CORE_FULL_COUNTS_H

#include <pthread.h>

#include "model/metrics_text.h"

/* Guarded by the lock: the table.  No name ever leaves it. */
struct full_counts {
    pthread_mutex_t lock;
    struct full_count *table;
};

void full_counts_init(struct full_counts *counts);
void full_counts_fini(struct full_counts *counts);

/* Count sends of a topic or group; 0: from now on it is among those that are read. */
void full_counts_add(struct full_counts *counts, const char *name, uint64_t sends);

/* Read all counts, in alphabetical order; *out is to be freed. */
void full_counts_read(struct metrics_full **out, size_t *count, struct full_counts *counts);

#endif
