/* budget.h - how many messages a consumer may claim now, by its options max_in_flight and
 * max_messages, by the limit that it shares with other consumers, by its own rate limit and by its
 * part of the topic's.
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_BUDGET_H
#define CONSUME_SLOT_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "consume/slot/limit.h"
#include "model/limiter.h"
#include "model/next_call.h"

/* Invariants: in_flight >= unanswered >= 0; `reserved` is the sum of what the consume calls in
 * progress may claim. */
struct budget {
    int32_t max_in_flight; /* unanswered deliveries at once */
    int64_t max_messages;  /* handled in all; 0: no limit */
    int64_t in_flight;     /* deliveries whose answer is not stored yet */
    int64_t unanswered, reserved;
    int64_t handled;             /* messages that a handler answered, and whose answer is stored */
    bool answered;               /* a delivery was, since the last turn began */
    int64_t now_us, answered_us; /* when the last turn began; the last one after an answer */
    struct limited limited;
    bool rated; /* there is a rate limit */
    struct limiter own, share;
};

void budget_init(struct budget *budget);

/* Messages per second; `own` 0: no limit.  `share` is this process's part of the topic's rate, if
 * share_limited is set; it is 0 while the process owns no slot. */
void budget_set_rates(struct budget *budget, int64_t own, double share, bool share_limited);

/* May a message be claimed now? */
bool budget_has_room(const struct budget *budget);

/* The most deliveries that may be unanswered at once, by max_in_flight and the shared limit. */
int32_t budget_most(const struct budget *budget);

/* Could a message be claimed, if the shared limit had room? */
bool budget_waits_for_others(const struct budget *budget);

/* Are more deliveries unanswered than may be, because a limit was lowered? */
bool budget_is_over(const struct budget *budget);

/* A turn of the consumer begins. */
void budget_begin_turn(struct budget *budget, int64_t now_us);

/* Fill the part of the view that says what the consumer may claim.  A claim should wait until there
 * is room for all that it wants, or for a quarter of max_in_flight: a smaller one costs nearly as
 * much, and leaves others as small.  It does not wait when no answer has come for a moment. */
void budget_look(const struct budget *budget, struct next_call_view *view);

/* When the last places may be claimed if no answer comes before; INT64_MAX: none is free, or that
 * is no matter of time. */
int64_t budget_last_places_us(const struct budget *budget);

/* A consume call that may claim `count` messages was sent; it has ended and claimed `used`.  A
 * repeated call keeps its first reservation. */
void budget_reserve(struct budget *budget, int32_t count);
void budget_unreserve(struct budget *budget, int32_t count, int32_t used);

/* A delivery was claimed; it was answered; its answer is stored, or it is lost. */
void budget_begin(struct budget *budget);
void budget_answered(struct budget *budget);
void budget_end(struct budget *budget);

/* `count` claimed messages are requeued and no handler has seen them. */
void budget_refund(struct budget *budget, int32_t count);

/* Milliseconds until the rate limits allow a claim; INT64_MAX: not before a rate changes; -1: not
 * the rates, but another limit forbids it. */
int64_t budget_wait_ms(const struct budget *budget);

/* Do the rate limits forbid claims for longer than the consumer may take to see that they were
 * changed? */
bool budget_waits_long(const struct budget *budget);

/* Have as many messages been handled as max_messages says? */
bool budget_is_used_up(const struct budget *budget);

#endif
