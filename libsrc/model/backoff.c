/* backoff.c - how long a message rests after a failure.
 *
 * Pure: randomness is passed in. */
#include "model/backoff.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "model/number.h"

#define BACKOFF_MS_MAX (INT64_C(1) << 40)

static const struct backoff_form {
    const char *name;
    char separator; /* between its steps */
    int steps_min, steps_max;
} backoff_forms[] = {
    [BACKOFF_NONE] = {"none", ',', 0, 0},
    [BACKOFF_FIXED] = {"fixed", ',', 1, 1},
    [BACKOFF_EXP] = {"exp", ':', 2, 2},
    [BACKOFF_LADDER] = {"ladder", ',', 1, BACKOFF_STEPS_MAX},
};

enum { BACKOFF_FORMS = sizeof(backoff_forms) / sizeof(backoff_forms[0]) };

/* Read the "MS,MS,..." after the colon; NULL: there is none. */
static bool backoff_parse_steps(struct backoff *out, const char *text)
{
    const struct backoff_form *form = &backoff_forms[out->kind];

    while (text != NULL) {
        const char *end = strchr(text, form->separator);
        size_t len = end == NULL ? strlen(text) : (size_t) (end - text);

        if (out->count == form->steps_max ||
            !number_parse_duration(&out->ms[out->count], text, len, BACKOFF_MS_MAX)) {
            return false;
        }
        out->count++;
        text = end == NULL ? NULL : end + 1;
    }
    return out->count >= form->steps_min;
}

static bool backoff_read(struct backoff *out, const char *text)
{
    const char *colon = strchr(text, ':');
    size_t len = colon == NULL ? strlen(text) : (size_t) (colon - text);

    for (int i = 0; i < BACKOFF_FORMS; i++) {
        if (strlen(backoff_forms[i].name) == len && memcmp(backoff_forms[i].name, text, len) == 0) {
            out->kind = (enum backoff_kind) i;
            return backoff_parse_steps(out, colon == NULL ? NULL : colon + 1);
        }
    }
    return false;
}

smq_status backoff_parse(struct backoff *out, const char *text, smq_error *err)
{
    struct backoff backoff = {0};

    if (!backoff_read(&backoff, text)) {
        return status_set(err, SMQ_INVALID,
                          "backoff must be none, fixed:MS, exp:MS:MAX or ladder:MS,MS,... (at most "
                          "%d steps of at most %" PRId64 " ms), not \"%.60s\"",
                          BACKOFF_STEPS_MAX, BACKOFF_MS_MAX, text);
    }
    if (backoff.kind == BACKOFF_EXP && backoff.ms[1] < backoff.ms[0]) {
        return status_set(err, SMQ_INVALID,
                          "backoff exp:MS:MAX must have MAX at least MS, not \"%.60s\"", text);
    }
    *out = backoff;
    return SMQ_OK;
}

void backoff_format(char out[BACKOFF_TEXT_MAX], const struct backoff *backoff)
{
    const struct backoff_form *form = &backoff_forms[backoff->kind];
    int used = snprintf(out, BACKOFF_TEXT_MAX, "%s", form->name);

    for (int i = 0; i < backoff->count && used < BACKOFF_TEXT_MAX; i++) {
        used += snprintf(out + used, (size_t) (BACKOFF_TEXT_MAX - used), "%c%" PRId64,
                         i == 0 ? ':' : form->separator, backoff->ms[i]);
    }
}

static int64_t backoff_exp(int64_t base, int64_t cap, int retries, uint64_t random)
{
    int shift = retries < 62 ? retries : 62;
    int64_t limit = base <= cap >> shift ? base << shift : cap;

    return (int64_t) (random % ((uint64_t) limit + 1));
}

int64_t backoff_delay(const struct backoff *backoff, int retries, uint64_t random)
{
    int step = retries > 0 ? retries : 0;

    switch (backoff->kind) {
    case BACKOFF_NONE:
        return 0;
    case BACKOFF_FIXED:
        return backoff->ms[0];
    case BACKOFF_EXP:
        return backoff_exp(backoff->ms[0], backoff->ms[1], step, random);
    case BACKOFF_LADDER:
        return backoff->ms[step < backoff->count ? step : backoff->count - 1];
    }
    return 0;
}
