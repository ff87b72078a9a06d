/* owned_slot.h - one slot that this process consumes: its state, its alarm and its lists.
 *
 *   slot_set.h      what the slots of one topic share
 *   owned_slot.c    the parts of a slot that all others use
 *   in_flight.c     its deliveries, from their claim until their answer is stored
 *   ordinary.c      whether its next consume call is an ordinary one
 *   damage.c        slots of which Redis has lost a part
 *   takeover.c      taking a slot over in Redis, and leaving it
 *   renewal.c       the leases of its deliveries
 *   ticking.c       its schedules
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

#include "base/alarms.h"
#include "base/buf.h"
#include "consume/run/delivery.h"
#include "consume/run/scheduler.h"
#include "consume/slot/ordinary.h"
#include "consume/slot/owned_state.h"
#include "consume/slot/sleep.h"
#include "consume/slot/slot_set.h"
#include "model/call_wait.h"
#include "model/gate.h"
#include "model/next_call.h"
#include "model/token.h"
#include "redis/redis.h"
#include "store/consume.h"

struct consume_call;
struct shared_probe;

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

/* What has come since the last consume call began. */
enum owned_notice {
    OWNED_UNNOTICED,
    OWNED_NOTICED,  /* a notice */
    OWNED_OWES_CALL /* a notice to this process alone, or it looks in a shared topic: it must call
                     */
};

/* Invariants: `state` changes in owned_slot_enter() alone.  Each time the slot becomes IDLE a new
 * `era` begins, and calls of an older era are ignored.  `in_flight` holds every delivery whose
 * in_flight is set; each of them is unanswered, in `answers` or in `consuming`.  A slot is freed
 * when it is IDLE, not granted, and no call and no handler refers to it.  Times that end in _us are
 * by clock_now_us(), those that end in _ms by clock_now_ms(). */
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
        int64_t asked_ms;   /* when that call was sent */
    } push;                 /* since the takeover */
    struct ordinary ordinary;
    uint32_t era;
    uint32_t calls; /* in progress */
    enum owned_grant grant;
    enum owned_health health;
    enum owned_sleep sleep;
    int64_t known_due_ms; /* by the clock of Redis: what is due then needs no notice; -1: nothing */
    enum owned_notice notice;
    enum next_call_store store;      /* what is known of the messages that wait */
    struct next_call next;           /* as it was decided last */
    struct call_wait wait;           /* until the next call */
    int64_t waits_us;                /* since when its call idles; 0: it does not */
    int64_t look_us;                 /* when it claims though none of its messages was answered;
                                        NEXT_CALL_NEVER: when it is woken */
    int64_t pass_us;                 /* when a claim may pass over keys */
    int64_t turn_us;                 /* when it last claimed while no slot was throttled */
    bool renewing;                   /* a renewal is in progress */
    bool unconfirmed;                /* no handler begins until Redis has replied to a renewal */
    bool paused;                     /* the slot was paused at its last consume call */
    struct owned_definition asked;   /* that of the last call */
    struct owned_definition refused; /* unless it is WHOLE: what it has refused */
    uint32_t refused_at;             /* set->reads_confirmed at the first refusal of that */
    struct run_queue run_queue;
    struct delivery_in_flight in_flight;
    size_t in_flight_count, unanswered;
    struct delivery_list answers;       /* to be settled */
    size_t answer_count, requeue_count; /* `requeue_count` of the answers requeue their message */
    struct consume_call *consuming;     /* in progress, or to be repeated; NULL: none */
    int failures;                       /* consecutive failed calls */
    int64_t replicas_until; /* ACQUIRING: how long replicas are waited for; 0: not yet */
    int64_t due_us;         /* when it looks, or repeats a failed call; 0: never */
    int64_t tick_us; /* when the first of its schedules is due; 0: none is, or it is unknown */
    int64_t tick_again_us; /* what was due made no tick: when it is tried again; 0: it made one */
    bool tick_for_room;    /* because the slot was full: also when there is room */
    bool ticking;          /* ticks are being made */
    int64_t drain_us;      /* STOPPING: when it is given up with what is not settled; 0: never */
    int64_t claimed_us;    /* when its last messages came; 0: none yet */
    int64_t apart_us;      /* how far its messages come apart: the last times weigh most */
    struct alarm
        alarm; /* at the first of due_us, tick_us, drain_us and the time of the next call */
    struct redis_subscription subscription; /* while it is ACTIVE */
    char *channel;
    struct {
        struct redis_subscription subscription;
        char *channel;                /* of this process alone */
        uint64_t asleep;              /* processes that sleep in the slot, as far as it is known */
        bool backup;                  /* another process looks before this one does */
        struct shared_probe *probing; /* it reads who sleeps; NULL: it does not */
        int64_t told_us; /* when this process was told to look, whatever the reply to the call or
                            read in progress says; 0: it was not told */
        bool told_backup;
    } shared;                  /* of a shared topic: shared.c */
    struct gate_waiter waiter; /* while its call waits for a busy server */
    enum slot_place place;
    TAILQ_ENTRY(owned_slot) place_link;
    struct owned_slot_queue *queue; /* that of throttled slots, or one for takeovers, in which it
                                       waits; NULL: none */
    TAILQ_ENTRY(owned_slot) queue_link;
    LIST_ENTRY(owned_slot) busy_link; /* in the list of slots with deliveries in flight */
    LIST_ENTRY(owned_slot)
    leaving_link; /* in the list of slots that wait for a handler to return;
                     its le_prev is NULL: in none */
};

/* Make an IDLE slot of the set; ring() is called when one of its times is reached. */
struct owned_slot *owned_slot_new(struct slot_set *set, int32_t number,
                                  void (*ring)(struct alarm *alarm));

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

/* Set the alarm to the first of the slot's times. */
void owned_slot_set_alarm(struct owned_slot *slot);

/* Set due_us to `ms` from now. */
void owned_slot_arm(struct owned_slot *slot, int64_t ms);

/* Messages were claimed, so others may be claimable a moment later; look then, if no answer
 * comes before. */
void owned_slot_look_later(struct owned_slot *slot);

/* Messages may be claimable. */
void owned_slot_may_claim(struct owned_slot *slot);

/* The same, and the slot looks: it acts in this turn. */
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

/* That of the server that it calls. */
struct gate *owned_slot_gate(const struct owned_slot *slot);

/* Its call waits there behind the others, or where it waits already; it needs no place, or has
 * left. */
void owned_slot_wait_at_gate(struct owned_slot *slot);
void owned_slot_leave_gate(struct owned_slot *slot);

/* The call of the slot waits no more, and is decided anew. */
void owned_slot_end_waiting(struct owned_slot *slot);

/* Wait in this queue; wait in none. */
void owned_slot_queue(struct owned_slot *slot, struct owned_slot_queue *queue);
void owned_slot_unqueue(struct owned_slot *slot);

/* Count and report that Redis refused a call, also one of a former era. */
void owned_slot_report_fenced(const struct owned_slot *slot);

void owned_slot_event(const struct owned_slot *slot, smq_event_kind kind, smq_status status,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
