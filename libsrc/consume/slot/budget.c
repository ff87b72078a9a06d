/* budget.c - see budget.h.
 *
 * A member takes the part of the topic's rate that its slots are of all slots, so members need not
 * ask each other.
 *
 * Thread: smq:io. */
#include "consume/slot/budget.h"

#include "base/clock.h"

enum {
    LONG_MS = 500,
    SHORT_PART = 4 /* of max_in_flight: so the handlers have work while the next claim is made */
};

void budget_init(struct budget *budget)
{
    *budget = (struct budget){.max_in_flight = 0};
    limiter_init(&budget->own);
    limiter_init(&budget->share);
}

void budget_set_rates(struct budget *budget, int64_t own, double share, bool share_limited)
{
    int64_t now = clock_now_ms();

    budget->limited = own > 0 || share_limited;
    limiter_set(&budget->own, own > 0 ? (double) own : LIMITER_NONE, now);
    limiter_set(&budget->share, share_limited ? share : LIMITER_NONE, now);
}

static int64_t budget_room(const struct budget *budget)
{
    return budget->max_in_flight - budget->unanswered - budget->reserved;
}

/* How many of `wanted` fit below max_in_flight and max_messages, ignoring the rate limits. */
static int64_t budget_capacity(const struct budget *budget, int64_t wanted)
{
    int64_t capacity = budget_room(budget);
    int64_t left = budget->max_messages - budget->handled - budget->in_flight - budget->reserved;

    if (budget->max_messages > 0 && left < capacity) {
        capacity = left;
    }
    if (capacity <= 0) {
        return 0;
    }
    return capacity < wanted ? capacity : wanted;
}

bool budget_is_short(const struct budget *budget, int32_t wanted)
{
    int64_t room = budget_room(budget);

    return !budget->limited && room < wanted && room < budget->max_in_flight / SHORT_PART;
}

int32_t budget_available(const struct budget *budget, int32_t wanted)
{
    int64_t available = budget_capacity(budget, wanted);
    int64_t now;

    if (available > 0 && budget->limited) {
        now = clock_now_ms();
        available = limiter_allows(&budget->own, available, now);
        available = limiter_allows(&budget->share, available, now);
    }
    return (int32_t) available;
}

void budget_reserve(struct budget *budget, int32_t count)
{
    int64_t now;

    budget->reserved += count;
    if (budget->limited) {
        now = clock_now_ms();
        limiter_use(&budget->own, count, now);
        limiter_use(&budget->share, count, now);
    }
}

void budget_unreserve(struct budget *budget, int32_t count, int32_t used)
{
    budget->reserved -= count;
    budget_refund(budget, used < count ? count - used : 0);
}

void budget_refund(struct budget *budget, int32_t count)
{
    limiter_return(&budget->own, count);
    limiter_return(&budget->share, count);
}

/* Milliseconds until both rate limits allow a message. */
static int64_t budget_credit_ms(const struct budget *budget)
{
    int64_t now = clock_now_ms();
    int64_t own = limiter_wait_ms(&budget->own, now);
    int64_t share = limiter_wait_ms(&budget->share, now);

    if (own < 0 || share < 0) {
        return INT64_MAX;
    }
    return own > share ? own : share;
}

int64_t budget_wait_ms(const struct budget *budget)
{
    if (!budget->limited || budget_capacity(budget, 1) == 0) {
        return -1;
    }
    return budget_credit_ms(budget);
}

bool budget_waits_long(const struct budget *budget)
{
    return budget->limited && budget_credit_ms(budget) > LONG_MS;
}

bool budget_is_used_up(const struct budget *budget)
{
    return budget->max_messages > 0 && budget->handled >= budget->max_messages;
}
