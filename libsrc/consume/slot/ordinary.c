/* ordinary.c - see ordinary.h.
 *
 * Thread: smq:io. */
#include "consume/slot/ordinary.h"

void ordinary_begin(struct ordinary *ordinary, int64_t lease_ms)
{
    *ordinary = (struct ordinary){.rare = true, .lease_ms = lease_ms};
}

static size_t ordinary_latest(const struct ordinary *ordinary)
{
    size_t latest = 0;

    for (size_t i = 1; i < ordinary->count; i++) {
        latest = ordinary->rests[i] > ordinary->rests[latest] ? i : latest;
    }
    return latest;
}

void ordinary_rests(struct ordinary *ordinary, int64_t until_ms)
{
    size_t at = ordinary->count;

    if (ordinary->count < ORDINARY_RESTS) {
        ordinary->count++;
    } else {
        at = ordinary_latest(ordinary);
    }
    if (at == ordinary->count - 1 || until_ms < ordinary->rests[at]) {
        ordinary->rests[at] = until_ms;
    }
}

void ordinary_replied(struct ordinary *ordinary, int64_t now_ms, bool rare)
{
    size_t kept = 0;

    for (size_t i = 0; i < ordinary->count; i++) {
        if (ordinary->rests[i] > now_ms) {
            ordinary->rests[kept++] = ordinary->rests[i];
        }
    }
    ordinary->count = kept;
    ordinary->rare = rare;
    if (ordinary->lease_ms > 0) {
        ordinary->former_ms = now_ms + ordinary->lease_ms;
        ordinary->lease_ms = 0;
    }
}

bool ordinary_is(const struct ordinary *ordinary, int64_t now_ms)
{
    return !ordinary->rare && now_ms > ordinary->former_ms;
}

bool ordinary_has_rested(const struct ordinary *ordinary, int64_t now_ms)
{
    for (size_t i = 0; i < ordinary->count; i++) {
        if (ordinary->rests[i] <= now_ms) {
            return true;
        }
    }
    return false;
}
