/* metrics.h - the counters of a client, each counted where the thing happens.
 *
 * Thread: smq:io counts, except the shared counters; any thread may read.  Counters are independent
 * of each other: no order between them is guaranteed. */
#ifndef CORE_METRICS_H
#define CORE_METRICS_H

#include <stdatomic.h>

#include <slotmq/metrics.h>

#include "model/call_wait.h"
#include "model/metric.h"

typedef _Atomic uint64_t metric;

/* For what messages wait, in the order of METRIC_ROWS. */
enum metrics_wait {
    METRICS_WAIT_SEND,
    METRICS_WAIT_REQUEST,
    METRICS_WAIT_CALL, /* and for what the call waits: enum call_wait_for */
    METRICS_WAIT_CLAIM = METRICS_WAIT_CALL + CALL_WAITS,
    METRICS_WAIT_HANDLER,
    METRICS_WAITS
};

#define METRICS_IO_IO(member) metric member;
#define METRICS_IO_SHARED(member)
#define METRICS_IO_WAIT(member)
#define METRICS_IO_OTHER(member)
#define METRICS_SHARED_IO(member)
#define METRICS_SHARED_SHARED(member) metric member;
#define METRICS_SHARED_WAIT(member)
#define METRICS_SHARED_OTHER(member)

/* Begins as zeros. */
struct metrics {
#define X(member, by, ...) METRICS_IO_##by(member)
    METRIC_ROWS(X)
#undef X
    metric handling_us_sum, handling[SMQ_HISTOGRAM_SIZE];
    metric wait_us[METRICS_WAITS];
    /* keeps the counters below, which other threads change, out of the cache lines above */
    char apart[64];
#define X(member, by, ...) METRICS_SHARED_##by(member)
    METRIC_ROWS(X)
#undef X
};

/* Thread: smq:io.  No other thread counts here, so the step need not be atomic. */
static inline void metric_add(metric *which, uint64_t count)
{
    uint64_t value = atomic_load_explicit(which, memory_order_relaxed);

    atomic_store_explicit(which, value + count, memory_order_relaxed);
}

static inline void metric_subtract(metric *which, uint64_t count)
{
    metric_add(which, 0 - count);
}

/* Thread: any, for shared counters. */
static inline void metric_share_add(metric *which, uint64_t count)
{
    atomic_fetch_add_explicit(which, count, memory_order_relaxed);
}

static inline void metric_share_subtract(metric *which, uint64_t count)
{
    atomic_fetch_sub_explicit(which, count, memory_order_relaxed);
}

/* A delivery was answered `us` microseconds after its claim.  Thread: smq:io. */
void metrics_handled(struct metrics *metrics, int64_t us);

/* `count` messages have waited for this, `us` microseconds each.  Thread: smq:io. */
void metrics_waited(struct metrics *metrics, int what, int64_t us, size_t count);

/* Fill the fields of `out` that are counted here. */
void metrics_read(smq_metrics *out, const struct metrics *metrics);

#endif
