/* outbox.h - the sends of one slot, which wait until the request before them has ended, and for a
 * back-off after a failure.
 *
 * An outbox has at most one request in flight; sends that are added in the meantime go with the
 * next request.
 *
 * Thread: smq:io. */
#ifndef PRODUCE_OUTBOX_H
#define PRODUCE_OUTBOX_H

#include "model/gate.h"
#include "model/next_call.h"
#include "model/pace.h"
#include "produce/send_request.h"

struct outbox_topic;

/* READY waits for the end of the loop's turn; GATED waits until its server has time for another
 * request; BACKING_OFF waits until `resume_ms` after a failure. */
enum outbox_state {
    OUTBOX_EMPTY,
    OUTBOX_READY,
    OUTBOX_GATED,
    OUTBOX_IN_FLIGHT,
    OUTBOX_BACKING_OFF,
    OUTBOX_STATES
};

/* May an outbox go from `from` to `to`?  Pure. */
bool outbox_may(enum outbox_state from, enum outbox_state to);

/* Invariants: EMPTY has no queue; READY and BACKING_OFF have one and are in the list of that name;
 * GATED has one and waits at its gate; IN_FLIGHT has one request, and may have a queue behind
 * it. */
struct outbox {
    TAILQ_ENTRY(outbox) link; /* READY, BACKING_OFF */
    struct outbox_set *set;
    struct outbox_topic *topic;
    struct send_list queue;
    enum outbox_state state;
    int32_t slot;
    int32_t hash_slot;
    struct gate *gate; /* that of the last request */
    struct gate_waiter waiter;
    size_t added;       /* sends in the queue since its last request; enough not to wait, if
                           that request had no room for all */
    int64_t flushed_us; /* when that request left */
    int failures;       /* consecutive failures */
    int64_t resume_ms;  /* no request is sent before this time */
    char *why;          /* the cause of the last failure; NULL: none */
};
TAILQ_HEAD(outbox_list, outbox);

/* What the outboxes of one producer share. */
struct outbox_set {
    struct send_sink sink;
    struct send_requests requests;
    struct outbox_list ready, backing_off;
    int32_t ready_count, gated_count;
    struct gates gates;
    struct pace pace;
    int64_t now_us;    /* when this turn began to send */
    uint64_t flush_to; /* sends up to this number are flushed: they must not wait */
    bool urgent;       /* a READY outbox must not wait */
    int callers;       /* that wait for sends which became READY since the last flush */
    int64_t rest_us;   /* one half of a flush has left, and the other may leave at this time;
                          0: none is halved */
    int64_t wake_ms;   /* when the turn has to be called; INT64_MAX: never */
};

/* Have the turn called at this time, by clock_now_ms(), or earlier. */
void outbox_set_wake_at(struct outbox_set *set, int64_t ms);

/* How many of the READY outboxes may send at `now_us`, the first ones first, and when may the
 * others, unless a reply comes before?  There is one at least.  The call notes that a half leaves,
 * so as many must be sent. */
struct next_call outbox_set_next(struct outbox_set *set);

/* All that was READY has left. */
void outbox_set_flushed(struct outbox_set *set);

/* May the READY or GATED outbox send now?  If not it waits at its gate. */
bool outbox_may_leave(struct outbox *outbox);

/* The outbox that has waited longest at a gate with places; NULL: there is none. */
struct outbox *outbox_set_gated(struct outbox_set *set);

/* How long to wait after this many consecutive failures. */
int64_t outbox_backoff_ms(int failures);

struct outbox *outbox_new(struct outbox_set *set, struct outbox_topic *topic, int32_t slot,
                          int32_t hash_slot);

/* Precondition: the queue is empty. */
void outbox_free(struct outbox *outbox);

/* Add a send behind the others. */
void outbox_add(struct outbox *outbox, struct send *send);

/* The request that was in flight has ended, `replied`: Redis has replied to it. */
void outbox_answered(struct outbox *outbox, bool replied);

/* Enter the state that fits the queue, now that no request of it is in flight. */
void outbox_settle(struct outbox *outbox);

/* Send the head of the queue of a READY or GATED outbox, at `now_us` of its set; `topic` is its
 * definition.
 */
void outbox_begin(struct outbox *outbox, const struct topic *topic);

/* Count a failure and begin the back-off after it; `why` is for people. */
void outbox_failed(struct outbox *outbox, const char *why);

/* Clear the failures and the back-off, so that the next request is sent at once. */
void outbox_reset_backoff(struct outbox *outbox);

/* End the sends at the head of the queue whose deadline has passed. */
void outbox_expire(struct outbox *outbox, int64_t now_ms);

/* Move the whole queue to the end of `list`. */
void outbox_empty_into(struct outbox *outbox, struct send_list *list);

#endif
