/* definition_table.h - the tables of slotmq topic list and slotmq topic show.
 *
 * Pure. */
#ifndef CLI_DEFINITION_TABLE_H
#define CLI_DEFINITION_TABLE_H

#include <slotmq/slotmq.h>

#include "cli/text/table.h"

/* The table of slotmq topic list, and a row of it. */
struct table *definition_table_list(void);
void definition_table_list_add(struct table *table, const smq_topic_info *info);

/* The table of slotmq topic show. */
struct table *definition_table_show(const smq_topic_info *info);

#endif
