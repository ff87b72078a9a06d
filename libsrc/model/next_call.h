/* next_call.h - when the next call of a slot leaves, with how many messages, and why not earlier.
 *
 * A call that carries few messages costs Redis nearly as much as one that carries a batch.  A call
 * is therefore delayed until others can leave with it (pace.h).  If a slot has a backlog, its call
 * is delayed until it can settle one batch and claim another.  While answers come no claim is made
 * for the last few places of max_in_flight.  The sends of a producer follow the same rule.
 *
 * Pure: the state of the slot, of its worker and of the clock is passed in. */
#ifndef MODEL_NEXT_CALL_H
#define MODEL_NEXT_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NEXT_CALL_NEVER INT64_MAX

/* What is known of the messages that wait in a slot. */
enum next_call_store {
    NEXT_CALL_EMPTY,   /* there is nothing to claim until the slot is woken or looks */
    NEXT_CALL_PERHAPS, /* messages may be claimable */
    NEXT_CALL_MORE     /* the last claim hit a limit: more is claimable now */
};

enum next_call_why {
    NEXT_CALL_NOTHING, /* no call: there is nothing to settle, and nothing known to claim */
    NEXT_CALL_NOW,
    NEXT_CALL_HALF,     /* of a producer: one half leaves now, the other at `leave_at_us` */
    NEXT_CALL_TOGETHER, /* it waits until requests may leave together */
    NEXT_CALL_BUSY,    /* enough requests are in flight to a busy server: it waits until one ends */
    NEXT_CALL_IDLE,    /* nothing depends on it: it waits until another call leaves */
    NEXT_CALL_ANSWERS, /* no call: the slot is full until some of its messages are answered */
    NEXT_CALL_ROOM,    /* no call: max_in_flight or max_messages leave no room, or it is the turn of
                          slots that have waited longer for room */
    NEXT_CALL_RATE,    /* no call: a rate limit allows none yet */
    NEXT_CALL_MEMBER,  /* no call: the membership of this process is in doubt */
    NEXT_CALL_TIME,    /* no call: it looks again at a time, because an answer may come before */
    NEXT_CALLS         /* number of reasons */
};

struct next_call {
    int32_t n;   /* messages that it claims; of a producer, requests that leave */
    bool passes; /* the claim passes over keys, because the slot is full of their messages */
    bool queues; /* the slot could claim, and waits for room or for a rate limit */
    enum next_call_why why;
    int64_t leave_at_us; /* when to look again if nothing changes before; NEVER: not by time */
};

/* Times are microseconds of one clock. */
struct next_call_view {
    int64_t now_us;

    /* what may be claimed */
    enum next_call_store store;
    size_t in_flight;        /* messages of the slot that are claimed */
    size_t unanswered;       /* of these, not answered */
    int32_t batch;           /* what a claim takes at most */
    int32_t room, pass_room; /* unanswered messages that the slot may have; when it passes over
                                keys */
    int32_t per_slot;        /* its messages that are handled at once, if there are as many */
    int32_t share;           /* what a claim of a slot takes that is not known to have more */
    bool lacks_keys;         /* more keys could be handled at once than it has */
    bool doubted;    /* it is in doubt whether this process is a member, so it must not claim */
    int64_t look_us; /* when it claims though none of its messages was answered */
    int64_t pass_us; /* when a claim may pass over keys */

    /* what the worker may claim */
    int64_t places;  /* of max_in_flight that are free */
    int64_t spare;   /* a smaller claim than wanted is made only if as many places are free */
    int64_t quota;   /* what is left of max_messages */
    int64_t credit;  /* what the rate limits allow now */
    bool rate_long;  /* they allow nothing for so long that they may have been changed */
    bool contended;  /* slots wait for room */
    bool queued;     /* this one does */
    int64_t turn_us; /* when the slot last claimed while no slot waited for room */

    /* what is settled */
    size_t answers, requeued; /* answers that are not sent; those that requeue their message */
    bool must;                /* it calls although it neither claims nor settles */
    bool woken;               /* no call has begun since it was woken */
    bool ending;              /* the slot is given up: its calls do not wait */
    int64_t waits_us;         /* since when its call idles; 0: it does not */
    int64_t due_us;           /* when a message is due, or the slot looks by itself; 0: never */
    int64_t linger_us;        /* how long the call of an idle slot may wait */

    /* with what it leaves */
    bool busy;        /* enough requests are in flight to its server */
    bool gated;       /* it waits since that was so: no longer for company */
    int64_t opens_us; /* from when on requests may leave together */
    bool left;        /* a call has left in this turn: others leave with it */
    bool awaited;     /* somebody waits for all answers */

    /* of a producer, whose outboxes send together */
    int32_t sends;   /* outboxes that are ready; 0: this is no producer */
    bool urgent;     /* one of them must not wait */
    bool idle;       /* no request is in flight */
    bool halves;     /* requests may wait for each other at all */
    int callers;     /* that wait for sends which became ready since the last request left */
    int64_t rest_us; /* when the second half may leave after the first one; 0: none is halved */
};

/* The next call of a slot, or the next requests of a producer. */
struct next_call next_call_of(const struct next_call_view *view);

/* Has the worker room for a claim that would take `wanted` messages? */
bool next_call_has_room(const struct next_call_view *view, int32_t wanted);

/* Has the slot as many messages as it should claim ahead? */
bool next_call_is_full(const struct next_call_view *view);

/* Does the call wait in order to leave later, with what it has? */
bool next_call_waits(enum next_call_why why);

#endif
