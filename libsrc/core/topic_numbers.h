/* topic_numbers.h - what a process counts of each topic or group: how many sends were refused
 * because it was full, and how long a delivery has had no answer.
 *
 * Thread: any. */
#ifndef CORE_TOPIC_NUMBERS_H
#define CORE_TOPIC_NUMBERS_H

#include <pthread.h>

#include "model/metrics_text.h"

/* Guarded by the lock: the table.  No name ever leaves it. */
struct topic_numbers {
    pthread_mutex_t lock;
    struct topic_number *table;
};

void topic_numbers_init(struct topic_numbers *counts);
void topic_numbers_fini(struct topic_numbers *counts);

/* Count sends of a topic or group; 0: from now on it is among those that are read. */
void topic_numbers_add(struct topic_numbers *counts, const char *name, uint64_t sends);

/* This process consumes the topic, and has had its oldest delivery without an answer since this
 * time of clock_now_us(); 0: it has none. */
void topic_numbers_set_oldest(struct topic_numbers *counts, const char *name, int64_t claimed_us);

/* Read all numbers, in alphabetical order; *out is to be freed. */
void topic_numbers_read(struct metrics_topic **out, size_t *count, struct topic_numbers *counts);

#endif
