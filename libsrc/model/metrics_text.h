/* metrics_text.h - metrics as Prometheus text, format 0.0.4.
 *
 * Pure. */
#ifndef MODEL_METRICS_TEXT_H
#define MODEL_METRICS_TEXT_H

#include <slotmq/metrics.h>
#include <slotmq/ops.h>

#include "base/buf.h"
#include "model/topic.h"

/* What one process has counted of a topic or group. */
struct metrics_topic {
    char name[TOPIC_NAME_MAX + 1];
    bool sends, consumes;   /* which of the numbers it has */
    uint64_t refused;       /* sends, because it was full */
    uint64_t oldest_age_ms; /* of the deliveries without an answer; 0: there are none */
};

/* Append the metrics of one process. */
void metrics_text_process(struct buf *out, const smq_metrics *metrics);

/* Append those of its metrics that have the label of a topic; without topics nothing. */
void metrics_text_by_topic(struct buf *out, const struct metrics_topic *topics, size_t count);

/* Append the stats of topics, whose names differ; without topics nothing. */
void metrics_text_topics(struct buf *out, const smq_survey_topic *topics, size_t count);

#endif
