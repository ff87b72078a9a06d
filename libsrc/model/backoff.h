/* backoff.h - how long a message rests after a failure.
 *
 * Pure: randomness is passed in. */
#ifndef MODEL_BACKOFF_H
#define MODEL_BACKOFF_H

#include <stddef.h>
#include <stdint.h>

#include <slotmq/core.h>

enum { BACKOFF_STEPS_MAX = 16, BACKOFF_TEXT_MAX = 256 };

enum backoff_kind { BACKOFF_NONE, BACKOFF_FIXED, BACKOFF_EXP, BACKOFF_LADDER };

/* fixed: ms[0] is the rest.  exp: ms[0] is the base, ms[1] the maximum.  ladder: ms[] are the
 * rests.  Each is 0 .. 2^40. */
struct backoff {
    enum backoff_kind kind;
    int count; /* how many elements of ms[] are used */
    int64_t ms[BACKOFF_STEPS_MAX];
};

/* Text: "none", "fixed:MS", "exp:MS:MAX", "ladder:MS,MS,...".  Fails: INVALID. */
smq_status backoff_parse(struct backoff *out, const char *text, smq_error *err);
void backoff_format(char out[BACKOFF_TEXT_MAX], const struct backoff *backoff);

/* The rest after failure number `retries`, from 0.  exp: uniform in [0, min(base * 2^retries,
 * maximum)] ("full jitter"); the last step of a ladder repeats. */
int64_t backoff_delay(const struct backoff *backoff, int retries, uint64_t random);

#endif
