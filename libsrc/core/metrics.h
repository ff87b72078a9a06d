/* metrics.h - what the parts of one client count, each where it happens.
 *
 * Thread: smq:io counts, but for what is shared; any may read.  The numbers stand for themselves:
 * nothing is ordered by them. */
#ifndef CORE_METRICS_H
#define CORE_METRICS_H

#include <stdatomic.h>

#include <slotmq/metrics.h>

typedef _Atomic uint64_t metric;

/* Begins as zeros.  The rest of smq_metrics is counted by the Redis client and by the events. */
struct metrics {
    metric sent, merged, send_failures;
    metric claimed, done, retried, rejected, released, dead, expired, lease_lost, fenced;
    metric slots_gained, slots_lost;
    metric in_flight;
    metric handling_us_sum, handling[SMQ_HISTOGRAM_SIZE];
    char apart[64]; /* of what follows, which is shared with the threads of the application */
    metric send_pending;
};

/* Thread: smq:io; so no other count comes between the two steps. */
static inline void metric_add(metric *which, uint64_t count)
{
    uint64_t value = atomic_load_explicit(which, memory_order_relaxed);

    atomic_store_explicit(which, value + count, memory_order_relaxed);
}

static inline void metric_subtract(metric *which, uint64_t count)
{
    metric_add(which, 0 - count);
}

/* Thread: any, for what is shared. */
static inline void metric_share_add(metric *which, uint64_t count)
{
    atomic_fetch_add_explicit(which, count, memory_order_relaxed);
}

static inline void metric_share_subtract(metric *which, uint64_t count)
{
    atomic_fetch_sub_explicit(which, count, memory_order_relaxed);
}

/* A delivery was answered so long after its claim.  Thread: smq:io. */
void metrics_handled(struct metrics *metrics, int64_t us);

/* Fill what is counted here. */
void metrics_read(smq_metrics *out, const struct metrics *metrics);

#endif
