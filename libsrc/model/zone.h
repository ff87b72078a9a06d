/* zone.h - time zones: what a TZif file (RFC 8536) says of the offset from UTC, with the rule for
 * the time after its last change that stands at its end.
 *
 * Pure: zones_get() of core/zones.h reads the file. */
#ifndef MODEL_ZONE_H
#define MODEL_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ZONE_NAME_MAX = 100 };

/* When an offset begins each year, in the local time before it. */
struct zone_rule {
    enum { ZONE_RULE_WEEKDAY, ZONE_RULE_JULIAN, ZONE_RULE_DAY } kind;
    int month, week, day; /* Mm.w.d; Jn, from 1 and never 29 February; n, from 0 */
    int32_t at_s;         /* seconds since the midnight with which the day begins */
};

/* Zeroed it is UTC. */
struct zone {
    size_t count; /* of changes */
    int64_t *from_s;
    int32_t *offset_s, first_offset_s;
    bool has_rules, has_summer;
    int32_t winter_s, summer_s;
    struct zone_rule summer_begins, summer_ends;
};

/* A part of time with one offset, from `from_s` up to `until_s`, which is not in it. */
struct zone_span {
    int64_t from_s, until_s;
    int32_t offset_s;
};

/* Read the contents of a file of version 2 or later.  false: it is no such file, or counts leap
 * seconds, and *out is UTC. */
bool zone_parse(struct zone *out, const unsigned char *data, size_t len);

void zone_fini(struct zone *zone);

/* The part in which a time is, in seconds since 1970. */
struct zone_span zone_span_at(const struct zone *zone, int64_t time_s);

/* The first time at which clocks show `local_s` or more: they show it, or are set forward over it.
 * So a later `local_s` never has an earlier time. */
int64_t zone_time_of(const struct zone *zone, int64_t local_s);

#endif
