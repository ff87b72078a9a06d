/* health_report.h - the health of a client, gathered on smq:io for another thread.
 *
 * Thread: any but smq:io. */
#ifndef ADMIN_HEALTH_REPORT_H
#define ADMIN_HEALTH_REPORT_H

#include <slotmq/health.h>

#include "core/core.h"

/* As smq_client_health(). */
smq_status health_report(smq_health *out, struct core *core, smq_error *err);

#endif
