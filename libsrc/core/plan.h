/* plan.h - when a schedule is due, on this machine.
 *
 * Thread: any.  Opening one blocks while it reads the small file of its zone. */
#ifndef CORE_PLAN_H
#define CORE_PLAN_H

#include "core/zones.h"
#include "model/schedule.h"

struct plan {
    struct ticks ticks;
    struct zone zone;
};

/* Check a schedule of full size but for its message, and set what has a default.  Fails: INVALID
 * (also if this machine does not know its zone), and then nothing needs to be closed. */
smq_status plan_open(struct plan *out, smq_schedule *schedule, smq_error *err);
void plan_close(struct plan *plan);

#endif
