/* zone_span.c - which offset a zone has when.
 *
 * Pure. */
#include "model/zone.h"

#include "model/civil.h"

enum { DAY_S = 86400, OFFSET_MOST = 26 * 3600 };

/* When the rule applies in a year, in seconds since 1970, by a clock with `offset_s`. */
static int64_t zone_rule_time(const struct zone_rule *rule, int64_t year, int32_t offset_s)
{
    int64_t days = civil_to_days(year, 1, 1) + rule->day;

    if (rule->kind == ZONE_RULE_JULIAN) {
        const bool is_leap = civil_to_days(year, 3, 1) - civil_to_days(year, 2, 28) > 1;

        days -= rule->day < 60 || !is_leap ? 1 : 0;
    } else if (rule->kind == ZONE_RULE_WEEKDAY) {
        const int64_t first = civil_to_days(year, rule->month, 1);
        const int64_t next = civil_to_days(year, rule->month + 1, 1);

        days = first + (rule->day - civil_weekday(first) + 7) % 7 + 7 * (int64_t) (rule->week - 1);
        days -= days >= next ? 7 : 0;
    }
    return days * DAY_S + rule->at_s - offset_s;
}

/* Make the part smaller that begins at `at` or before it, or ends behind it. */
static void zone_cut(struct zone_span *span, int64_t time_s, int64_t change_s, int32_t offset_s)
{
    if (change_s <= time_s && change_s >= span->from_s) {
        span->from_s = change_s;
        span->offset_s = offset_s;
    } else if (change_s > time_s && change_s < span->until_s) {
        span->until_s = change_s;
    }
}

/* The part by the rule; `span` has what comes before the rule, with the offset at its end. */
static void zone_apply_rules(const struct zone *zone, struct zone_span *span, int64_t time_s)
{
    int64_t rest;
    const int64_t year = civil_of_days(civil_divide(time_s, DAY_S, &rest)).year;

    if (!zone->has_summer) {
        span->offset_s = zone->winter_s;
        return;
    }
    for (int64_t y = year - 1; y <= year + 1; y++) {
        const int64_t begins = zone_rule_time(&zone->summer_begins, y, zone->winter_s);
        const int64_t ends = zone_rule_time(&zone->summer_ends, y, zone->summer_s);

        zone_cut(span, time_s, begins < ends ? begins : ends,
                 begins < ends ? zone->summer_s : zone->winter_s);
        zone_cut(span, time_s, begins < ends ? ends : begins,
                 begins < ends ? zone->winter_s : zone->summer_s);
    }
}

struct zone_span zone_span_at(const struct zone *zone, int64_t time_s)
{
    size_t begun = zone->count; /* changes that are not later; what is asked is mostly today */
    struct zone_span span = {INT64_MIN, INT64_MAX, zone->first_offset_s};

    while (begun > 0 && zone->from_s[begun - 1] > time_s) {
        begun--;
    }
    if (begun > 0) {
        span.from_s = zone->from_s[begun - 1];
        span.offset_s = zone->offset_s[begun - 1];
    }
    if (begun < zone->count) {
        span.until_s = zone->from_s[begun];
    } else if (zone->has_rules) {
        zone_apply_rules(zone, &span, time_s);
    }
    return span;
}

int64_t zone_time_of(const struct zone *zone, int64_t local_s)
{
    struct zone_span span = zone_span_at(zone, local_s - OFFSET_MOST);

    while (local_s - span.offset_s >= span.until_s) {
        span = zone_span_at(zone, span.until_s);
    }
    return local_s - span.offset_s < span.from_s ? span.from_s : local_s - span.offset_s;
}
