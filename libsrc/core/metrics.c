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

void metrics_read(smq_metrics *out, const struct metrics *metrics)
{
    uint64_t *const waits[METRICS_WAITS] = {
        [METRICS_WAIT_SEND] = &out->wait_send_us,
        [METRICS_WAIT_REQUEST] = &out->wait_request_us,
        [METRICS_WAIT_CALL + CALL_WAIT_SLOT] = &out->wait_slot_us,
        [METRICS_WAIT_CALL + CALL_WAIT_PACE] = &out->wait_pace_us,
        [METRICS_WAIT_CALL + CALL_WAIT_ROOM] = &out->wait_room_us,
        [METRICS_WAIT_CLAIM] = &out->wait_claim_us,
        [METRICS_WAIT_HANDLER] = &out->wait_handler_us,
    };

    out->sent = metrics_value_of(&metrics->sent);
    out->merged = metrics_value_of(&metrics->merged);
    out->send_failures = metrics_value_of(&metrics->send_failures);
    out->send_duplicates = metrics_value_of(&metrics->send_duplicates);
    out->claimed = metrics_value_of(&metrics->claimed);
    out->done = metrics_value_of(&metrics->done);
    out->retried = metrics_value_of(&metrics->retried);
    out->rejected = metrics_value_of(&metrics->rejected);
    out->released = metrics_value_of(&metrics->released);
    out->dead = metrics_value_of(&metrics->dead);
    out->expired = metrics_value_of(&metrics->expired);
    out->lease_lost = metrics_value_of(&metrics->lease_lost);
    out->fenced = metrics_value_of(&metrics->fenced);
    out->slots_gained = metrics_value_of(&metrics->slots_gained);
    out->slots_lost = metrics_value_of(&metrics->slots_lost);
    out->slots_not_released = metrics_value_of(&metrics->slots_not_released);
    out->slots_unreplicated = metrics_value_of(&metrics->slots_unreplicated);
    out->slots_owned = metrics_difference(out->slots_gained, out->slots_lost);
    out->send_pending = metrics_value_of(&metrics->send_pending);
    out->in_flight = metrics_value_of(&metrics->in_flight);
    out->handling_ms_sum = metrics_value_of(&metrics->handling_us_sum) / 1000;
    out->handling_count = 0;
    for (size_t i = 0; i < SMQ_HISTOGRAM_SIZE; i++) {
        out->handling_ms[i] = metrics_value_of(&metrics->handling[i]);
        out->handling_count += out->handling_ms[i];
    }
    for (size_t i = 0; i < METRICS_WAITS; i++) {
        *waits[i] = metrics_value_of(&metrics->wait_us[i]);
    }
}
