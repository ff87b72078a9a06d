/* metrics_text.h - metrics as Prometheus text, format 0.0.4.
 *
 * Pure. */
#ifndef MODEL_METRICS_TEXT_H
#define MODEL_METRICS_TEXT_H

#include <slotmq/admin.h>
#include <slotmq/metrics.h>

#include "base/buf.h"
#include "model/topic.h"

struct metrics_topic {
    char name[TOPIC_NAME_MAX + 1];
    smq_stats stats;
    uint64_t slots;  /* 0: not known */
    bool unreadable; /* nothing else is known of it */
};

/* Append what one process has done. */
void metrics_text_process(struct buf *out, const smq_metrics *metrics);

/* Append what topics hold and have done; none: nothing.  Their names differ. */
void metrics_text_topics(struct buf *out, const struct metrics_topic *topics, size_t count);

#endif
