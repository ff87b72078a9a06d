/* backoff.h - how long a failed message rests.
 *
 * Pure: randomness is passed in. */
#ifndef MODEL_BACKOFF_H
#define MODEL_BACKOFF_H

#include <stddef.h>
#include <stdint.h>

#include <slotmq/core.h>

enum { BACKOFF_STEPS_MAX = 16, BACKOFF_TEXT_MAX = 256 };

enum backoff_kind { BACKOFF_NONE, BACKOFF_FIXED, BACKOFF_EXP, BACKOFF_LADDER };

/* ms[0] is the pause (fixed), base and cap (exp), or the ladder; each 0 .. 2^40. */
struct backoff {
    enum backoff_kind kind;
    int count; /* used steps of ms[] */
    int64_t ms[BACKOFF_STEPS_MAX];
};

/* Text: "none", "fixed:MS", "exp:MS:MAX", "ladder:MS,MS,...".  Fails: INVALID. */
smq_status backoff_parse(struct backoff *out, const char *text, smq_error *err);
void backoff_format(char out[BACKOFF_TEXT_MAX], const struct backoff *backoff);

/* The rest after the failure number `retries` (0 is the first).  exp: uniform in
 * [0, min(base * 2^retries, cap)], "full jitter"; the ladder's last step repeats. */
int64_t backoff_delay(const struct backoff *backoff, int retries, uint64_t random);

#endif
