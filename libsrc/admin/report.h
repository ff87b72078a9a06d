/* report.h - what a creation or a repair found and did, as a line for people.
 *
 * Pure. */
#ifndef ADMIN_REPORT_H
#define ADMIN_REPORT_H

#include <slotmq/topic.h>

#include "model/damage.h"

/* `stored` is what the topic is now, `asked` what the caller wanted. */
void report_created(smq_topic_report *report, const struct topic *stored,
                    const struct topic *asked);

/* Something was repaired; `restored`: topic{T}, too. */
void report_repaired(smq_topic_report *report, const struct damage_verdict *verdict, bool restored);

#endif
