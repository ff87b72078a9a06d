/* limiter.h - a rate limiter (a token bucket): how many messages a rate allows now.  What it calls
 * credits are the tokens of the bucket; a token is a fencing token in this project.
 *
 * It holds the credits of 100 ms at most, and always at least one.
 *
 * Pure: the time is passed in, and never goes back. */
#ifndef MODEL_LIMITER_H
#define MODEL_LIMITER_H

#include <stdint.h>

#define LIMITER_NONE (-1.0) /* no rate limit */

/* Invariant: 0 <= credits <= burst, as of `at_ms`, while there is a limit. */
struct limiter {
    double per_ms; /* negative: no limit */
    double burst, credits;
    int64_t at_ms;
};

/* Begin without a limit; the first limit begins with one credit. */
void limiter_init(struct limiter *limiter);

/* Allow `per_s` messages per second from now on; 0 allows none, LIMITER_NONE all.  Credits are
 * kept. */
void limiter_set(struct limiter *limiter, double per_s, int64_t now_ms);

/* How many of `wanted` messages are allowed now. */
int64_t limiter_allows(const struct limiter *limiter, int64_t wanted, int64_t now_ms);

/* Use `count` credits, no more than there are; return unused ones. */
void limiter_use(struct limiter *limiter, int64_t count, int64_t now_ms);
void limiter_return(struct limiter *limiter, int64_t count);

/* Milliseconds until a quarter of the burst is available, so that a call carries more than one
 * message; 0: now, -1: never. */
int64_t limiter_wait_ms(const struct limiter *limiter, int64_t now_ms);

#endif
