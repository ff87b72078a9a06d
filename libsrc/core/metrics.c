/* metrics.c - the counters of a client.
 *
 * Thread: as metrics.h says. */
#include "core/metrics.h"

static size_t metrics_bucket_of(int64_t us)
{
    size_t bucket = 0;

    while (bucket < SMQ_HISTOGRAM_SIZE - 1 && us > INT64_C(1000) << bucket) {
        bucket++;
    }
    return bucket;
}

void metrics_handled(struct metrics *metrics, int64_t us)
{
    uint64_t spent = us > 0 ? (uint64_t) us : 0;

    metric_add(&metrics->handling_us_sum, spent);
    metric_add(&metrics->handling[metrics_bucket_of(us)], 1);
}

void metrics_waited(struct metrics *metrics, int what, int64_t us, size_t count)
{
    if (us > 0) {
        metric_add(&metrics->wait_us[what], (uint64_t) us * count);
    }
}

static uint64_t metrics_value_of(const metric *which)
{
    return atomic_load_explicit(which, memory_order_relaxed);
}

/* Zero instead of less: the loss of a slot may be read before its gain. */
static uint64_t metrics_difference(uint64_t gained, uint64_t lost)
{
    return gained > lost ? gained - lost : 0;
}

#define METRICS_READ_IO(member)     out->member = metrics_value_of(&metrics->member);
#define METRICS_READ_SHARED(member) METRICS_READ_IO(member)
#define METRICS_READ_WAIT(member)   out->member = metrics_value_of(&metrics->wait_us[wait++]);
#define METRICS_READ_OTHER(member)

void metrics_read(smq_metrics *out, const struct metrics *metrics)
{
    size_t wait = 0;

#define X(member, by, ...) METRICS_READ_##by(member)
    METRIC_ROWS(X)
#undef X
    out->slots_owned = metrics_difference(out->slots_gained, out->slots_lost);
    out->handling_ms_sum = metrics_value_of(&metrics->handling_us_sum) / 1000;
    out->handling_count = 0;
    for (size_t i = 0; i < SMQ_HISTOGRAM_SIZE; i++) {
        out->handling_ms[i] = metrics_value_of(&metrics->handling[i]);
        out->handling_count += out->handling_ms[i];
    }
}
