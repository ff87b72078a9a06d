/* limiter.c - a token bucket.
 *
 * Pure. */
#include "model/limiter.h"

enum { BURST_MS = 100, WAIT_PARTS = 4 };

static double limiter_at_least_one(double tokens)
{
    return tokens > 1 ? tokens : 1;
}

/* The tokens that are there at `now_ms`. */
static double limiter_tokens_at(const struct limiter *limiter, int64_t now_ms)
{
    double tokens = limiter->tokens + (double) (now_ms - limiter->at_ms) * limiter->per_ms;

    return tokens < limiter->burst ? tokens : limiter->burst;
}

void limiter_init(struct limiter *limiter)
{
    *limiter = (struct limiter){.per_ms = LIMITER_NONE, .burst = 1, .tokens = 1};
}

void limiter_set(struct limiter *limiter, double per_s, int64_t now_ms)
{
    double tokens = limiter->per_ms < 0 ? 1 : limiter_tokens_at(limiter, now_ms);

    limiter->per_ms = per_s / 1000;
    limiter->burst = limiter_at_least_one(limiter->per_ms * BURST_MS);
    limiter->tokens = tokens < limiter->burst ? tokens : limiter->burst;
    limiter->at_ms = now_ms;
}

int64_t limiter_allows(const struct limiter *limiter, int64_t wish, int64_t now_ms)
{
    double tokens;

    if (limiter->per_ms < 0) {
        return wish;
    }
    tokens = limiter_tokens_at(limiter, now_ms);
    return tokens < (double) wish ? (int64_t) tokens : wish;
}

void limiter_take(struct limiter *limiter, int64_t count, int64_t now_ms)
{
    if (limiter->per_ms >= 0) {
        limiter->tokens = limiter_tokens_at(limiter, now_ms) - (double) count;
        limiter->at_ms = now_ms;
    }
}

void limiter_return(struct limiter *limiter, int64_t count)
{
    double tokens = limiter->tokens + (double) count;

    if (limiter->per_ms >= 0) {
        limiter->tokens = tokens < limiter->burst ? tokens : limiter->burst;
    }
}

int64_t limiter_wait_ms(const struct limiter *limiter, int64_t now_ms)
{
    double missing =
        limiter_at_least_one(limiter->burst / WAIT_PARTS) - limiter_tokens_at(limiter, now_ms);

    if (limiter->per_ms < 0 || missing <= 0) {
        return 0;
    }
    return limiter->per_ms > 0 ? (int64_t) (missing / limiter->per_ms) + 1 : -1;
}
