/* limit.h - how many deliveries several consumers of a client may have unanswered together, and
 * which of them claims next.
 *
 * A consumer whose slots wait for room under the limit enters a queue.  When there is room the one
 * claims that has claimed least, which is the first one of the queue.  This is its turn: until it
 * is the first one again it may claim as many messages as the limit is, in the calls that settle
 * answers, too.
 *
 * Thread: smq:io, except for making, holding and freeing a limit. */
#ifndef CONSUME_SLOT_LIMIT_H
#define CONSUME_SLOT_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <slotmq/consumer.h>

#include "base/alarms.h"
#include "core/core.h"

/* The callbacks of a limit to one of its consumers. */
struct limit_host {
    void (*turn)(void *user);    /* it is the consumer's turn to claim */
    void (*changed)(void *user); /* the limit was changed */
    void *user;
};

/* What one consumer has under a limit.  Zeroed: the consumer has no limit but its own.
 * Invariants: `queued` is true while it is in the queue; `claimed` is true when it has claimed
 * since it got its place there. */
struct limited {
    smq_limit *limit;
    struct limit_host host;
    TAILQ_ENTRY(limited) link, queue_link;
    bool joined, queued, claimed;
    int64_t served; /* messages that it has claimed, as far as they count for its place */
    int64_t left;   /* messages of its turn that it may still claim; below 0: it claimed too many */
};

TAILQ_HEAD(limited_list, limited);

/* Invariants: `unanswered` and `reserved` are the sums over all consumers; the alarm is set only
 * while a consumer is queued; the queue is in the order of `served`, but for what the consumers
 * claim and give back until their turns end. */
struct smq_limit {
    struct core *core;
    atomic_int refs;
    int32_t most;
    int64_t unanswered, reserved;
    int64_t served; /* that of the consumer which claimed last */
    struct limited_list consumers, queue;
    struct alarm alarm; /* when the first one of the queue claims */
};

/* Make a limit with one reference; it takes over one of `core`.  Thread: any. */
smq_limit *limit_new(struct core *core, int32_t most);
smq_limit *limit_ref(smq_limit *limit); /* NULL: does nothing */
void limit_unref(smq_limit *limit);     /* NULL: does nothing */

/* Change the limit, and let all consumers look at it, before the call returns.  Thread: any but
 * smq:io. */
void limit_set(smq_limit *limit, int32_t most);

/* A consumer with `limited->limit` begins or ends on the loop; without one the calls do nothing. */
void limit_join(struct limited *limited, const struct limit_host *host);
void limit_leave(struct limited *limited);

/* Places that are free; INT64_MAX: the consumer has no limit. */
int64_t limit_room(const struct limited *limited);

/* The most deliveries that the consumer may have, if its own limit is `own`. */
int32_t limit_most(const struct limited *limited, int32_t own);

/* Are more deliveries unanswered than the limit allows, because it was lowered? */
bool limit_is_over(const struct limited *limited);

/* The consumer's unanswered deliveries, or what its claims in progress may bring, have changed. */
void limit_count(struct limited *limited, int64_t unanswered, int64_t reserved);

/* As many messages that it might have claimed did not come, or are requeued. */
void limit_refund(struct limited *limited, int64_t count);

/* Do other consumers wait whose turn comes first?  And has this one claimed what its turn is worth?
 */
bool limit_is_contended(const struct limited *limited);
bool limit_is_used_up(const struct limited *limited);

/* A turn of the consumer ends.  `waits`: it could claim, and waits for room under the limit. */
void limit_turned(struct limited *limited, bool waits);

#endif
