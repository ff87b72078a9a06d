/* work_table.h - what is in work: one row for each slot with claims, as slotmq work shows it. */
#ifndef CLI_WORK_TABLE_H
#define CLI_WORK_TABLE_H

#include <jansson.h>

#include "cli/stat/stat_read.h"
#include "cli/text/table.h"

/* What a slot has in work; its texts belong to what was read. */
struct work_row {
    const char *topic;
    const struct stat_slot *slot;
    bool keyed; /* its ids are no bodies */
};

/* Of topics that were read with their slots: those with claims, the one that has been in work for
 * longest first; to be freed. */
struct work_row *work_rows(size_t *count, const struct stat_topics *topics);

struct table *work_table(const struct work_row *rows, size_t count);
json_t *work_json(const struct work_row *rows, size_t count);

#endif
