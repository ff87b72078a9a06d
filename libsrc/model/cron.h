/* cron.h - cron expressions: 5 fields (minute, hour, day of month, month, day of week), or 6 with
 * the second in front, or a name such as @daily.
 *
 * A field is a list of numbers, ranges and steps: 5, 1-5, MON-FRI, 1,15 or 10-40/10.  Sunday is 0
 * and 7.  As in Vixie's cron, if the day of month and the day of week both say something, that is
 * neither begins with '*', then one of them is enough.
 *
 * Pure. */
#ifndef MODEL_CRON_H
#define MODEL_CRON_H

#include <stdbool.h>
#include <stdint.h>

#include <slotmq/core.h>

enum { CRON_TEXT_MAX = 255 };

#define CRON_NEVER INT64_MAX

/* Bit N of a set is the number N. */
struct cron {
    uint64_t second, minute, hour, day, month, weekday;
    bool any_day, any_weekday; /* the field begins with '*' */
    bool is_interval;          /* hour or minute is '*' or has a step: it goes with elapsed time */
};

/* Fails: INVALID, with a line that marks the field and says what may stand there; also if the
 * expression names no day that exists. */
smq_status cron_parse(struct cron *out, const char *text, smq_error *err);

/* The first time after `local` that the expression names, in seconds since 1970 by a clock without
 * a zone; CRON_NEVER: none within 400 years. */
int64_t cron_after(const struct cron *cron, int64_t local);

#endif
