/* owned_slot.h - one slot that this process consumes: its state, its timer and its lists.
 *
 *   slot_set.h      what the slots of one topic share
 *   owned_slot.c    the parts of a slot that all others use
 *   in_flight.c     its deliveries, from their claim until their answer is stored
 *   damage.c        slots of which Redis has lost a part
 *   takeover.c      taking a slot over in Redis, and leaving it
 *   renewal.c       the leases of its deliveries
 *   consume_call.c  claiming and settling, one call at a time
 *   push.c          messages that a send has claimed for it
 *   shared.c        when it looks, if the topic is shared
 *   slot_life.c     what a slot does next: grants, revocations, ended calls
 *   slot_turn.c     the turn, in which all changed slots act
 *
 * Each of them calls only those above it.
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_OWNED_SLOT_H
#define CONSUME_SLOT_OWNED_SLOT_H

#include <uv.h>

#include "base/buf.h"
#include "consume/run/delivery.h"
#include "consume/run/run_queue.h"
#include "consume/slot/owned_state.h"
#include "consume/slot/sleep.h"
#include "consume/slot/slot_set.h"
#include "model/token.h"
#include "redis/redis.h"
#include "store/store.h"

struct consume_call;

/* What coordination believes. */
enum owned_grant {
    OWNED_GRANT_NONE,
    OWNED_GRANT_HELD,   /* this process owns the slot */
    OWNED_GRANT_REVOKED /* this process owns it, and coordination waits for its release */
};

enum owned_health {
    OWNED_WHOLE,
    OWNED_REFUSING, /* the slot refuses the definition of its topic */
    OWNED_DAMAGED   /* it refuses one that was read again and again; this was reported */
};

/* What tells one definition of a creation from another. */
struct owned_definition {
    uint32_t version, deletes;
};

#define OWNED_LOOK_WOKEN INT64_MAX

/* Invariants: `state` changes in owned_slot_enter() alone.  Each time the slot becomes IDLE a new
 * `era` begins, and calls of an older era are ignored.  `in_flight` holds every delivery whose
 * in_flight is set; each of them is unanswered, in `answers` or in `consuming`.  A slot is freed
 * when it is IDLE, not granted, and no call and no handler refers to it. */
struct owned_slot {
    struct slot_set *set;
    int32_t number;
    enum owned_state state;
    struct token token;
    uint64_t last; /* the messages of all claims up to this number are known */
    uint64_t kept; /* the oldest claim of which a message is not in flight, and stays claimed until
                      the next takeover; 0: none */
    struct {
        struct buf entry; /* empty: none */
        struct attempts attempts;
    } part; /* of the claim after `last` the messages up to this one are known */
    struct {
        bool open;          /* sends may claim for this owner, for all it knows */
        int64_t newest_ms;  /* Redis' time in the newest push that was accepted; 0: none */
        int64_t replied_ms; /* Redis' time in the last reply to a consume call; 0: none yet */
        int64_t asked_ms;   /* when that call was sent, by clock_now_ms() */
    } push;                 /* since the takeover */
    uint32_t era;
    uint32_t calls; /* in progress */
    enum owned_grant grant;
    enum owned_health health;
    enum owned_sleep sleep;
    bool claimable;      /* messages may be claimable */
    bool woken;          /* the slot was woken during a consume call */
    bool recheck;        /* the slot was woken, and no consume call was started since */
    bool more_available; /* the last claim hit a limit: more is claimable now */
    int64_t look_ms;     /* by key: when it claims though none of its messages was answered, by
                            clock_now_ms(); OWNED_LOOK_WOKEN: when it is woken */
    int64_t pass_ms;     /* by key: when a claim may pass over keys, by clock_now_ms() */
    bool starved;        /* in the set's list of slots that wait for room */
    bool leaving;        /* in the set's list of slots that wait for a handler to return */
    bool changed;        /* in the set's list of slots that changed in this turn */
    bool gathered;       /* in the set's list of slots that wait for others */
    bool filling;        /* in the set's list of slots that wait for more answers */
    bool lingering;      /* in the set's list of slots whose calls are not urgent */
    bool renewing;       /* a renewal is in progress */
    bool unconfirmed;    /* no handler begins until Redis has replied to a renewal */
    bool paused;         /* the slot was paused at its last consume call */
    struct owned_definition asked;   /* that of the last call */
    struct owned_definition refused; /* unless it is WHOLE: what it has refused */
    uint32_t refused_at;             /* set->reads_confirmed at the first refusal of that */
    struct run_lane lane;
    struct delivery_in_flight in_flight;
    size_t in_flight_count, unanswered;
    struct delivery_list answers;       /* to be settled */
    size_t answer_count, requeue_count; /* `requeue_count` of the answers requeue their message */
    struct consume_call *consuming;     /* in progress, or to be repeated; NULL: none */
    int failures;                       /* consecutive failed calls */
    int64_t replicas_until;   /* ACQUIRING: how long replicas are waited for; 0: not yet */
    int64_t due_at, drain_at; /* by clock_now_ms(); 0: never */
    int64_t turn_ms;          /* when it last claimed while no slot was starved */
    int64_t filling_us;       /* since when it waits for more answers, by clock_now_us(); 0: it has
                                 not begun to */
    int64_t linger_us;        /* until when its answers may wait, by clock_now_us(); 0: they have
                                 not begun to */
    int64_t claimed_us;       /* when its last messages came, by clock_now_us(); 0: none yet */
    int64_t apart_us;         /* how far its messages come apart: the last times weigh most */
    uv_timer_t timer;
    uv_timer_cb on_timer;
    bool subscribed;
    struct redis_subscription subscription;
    char *channel;
    struct {
        struct redis_subscription subscription;
        char *channel;   /* of this process alone */
        bool owes_call;  /* it was woken, or looks, and no consume call was started since */
        uint64_t asleep; /* processes that sleep in the slot, as far as it is known */
        bool backup;     /* another process looks before this one does */
        bool probing;    /* it reads who sleeps */
        int64_t told_at; /* by clock_now_ms(): when this process was told to look, whatever the
                            reply to the call or read in progress says; 0: it was not told */
        bool told_backup;
    } shared; /* of a shared topic: shared.c */
    TAILQ_ENTRY(owned_slot)
    link; /* in the list of starved slots, or of those that wait for their takeover */
    struct takeovers *waits;          /* the takeovers in whose list it waits; or NULL */
    LIST_ENTRY(owned_slot) busy_link; /* in the list of slots with deliveries in flight */
    LIST_ENTRY(owned_slot) leaving_link;
    STAILQ_ENTRY(owned_slot) changed_link;
    TAILQ_ENTRY(owned_slot) gathered_link;
    TAILQ_ENTRY(owned_slot) filling_link;
    TAILQ_ENTRY(owned_slot) lingering_link;
};

