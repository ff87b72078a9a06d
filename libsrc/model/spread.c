/* spread.c - see spread.h.
 *
 * docs/decisions/0061-messages-without-a-key.md has the measurements. */
#include "model/spread.h"

enum { SPREAD_PERIOD_US = 50000, SPREAD_MOST = 16 };

/* Begin a period, if the last one is over. */
static void spread_measure(struct spread *spread, uint32_t slots, int64_t now_us)
{
    int64_t took_us = now_us - spread->since_us;

    if (took_us < SPREAD_PERIOD_US) {
        return;
    }
    spread->many = (uint32_t) ((int64_t) spread->count * SPREAD_PERIOD_US / took_us / slots);
    spread->count = 0;
    spread->left = 0;
    spread->since_us = now_us;
}

/* How many messages in a row does a slot get?  In a burst after a pause what it got in this period
 * counts. */
static uint32_t spread_share(const struct spread *spread, uint32_t slots)
{
    uint32_t many = spread->count / slots;

    many = (many > spread->many ? many : spread->many) + 1;
    return many < SPREAD_MOST ? many : SPREAD_MOST;
}

int32_t spread_last(const struct spread *spread, int32_t slots)
{
    return (int32_t) (spread->turn & (uint32_t) (slots - 1));
}

int32_t spread_next(struct spread *spread, int32_t slots, int64_t now_us, bool closed)
{
    uint32_t count = (uint32_t) slots;
    uint32_t stride = (uint32_t) ((uint64_t) count * 5 / 8) | 1; /* odd, so it reaches all slots */

    spread_measure(spread, count, now_us);
    if (spread->left == 0 || closed) {
        spread->left = spread_share(spread, count);
        spread->turn += stride;
    }
    spread->left--;
    spread->count++;
    return spread_last(spread, slots);
}
