/* limiter.c - a rate limiter (a token bucket; its tokens are called credits here).
 *
 * Pure. */
#include "model/limiter.h"

enum { BURST_MS = 100, WAIT_PARTS = 4 };

static double limiter_at_least_one(double credits)
{
    return credits > 1 ? credits : 1;
}

/* The credits at `now_ms`. */
static double limiter_credits_at(const struct limiter *limiter, int64_t now_ms)
{
    double credits = limiter->credits + (double) (now_ms - limiter->at_ms) * limiter->per_ms;

    return credits < limiter->burst ? credits : limiter->burst;
}

void limiter_init(struct limiter *limiter)
{
    *limiter = (struct limiter){.per_ms = LIMITER_NONE, .burst = 1, .credits = 1};
}

void limiter_set(struct limiter *limiter, double per_s, int64_t now_ms)
{
    double credits = limiter->per_ms < 0 ? 1 : limiter_credits_at(limiter, now_ms);

    limiter->per_ms = per_s / 1000;
    limiter->burst = limiter_at_least_one(limiter->per_ms * BURST_MS);
    limiter->credits = credits < limiter->burst ? credits : limiter->burst;
    limiter->at_ms = now_ms;
}

int64_t limiter_allows(const struct limiter *limiter, int64_t wanted, int64_t now_ms)
{
    double credits;

    if (limiter->per_ms < 0) {
        return wanted;
    }
    credits = limiter_credits_at(limiter, now_ms);
    return credits < (double) wanted ? (int64_t) credits : wanted;
}

void limiter_use(struct limiter *limiter, int64_t count, int64_t now_ms)
{
    if (limiter->per_ms >= 0) {
        limiter->credits = limiter_credits_at(limiter, now_ms) - (double) count;
        limiter->at_ms = now_ms;
    }
}

void limiter_return(struct limiter *limiter, int64_t count)
{
    double credits = limiter->credits + (double) count;

    if (limiter->per_ms >= 0) {
        limiter->credits = credits < limiter->burst ? credits : limiter->burst;
    }
}

int64_t limiter_wait_ms(const struct limiter *limiter, int64_t now_ms)
{
    double missing =
        limiter_at_least_one(limiter->burst / WAIT_PARTS) - limiter_credits_at(limiter, now_ms);

    if (limiter->per_ms < 0 || missing <= 0) {
        return 0;
    }
    return limiter->per_ms > 0 ? (int64_t) (missing / limiter->per_ms) + 1 : -1;
}
