/* plan.c - see plan.h.
 *
 * Thread: any. */
#include "core/plan.h"

smq_status plan_open(struct plan *out, smq_schedule *schedule, smq_error *err)
{
    smq_status status;

    *out = (struct plan){0};
    status = schedule_check(&out->ticks, schedule, err);
    if (status != SMQ_OK || schedule->zone == NULL) {
        return status;
    }
    return zones_load(&out->zone, schedule->zone, err);
}

void plan_close(struct plan *plan)
{
    zone_fini(&plan->zone);
}
