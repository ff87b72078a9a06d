/* stat_json.h - what a topic or slot holds and has done, as slotmq stat --json shows it. */
#ifndef CLI_STAT_JSON_H
#define CLI_STAT_JSON_H

#include <jansson.h>

#include <slotmq/slotmq.h>

/* Sets the gauges, and the counters since the topic was created. */
void stat_json_numbers(json_t *object, const smq_stats *stats);

#endif
