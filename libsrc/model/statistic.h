/* statistic.h - every statistic of a topic: where it is stored in smq_stats, how the numbers of
 * slots make that of their topic, and what it is called.  Scripts, sums, Prometheus text, JSON and
 * documents use the same table.
 *
 * Pure. */
#ifndef MODEL_STATISTIC_H
#define MODEL_STATISTIC_H

#include <slotmq/admin.h>
#include <slotmq/ops.h>

enum statistic_sum {
    STATISTIC_ADD,
    STATISTIC_LONGEST, /* the largest age; unknown if one of them is unknown */
    STATISTIC_EARLIEST /* the smallest time, of which 0 is none */
};

/* A counter is stored in the hash of its slot, under its own name. */
struct statistic {
    smq_number_info info;
    enum statistic_sum sum;
};

/* In the order of the Prometheus text and of JSON. */
extern const struct statistic statistic_table[];
extern const size_t statistic_count;

/* Read or write a number of smq_stats. */
int64_t statistic_get(const struct statistic *statistic, const smq_stats *stats);
void statistic_set(const struct statistic *statistic, smq_stats *stats, int64_t value);

/* The larger of two ages; unknown if one of them is. */
int64_t statistic_longest(int64_t a, int64_t b);

/* Add the stats of a slot to those of its topic. */
void statistic_add_slot(smq_stats *topic, const smq_stats *slot);

#endif
