/* history.h - the last hour of a topic.
 *
 * Pure. */
#ifndef SERVE_HISTORY_H
#define SERVE_HISTORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HISTORY_STEP_MS = 10000, HISTORY_POINTS = 360, HISTORY_SPAN_MS = 3600 * 1000 };

/* Rates that are not known are below 0. */
struct history_point {
    int64_t at_ms;
    float sent_per_s, done_per_s, failed_per_s;
    int64_t lag_ms; /* SMQ_AGE_UNKNOWN: not known */
    uint64_t waiting, dead;
};

/* Zeroed: it is empty.  Invariant: times rise from the oldest point to the newest, by a step at
 * least. */
struct history {
    struct history_point *points; /* owned: HISTORY_POINTS of them; NULL: it is empty */
    size_t first, count;
};

/* Is a point of this time wanted? */
bool history_wants(const struct history *history, int64_t at_ms);

/* Adds the newest point, and forgets the oldest one when it is full. */
void history_add(struct history *history, const struct history_point *point);

void history_fini(struct history *history);

/* The points since an hour before `now_ms` as openapi.json shows them, at most `most` of them: of
 * those that become one, rates are the means, the lag is the largest, and counts are the last. */
json_t *history_json(const struct history *history, int64_t now_ms, size_t most);

#endif
