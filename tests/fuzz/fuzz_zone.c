/* fuzz_zone.c - files of time zones: time has no holes, and a local time that a clock shows comes
 * back, but for one over which the clock was set forward before. */
#include "fuzz/fuzz.h"
#include "model/zone.h"

FUZZ_TARGET(zone)
{
    struct zone zone;

    if (!zone_parse(&zone, data, size)) {
        FUZZ_CHECK(zone.count == 0 && !zone.has_rules);
        return;
    }
    for (int64_t time = -3000000000; time < 9000000000; time += 500000001) {
        const struct zone_span span = zone_span_at(&zone, time);
        const int64_t local = time + span.offset_s;
        const int64_t first = zone_time_of(&zone, local);
        const struct zone_span then = zone_span_at(&zone, first);
        const int64_t shown = first + then.offset_s;

        FUZZ_CHECK(span.from_s <= time && time < span.until_s);
        FUZZ_CHECK(first <= time && first <= zone_time_of(&zone, local + 1));
        FUZZ_CHECK(shown == local || (shown > local && first == then.from_s));
    }
    zone_fini(&zone);
}
