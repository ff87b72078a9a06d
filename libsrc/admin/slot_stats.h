/* slot_stats.h - the stats of a topic, summed from those of its slots.
 *
 * Thread: the caller's. */
#ifndef ADMIN_SLOT_STATS_H
#define ADMIN_SLOT_STATS_H

#include <slotmq/ops.h>

#include "admin/slot_walk.h"

/* Fill the stats and owners of *out from a walk over all slots, each of which `visit` is shown, if
 * it is not NULL.  Fails as slot_walk_visit(); then *out is unchanged. */
smq_status slot_stats_sum(smq_survey_topic *out, struct slot_walk *walk, smq_slot_fn *visit,
                          void *user, smq_error *err);

#endif
