/* metrics_report.h - the metrics of a client, collected from all parts that count.
 *
 * Thread: any but smq:io. */
#ifndef ADMIN_METRICS_REPORT_H
#define ADMIN_METRICS_REPORT_H

#include <slotmq/metrics.h>

#include "core/core.h"

void metrics_report(smq_metrics *out, const struct core *core);

/* As smq_metrics_text(). */
smq_status metrics_report_text(char **out, struct core *core, const char *wanted, smq_error *err);

#endif
