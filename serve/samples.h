/* samples.h - Prometheus text of some topics, as smq_metrics_text() makes it: its numbers, and the
 * text of all topics made of the texts of some.
 *
 * Pure. */
#ifndef SERVE_SAMPLES_H
#define SERVE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <slotmq/slotmq.h>

/* The numbers of one topic.  Zeroed: none is known. */
struct samples_topic {
    smq_stats stats; /* without next_due_at_ms */
    bool has_lag;    /* false: the lag is not known */
    bool has_owners; /* false: the topic is shared, or they are not known */
    bool unreadable; /* nothing else is known */
    uint64_t owners, slots_unowned;
};

/* One family: its head, and its lines so far. */
struct samples_family {
    char *name, *head, *lines; /* owned */
    size_t head_size, lines_size, lines_room;
};

/* Zeroed: none. */
struct samples {
    struct samples_family *families; /* owned; in the order in which they came first */
    size_t count;
};

/* Where the numbers of the topic of this name go; NULL: they are not wanted. */
typedef struct samples_topic *samples_find_fn(const char *name, size_t size, void *user);

/* Families that have a line for each topic, which samples_add() leaves to samples_add_mark(). */
#define SAMPLES_UNREADABLE "slotmq_topic_unreadable"
#define SAMPLES_UNLISTED   "slotmq_topic_unlisted"

/* Adds the lines of all topics that are wanted, of all other families whose names begin with
 * slotmq_topic_. */
void samples_add(struct samples *samples, const char *text, size_t size, samples_find_fn *find,
                 void *user);

void samples_add_mark(struct samples *samples, const char *name, const char *help,
                      const char *topic, bool set);

/* The text of all that was added, to be freed. */
char *samples_text(const struct samples *samples, size_t *size);

void samples_fini(struct samples *samples);

#endif
