/* budget.h - how many messages a worker may claim now: what its options leave room for, and what
 * the rates of the worker and of its part of the topic allow.
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_BUDGET_H
#define CONSUME_SLOT_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "model/limiter.h"

/* Invariants: in_flight >= unanswered >= 0; reserved is the sum of what the consumes on their way
 * may bring. */
struct budget {
    int32_t max_in_flight; /* unanswered deliveries at once */
    int64_t max_messages;  /* handled in all; 0: no limit */
    int64_t in_flight;     /* deliveries whose answer is not stored yet */
    int64_t unanswered, reserved;
    int64_t handled; /* messages that a handler answered, and whose answer is stored */
    bool limited;    /* by a rate */
    struct limiter own, share;
};

void budget_init(struct budget *budget);

/* Messages a second; 0: no limit.  `share` is this process's part of the topic's rate, and may be 0
 * because it owns no slot: `share_limited`. */
void budget_set_rates(struct budget *budget, int64_t own, double share, bool share_limited);

/* How many of `wanted` messages may be claimed now. */
int32_t budget_available(const struct budget *budget, int32_t wanted);

/* A consume that may bring `count` is on its way; it has brought `used`.  For a repeated one the
 * first reservation holds. */
void budget_reserve(struct budget *budget, int32_t count);
void budget_unreserve(struct budget *budget, int32_t count, int32_t used);

/* So many that were claimed go back, and no handler has seen them. */
void budget_give_back(struct budget *budget, int32_t count);

/* After how many milliseconds a message may be claimed again as far as the rates are concerned;
 * INT64_MAX: not before a rate changes; -1: something else than a rate stands in the way. */
int64_t budget_wait_ms(const struct budget *budget);

/* Do the rates forbid a claim for longer than a change of them may take to be seen? */
bool budget_waits_long(const struct budget *budget);

/* Have as many messages been handled as max_messages says? */
bool budget_is_used_up(const struct budget *budget);

#endif
