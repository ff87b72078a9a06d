/* owned_slot.h - one slot that this process consumes: what it knows, its state, its timer.
 *
 *   slot_set.h      what the slots of one topic share
 *   owned_slot.c    the parts of a slot that all others use
 *   in_flight.c     its deliveries, from their claim until their answer is stored
 *   damage.c        slots of which Redis has lost a part
 *   takeover.c      taking it over in Redis, and leaving it
 *   renewal.c       the leases of its deliveries
 *   consume_call.c  claiming and settling, one call at a time
 *   slot_life.c     what it does next: grants, revocations, ended calls
 *   slot_turn.c     all slots that have changed are looked at
 *
 * Each of them calls those above it only.
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_OWNED_SLOT_H
#define CONSUME_SLOT_OWNED_SLOT_H

#include <uv.h>

#include "base/buf.h"
#include "consume/run/delivery.h"
#include "consume/run/run_queue.h"
#include "consume/slot/owned_state.h"
#include "consume/slot/slot_set.h"
#include "model/token.h"
#include "redis/redis.h"
#include "store/store.h"

struct consume_call;

/* Invariants: `state` changes in owned_slot_enter() alone; every IDLE begins a new `era`, and calls
 * of an older era count for nothing.  in_flight holds every delivery with `in_flight`; each of them
 * is unanswered, in `answers`, or in `consuming`.  A slot is freed when it is IDLE, not `granted`,
 * and neither calls nor handlers refer to it. */
struct owned_slot {
    struct slot_set *set;
    int32_t number;
    enum owned_state state;
    struct token token;
    uint64_t last; /* highest claim number of which all is known */
    struct {
        struct buf entry; /* empty: nothing */
        struct attempts attempts;
    } part; /* of the claim behind `last`, all up to this message is known */
    uint32_t era;
    uint32_t calls;      /* on their way */
    bool granted;        /* coordination believes that the slot is ours */
    bool revoked;        /* coordination waits for coord_released() */
    bool look;           /* messages may be claimable */
    bool woken;          /* the slot was woken while a consume was on its way */
    bool recheck;        /* the slot was woken, and no consume was started since */
    bool plenty;         /* the last claim hit a limit: more is claimable now */
    bool starved;        /* in the set's list of slots that wait for room */
    bool leaving;        /* in the set's list of slots that wait for a handler to return */
    bool changed;        /* in the set's list of slots to be looked at in this turn */
    bool renewing;       /* a renewal is on its way */
    bool doubted;        /* nothing of it begins until a renewal is answered */
    bool paused;         /* the slot was, when the last consume came back */
    bool refused;        /* the slot refuses the definition of its topic */
    bool damaged;        /* it still did after the definition was read again; that was reported */
    uint32_t refused_at; /* set->reads_confirmed when it refused first */
    struct run_lane lane;
    struct delivery_in_flight in_flight;
    size_t in_flight_count, unanswered;
    struct delivery_list answers;   /* to be settled */
    size_t answer_count, returning; /* of these: after which the message is requeued */
    struct consume_call *consuming; /* on its way, or to be repeated; NULL: none */
    int failures;                   /* of calls, in a row */
    int64_t due_at, drain_at;       /* by clock_now_ms(); 0: never */
    int64_t turn_ms;                /* the same: when it last claimed and no slot was starved */
    uv_timer_t timer;
    uv_timer_cb on_timer;
    bool subscribed;
    struct redis_subscription subscription;
    char *channel;
    TAILQ_ENTRY(owned_slot) link; /* starved, or waiting for its takeover */
    struct takeovers *waits;      /* in their list of those who wait for their takeover; or NULL */
    LIST_ENTRY(owned_slot) busy_link; /* with deliveries in flight */
    LIST_ENTRY(owned_slot) leaving_link;
    STAILQ_ENTRY(owned_slot) changed_link;
};

/* Make an IDLE slot of the set; on_timer() is called when due_at or drain_at is reached. */
struct owned_slot *owned_slot_new(struct slot_set *set, int32_t number, uv_timer_cb on_timer);

/* Free it if nothing refers to it any more.  Called by the turn only. */
void owned_slot_free_if_unused(struct owned_slot *slot);

/* The slot that has this delivery in flight. */
struct owned_slot *owned_slot_of(const smq_delivery *delivery);

/* The one place where a state changes. */
void owned_slot_enter(struct owned_slot *slot, enum owned_event event);

/* Is it ours by a token, in this state? */
bool owned_slot_is_exclusive(const struct owned_slot *slot, enum owned_state state);

/* All claims up to `last` are known, and of the next one the messages up to `part` (copied); NULL:
 * none. */
void owned_slot_know(struct owned_slot *slot, uint64_t last, const struct store_known *part);

/* Look at it in this turn. */
void owned_slot_changed(struct owned_slot *slot);

/* Set the timer by due_at and drain_at; have it run in `ms`. */
void owned_slot_set_timer(struct owned_slot *slot);
void owned_slot_arm(struct owned_slot *slot, int64_t ms);

/* The back-off after a failed call, which it counts: grows with each one in a row. */
int64_t owned_slot_next_backoff_ms(struct owned_slot *slot);

/* Frame every call on its way: the slot is not freed between them. */
void owned_slot_call_begin(struct owned_slot *slot);
void owned_slot_call_end(struct owned_slot *slot);

/* Be looked at whenever a handler returns, or not any more. */
void owned_slot_watch_handlers(struct owned_slot *slot);
void owned_slot_unwatch_handlers(struct owned_slot *slot);

/* It waits neither for room nor for its takeover any more. */
void owned_slot_leave_queues(struct owned_slot *slot);

/* Count and report that a call was refused, also one of an era that is over. */
void owned_slot_tell_fenced(const struct owned_slot *slot);

void owned_slot_event(const struct owned_slot *slot, smq_event_kind kind, smq_status status,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