/* Make an IDLE slot of the set; on_timer() is called when due_at or drain_at is reached. */
struct owned_slot *owned_slot_new(struct slot_set *set, int32_t number, uv_timer_cb on_timer);

/* Free the slot if nothing refers to it any more.  Only the turn calls this. */
void owned_slot_free_if_unused(struct owned_slot *slot);

/* The slot that has this delivery in flight. */
struct owned_slot *owned_slot_of(const smq_delivery *delivery);

/* Change the state; no other function does. */
void owned_slot_enter(struct owned_slot *slot, enum owned_event event);

/* Is the slot in this state, and owned by a token (not shared)? */
bool owned_slot_is_exclusive(const struct owned_slot *slot, enum owned_state state);

/* Note that all claims up to `last` are known, and of the next claim the messages up to `part`,
 * which is copied; NULL: none. */
void owned_slot_know(struct owned_slot *slot, uint64_t last, const struct store_known *part);

/* Sends may push into the slot, or not: the one place where push.open changes. */
void owned_slot_set_open(struct owned_slot *slot, bool open);

/* The slot was taken over: nothing is known of pushes. */
void owned_slot_forget_pushes(struct owned_slot *slot);

/* Mark the slot as changed: it acts in this turn. */
void owned_slot_changed(struct owned_slot *slot);

/* Set the timer to due_at or drain_at, whichever is earlier; or to `ms` from now. */
void owned_slot_set_timer(struct owned_slot *slot);
void owned_slot_arm(struct owned_slot *slot, int64_t ms);

/* By key: messages were claimed, so others may be claimable a moment later; look then, if no answer
 * comes before. */
void owned_slot_look_later(struct owned_slot *slot);

/* The slot may have something to claim. */
void owned_slot_look(struct owned_slot *slot);

/* Count a failed call, and return the back-off after it, which grows with each consecutive
 * failure. */
int64_t owned_slot_next_backoff_ms(struct owned_slot *slot);

/* Called before and after every call to Redis: the slot is not freed between them. */
void owned_slot_call_begin(struct owned_slot *slot);
void owned_slot_call_end(struct owned_slot *slot);

/* Mark the slot as changed whenever a handler returns, or stop that. */
void owned_slot_watch_handlers(struct owned_slot *slot);
void owned_slot_unwatch_handlers(struct owned_slot *slot);

/* The slot waits neither for more answers nor for the calls of others any more, and may do so
 * again. */
void owned_slot_end_waiting(struct owned_slot *slot);

/* The slot waits neither for room in the budget, nor for its takeover, nor for more answers any
 * more. */
void owned_slot_leave_queues(struct owned_slot *slot);

/* Count and report that Redis refused a call, also one of a former era. */
void owned_slot_report_fenced(const struct owned_slot *slot);

void owned_slot_event(const struct owned_slot *slot, smq_event_kind kind, smq_status status,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
