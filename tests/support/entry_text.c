/* entry_text.c - see entry_text.h. */
#include "support/entry_text.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    TICK = 78125,    /* 1/128 = 0.0078125 */
    TICK_DIGITS = 7, /* behind the point */
    UNIT = 10000000  /* 10^7 */
};

void entry_encode(struct buf *out, const struct entry *entry)
{
    buf_printf(out, "%" PRId64 "%c", entry->before, (char) entry->kind);
    if (entry->kind == ENTRY_CLAIMED || entry->kind == ENTRY_RESTING) {
        buf_printf(out, "%" PRIu64, entry->claim);
    }
    buf_add(out, ":", 1);
    buf_add(out, entry->member, entry->member_len);
}

/* Exact, not rounded: the decimal fraction of n/128 ends after 7 digits. */
void entry_score_format(char out[40], int64_t integer, struct attempts attempts)
{
    int64_t fraction = (int64_t) (attempts.retries * 2 + attempts.suspect) * TICK;
    bool negative = integer < 0;
    int len = 0;

    if (negative && fraction > 0) {
        integer++; /* -5 + 0.25 is written -4.75 */
        fraction = UNIT - fraction;
    }
    len = snprintf(out, 40, "%s%" PRId64, negative ? "-" : "", negative ? -integer : integer);
    if (fraction == 0) {
        return;
    }
    len += snprintf(out + len, 40 - (size_t) len, ".%0*" PRId64, TICK_DIGITS, fraction);
    while (out[len - 1] == '0') {
        out[--len] = '\0';
    }
}
