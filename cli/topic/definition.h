/* definition.h - the definition of a topic as people see it: its words and its amounts.
 *
 * Pure. */
#ifndef CLI_DEFINITION_H
#define CLI_DEFINITION_H

#include <slotmq/slotmq.h>

/* "range_merge", "priority", "fixed_time", "fifo"; "inline", "keyed"; and so on. */
const char *definition_type_name(smq_topic_type type);
const char *definition_layout_name(smq_layout layout);
const char *definition_ties_name(smq_ties ties);
const char *definition_takeover_name(smq_takeover takeover);

/* None is shown as 0. */
int64_t definition_amount(int64_t amount);

/* A range_merge topic without a delay; one of 0 is SMQ_NONE. */
bool definition_lacks_delay(const smq_topic_options *topic);

#endif
