/* ticks.c - the times of a schedule.
 *
 * Pure. */
#include "model/ticks.h"

#include "model/civil.h"

/* The latest time that is looked at: that of messages which are scheduled ends before it. */
#define TICKS_LAST_MS (INT64_C(1) << 43)

/* What goes with elapsed time: in each part with one offset, what a clock with that shows. */
static int64_t ticks_elapsed_after(const struct cron *cron, const struct zone *zone, int64_t after)
{
    struct zone_span span = zone_span_at(zone, after);
    int64_t from = after;

    while (from < TICKS_LAST_MS / 1000) {
        const int64_t local = cron_after(cron, from + span.offset_s);

        if (local == CRON_NEVER || local - span.offset_s < span.until_s) {
            return local == CRON_NEVER ? CRON_NEVER : local - span.offset_s;
        }
        span = zone_span_at(zone, span.until_s);
        from = span.from_s - 1;
    }
    return CRON_NEVER;
}

static int64_t ticks_cron_after(const struct cron *cron, const struct zone *zone, int64_t after)
{
    int64_t local = after + zone_span_at(zone, after).offset_s;
    int64_t at = after;

    if (cron->is_interval) {
        return ticks_elapsed_after(cron, zone, after);
    }
    while (at <= after) { /* it was due already, as of a time that comes twice or in a gap */
        local = cron_after(cron, local);
        if (local == CRON_NEVER) {
            return CRON_NEVER;
        }
        at = zone_time_of(zone, local);
    }
    return at;
}

int64_t ticks_after(const struct ticks *ticks, const struct zone *zone, int64_t after_ms)
{
    int64_t from_ms = after_ms < ticks->start_ms ? ticks->start_ms - 1 : after_ms;
    int64_t next_ms, rest;

    if (from_ms >= TICKS_LAST_MS) {
        return TICKS_NEVER;
    }
    if (ticks->every_ms > 0) {
        next_ms =
            ticks->start_ms +
            (civil_divide(from_ms - ticks->start_ms, ticks->every_ms, &rest) + 1) * ticks->every_ms;
    } else {
        const int64_t next_s =
            ticks_cron_after(&ticks->cron, zone, civil_divide(from_ms, 1000, &rest));

        next_ms = next_s < TICKS_LAST_MS / 1000 ? next_s * 1000 : TICKS_NEVER;
    }
    if (next_ms > TICKS_LAST_MS || (ticks->end_ms != 0 && next_ms > ticks->end_ms)) {
        return TICKS_NEVER;
    }
    return next_ms;
}
