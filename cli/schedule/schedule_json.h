/* schedule_json.h - schedules as JSON. */
#ifndef CLI_SCHEDULE_JSON_H
#define CLI_SCHEDULE_JSON_H

#include <jansson.h>

#include <slotmq/slotmq.h>

struct command;

/* topic, id, cron, every_ms, zone, start_at_ms, end_at_ms, limit, missed, next_at_ms, last_at_ms,
 * ticks, paused, note, version, slot, each null if it has none; and if it was read, message: body,
 * key, priority, ttl_ms, max_retries (-1: none; null: that of the topic), headers.  An id or a note
 * that is not UTF-8 has _base64 behind its name. */
json_t *schedule_json(const smq_schedule_info *info);

/* Prints what was done with the schedule NAME ID, as JSON or in words; `window`, if it is not NULL,
 * is in JSON, too. */
void schedule_report(const struct command *command, const char *done, const bool *window);

#endif
