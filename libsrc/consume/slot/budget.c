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
    SPARE_PART = 4, /* of max_in_flight: so the handlers have work while the next claim is made */
    MOMENT_US = 5000
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

    budget->rated = own > 0 || share_limited;
    limiter_set(&budget->own, own > 0 ? (double) own : LIMITER_NONE, now);
    limiter_set(&budget->share, share_limited ? share : LIMITER_NONE, now);
}

static int64_t budget_own_room(const struct budget *budget)
{
    return budget->max_in_flight - budget->unanswered - budget->reserved;
}

static int64_t budget_room(const struct budget *budget)
{
    int64_t own = budget_own_room(budget), shared = limit_room(&budget->limited);

    return own < shared ? own : shared;
}

int32_t budget_most(const struct budget *budget)
{
    return limit_most(&budget->limited, budget->max_in_flight);
}

/* What is left of max_messages. */
static int64_t budget_quota(const struct budget *budget)
{
    int64_t left = budget->max_messages - budget->handled - budget->in_flight - budget->reserved;

    return budget->max_messages > 0 ? left : INT64_MAX;
}

/* How many messages the rate limits allow now. */
static int64_t budget_credit(const struct budget *budget)
{
    int64_t now, credit = INT64_MAX;

    if (budget->rated) {
        now = clock_now_ms();
        credit = limiter_allows(&budget->own, credit, now);
        credit = limiter_allows(&budget->share, credit, now);
    }
    return credit;
}

void budget_begin_turn(struct budget *budget, int64_t now_us)
{
    budget->now_us = now_us;
    if (budget->answered) {
        budget->answered = false;
        budget->answered_us = now_us;
    }
}

/* Do answers come so fast that places are soon free for a larger claim? */
static bool budget_gathers(const struct budget *budget)
{
    return !budget->rated && budget->limited.limit == NULL &&
           budget->now_us < budget->answered_us + MOMENT_US;
}

int64_t budget_last_places_us(const struct budget *budget)
{
    bool free = budget_room(budget) > 0 && budget_quota(budget) > 0;

    return free && budget_gathers(budget) ? budget->answered_us + MOMENT_US : INT64_MAX;
}

void budget_look(const struct budget *budget, struct next_call_view *view)
{
    view->places = budget_room(budget);
    view->spare = budget_gathers(budget) ? budget->max_in_flight / SPARE_PART : 0;
    view->quota = budget_quota(budget);
    view->credit = budget_credit(budget);
}

bool budget_has_room(const struct budget *budget)
{
    return budget_room(budget) > 0 && budget_quota(budget) > 0 && budget_credit(budget) > 0;
}

bool budget_waits_for_others(const struct budget *budget)
{
    return budget_own_room(budget) > 0 && budget_quota(budget) > 0 && budget_credit(budget) > 0;
}

bool budget_is_over(const struct budget *budget)
{
    return budget->unanswered > budget->max_in_flight || limit_is_over(&budget->limited);
}

void budget_begin(struct budget *budget)
{
    budget->in_flight++;
    budget->unanswered++;
    limit_count(&budget->limited, 1, 0);
}

void budget_answered(struct budget *budget)
{
    budget->unanswered--;
    budget->answered = true;
    limit_count(&budget->limited, -1, 0);
}

void budget_end(struct budget *budget)
{
    budget->in_flight--;
}

void budget_reserve(struct budget *budget, int32_t count)
{
    int64_t now;

    budget->reserved += count;
    limit_count(&budget->limited, 0, count);
    if (budget->rated) {
        now = clock_now_ms();
        limiter_use(&budget->own, count, now);
        limiter_use(&budget->share, count, now);
    }
}

void budget_unreserve(struct budget *budget, int32_t count, int32_t used)
{
    budget->reserved -= count;
    limit_count(&budget->limited, 0, -(int64_t) count);
    budget_refund(budget, used < count ? count - used : 0);
}

void budget_refund(struct budget *budget, int32_t count)
{
    limiter_return(&budget->own, count);
    limiter_return(&budget->share, count);
    limit_refund(&budget->limited, count);
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
    if (!budget->rated || budget_room(budget) <= 0 || budget_quota(budget) <= 0) {
        return -1;
    }
    return budget_credit_ms(budget);
}

bool budget_waits_long(const struct budget *budget)
{
    return budget->rated && budget_credit_ms(budget) > LONG_MS;
}

bool budget_is_used_up(const struct budget *budget)
{
    return budget->max_messages > 0 && budget->handled >= budget->max_messages;
}
