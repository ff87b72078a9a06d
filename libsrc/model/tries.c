/* tries.c - see tries.h.  `REASON NUL TRY 0x80 TRY...`, and a try is `HOW TIME:TEXT` or, if its
 * text is the reason, `HOW TIME`, with the upper bit of each byte inverted.
 *
 * Pure. */
#include "model/tries.h"

#include <string.h>

#include "model/number.h"

enum { TRIES_MASK = 0x80, TRIES_LEN_MAX = SMQ_REASON_MAX + 32 };

static const struct {
    const char *name;
    smq_try_how how;
    char letter;
} hows[] = {{"retried", SMQ_TRY_RETRIED, 't'},
            {"rejected", SMQ_TRY_REJECTED, 'x'},
            {"lost", SMQ_TRY_LOST, 'l'},
            {"timed_out", SMQ_TRY_TIMED_OUT, 'h'}};
enum { HOWS = sizeof(hows) / sizeof(hows[0]) };

const char *smq_try_how_name(smq_try_how how)
{
    for (size_t i = 0; i < HOWS; i++) {
        if (hows[i].how == how) {
            return hows[i].name;
        }
    }
    return "unknown";
}

static bool tries_read_how(smq_try_how *out, char letter)
{
    for (size_t i = 0; i < HOWS; i++) {
        if (hows[i].letter == letter) {
            *out = hows[i].how;
            return true;
        }
    }
    return false;
}

static bool tries_has_text(smq_try_how how)
{
    return how == SMQ_TRY_RETRIED || how == SMQ_TRY_REJECTED;
}

/* One try, not masked; `reason` is the text in front of all.  false: it is none. */
static bool tries_read_one(struct tries *out, const char *text, size_t len, const char *reason)
{
    smq_try *item = &out->item[out->count];
    const char *colon = memchr(text, ':', len);
    size_t head = colon != NULL ? (size_t) (colon - text) : len;
    char *copy = out->text[out->count];
    size_t copied = colon != NULL ? len - head - 1 : strlen(reason);

    *item = (smq_try){.reason = copy};
    if (head == 0 || !tries_read_how(&item->how, text[0]) ||
        (head > 1 && !number_parse(&item->at_ms, text + 1, head - 1, INT64_MAX)) ||
        copied > SMQ_REASON_MAX) {
        return false;
    }
    copied = tries_has_text(item->how) ? copied : 0;
    memcpy(copy, colon != NULL ? colon + 1 : reason, copied);
    copy[copied] = '\0';
    out->count++;
    return true;
}

void tries_decode(struct tries *out, const char *stored, size_t len)
{
    size_t at = strnlen(stored, len) + 1;

    out->count = 0;
    while (out->count < SMQ_TRIES_MAX && at < len) {
        const char *stop = memchr(stored + at, TRIES_MASK, len - at);
        size_t size = stop != NULL ? (size_t) (stop - stored) - at : len - at;
        char text[TRIES_LEN_MAX];

        if (size == 0 || size > sizeof(text)) {
            return;
        }
        for (size_t i = 0; i < size; i++) {
            text[i] = (char) ((unsigned char) stored[at + i] ^ TRIES_MASK);
        }
        if (!tries_read_one(out, text, size, stored)) {
            return;
        }
        at += size + 1;
    }
}
