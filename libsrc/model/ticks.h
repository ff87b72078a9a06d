/* ticks.h - when a schedule is due: by a cron expression in a zone, or at a fixed interval in ms.
 *
 * Summer time is that of Vixie's cron.  A time that does not exist is due at the end of the gap,
 * and one that comes twice is due at the first; but what has '*' or a step as its hour or minute
 * goes with elapsed time, so it is due whenever a clock on the wall shows such a time.
 *
 * Pure. */
#ifndef MODEL_TICKS_H
#define MODEL_TICKS_H

#include "model/cron.h"
#include "model/zone.h"

#define TICKS_NEVER INT64_MAX

enum { TICKS_EVERY_LEAST_MS = 100 };

struct ticks {
    struct cron cron;
    int64_t every_ms;         /* 0: by `cron` */
    int64_t start_ms, end_ms; /* since 1970; both are in it; end_ms 0: none */
};

/* The first tick after a time, in ms since 1970; TICKS_NEVER: there is none. */
int64_t ticks_after(const struct ticks *ticks, const struct zone *zone, int64_t after_ms);

#endif
