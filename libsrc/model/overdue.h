/* overdue.h - which messages of a slot should be handled and are not.  Everything that shows or
 * judges that uses these two functions: the stats that a look at a slot gives, and what they mean.
 *
 * Pure. */
#ifndef MODEL_OVERDUE_H
#define MODEL_OVERDUE_H

#include <slotmq/ops.h>

/* What a look at a slot says, in ms by the clock of its Redis; a time of -1 is not known. */
struct overdue_look {
    int64_t now_ms;
    uint64_t waiting_due;     /* messages that wait and are due */
    int64_t waiting_since_ms; /* since when the first of them is */
    uint64_t claimed, stalled;
    int64_t first_end_ms;     /* when the first lease of all claims ends; -1: nothing is claimed */
    int64_t stalled_since_ms; /* since when the message that stalled first is due */
    int64_t noted_ms;         /* when the oldest claim was made, as its owner has noted */
    int64_t lease_ms;         /* of the topic */
};

/* Fill `due`, `stalled` and the ages. */
void overdue_count(smq_stats *out, const struct overdue_look *look);

/* As smq_overdue_of(). */
smq_overdue overdue_of(int64_t *age_ms, const smq_stats *stats, bool owner_gone,
                       int64_t max_work_ms);

#endif
