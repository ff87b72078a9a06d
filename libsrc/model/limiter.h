/* limiter.h - a token bucket: how many messages a rate allows by now.
 *
 * It holds what comes in 100 ms, at least one token.
 *
 * Pure: the time is passed in, and never goes back. */
#ifndef MODEL_LIMITER_H
#define MODEL_LIMITER_H

#include <stdint.h>

#define LIMITER_NONE (-1.0) /* a rate without limit */

/* Invariant: 0 <= tokens <= burst, as of `at_ms`, while there is a limit. */
struct limiter {
    double per_ms; /* negative: no limit */
    double burst, tokens;
    int64_t at_ms;
};

/* Without limit; the first limit begins with one token. */
void limiter_init(struct limiter *limiter);

/* From now on `per_s` a second: 0 for nothing, LIMITER_NONE for all.  Tokens stay. */
void limiter_set(struct limiter *limiter, double per_s, int64_t now_ms);

/* How many of `wish` there are tokens for. */
int64_t limiter_allows(const struct limiter *limiter, int64_t wish, int64_t now_ms);

/* Take `count` tokens, no more than are there; give back those that were not used. */
void limiter_take(struct limiter *limiter, int64_t count, int64_t now_ms);
void limiter_return(struct limiter *limiter, int64_t count);

/* How long to wait for a quarter of the burst, so that calls carry more than one message: 0, or
 * -1 for ever. */
int64_t limiter_wait_ms(const struct limiter *limiter, int64_t now_ms);

#endif
