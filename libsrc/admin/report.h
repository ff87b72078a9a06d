/* report.h - what a creation or a repair found and did, as a line for people.
 *
 * Pure. */
#ifndef ADMIN_REPORT_H
#define ADMIN_REPORT_H

#include <slotmq/topic.h>

#include "model/damage.h"

/* `stored` is the definition of the topic, `asked` the requested one. */
void report_created(smq_topic_report *report, const struct topic *stored,
                    const struct topic *asked);

/* The name of the topic was missing in the registry. */
void report_relisted(smq_topic_report *report);

/* The keys were removed that were left of a deleted topic. */
void report_forgotten(smq_topic_report *report);

/* The nodes in ZooKeeper were removed of this number of deleted topics; `why`: not of all, because
 * of that, or NULL. */
void report_nodes(smq_topic_report *report, size_t topics, const char *why);

/* The topic was repaired; `restored`: its definition, too. */
void report_repaired(smq_topic_report *report, const struct damage_verdict *verdict, bool restored);

/* Add what was done to a group of the topic. */
void report_join(smq_topic_report *report, const smq_topic_report *group, const char *name);

#endif
