/* owned_slot.h - one slot that this process consumes: takes it over, claims, settles, gives it up.
 *
 *   slot.c          its life: grants, revocations, ends
 *   in_flight.c     what it has in flight
 *   takeover.c      takeover and vacate
 *   consume_call.c  claim and settle, one call at a time
 *   renewal.c       leases of what is in flight
 *   damage.c        slots of which Redis has lost a part
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_OWNED_SLOT_H
#define CONSUME_SLOT_OWNED_SLOT_H

#include <uv.h>

#include "base/buf.h"
#include "consume/run/delivery.h"
#include "consume/run/run_queue.h"
#include "consume/slot/owned_state.h"
#include "model/token.h"
#include "redis/redis.h"
#include "store/store.h"

struct consume_call;

/* Invariants: `state` changes in owned_slot_enter() alone; every IDLE begins a new `era`, and calls
 * of an older era count for nothing.  in_flight holds every delivery with `in_flight`; each of them
 * is unanswered, in `answers`, or in `consuming`.  A slot is freed when it is IDLE, not `granted`,
 * and neither calls nor handlers refer to it. */
struct owned_slot {
    smq_worker *worker;
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
    bool look;           /* something may be had */
    bool woken;          /* somebody said so while a consume was on its way */
    bool recheck;        /* somebody said so, and no consume has begun since */
    bool plenty;         /* the last claim was cut short: more can be had at once */
    bool starved;        /* in the worker's list of those who wait for room */
    bool leaving;        /* in the worker's list of those who wait for their handler to return */
    bool touched;        /* in a list of those with new answers */
    bool renewing;       /* a renewal is on its way */
    bool doubted;        /* nothing of it begins until a renewal is answered */
    bool paused;         /* the slot was, when the last consume came back */
    bool refused;        /* the slot refuses the definition of its topic */
    bool damaged;        /* it still did after the definition was read again; it was told */
    uint32_t refused_at; /* worker->reads_confirmed when it refused first */
    struct run_lane lane;
    struct delivery_in_flight in_flight;
    size_t in_flight_count, unanswered;
    struct delivery_list answers;   /* to be settled */
    size_t answer_count, returning; /* of these: after which the message comes back */
    struct consume_call *consuming; /* on its way, or to be repeated; NULL: none */
    int failures;                   /* of calls, in a row */
    int64_t due_at, drain_at;       /* by clock_now_ms(); 0: never */
    int64_t turn_ms;                /* the same: when it last claimed and nobody starved */
    uv_timer_t timer;
    bool subscribed;
    struct redis_subscription subscription;
    char *channel;
    TAILQ_ENTRY(owned_slot) link; /* starved, or waiting for its takeover */
    struct takeovers *waits;      /* in their list of those who wait for their takeover; or NULL */
    LIST_ENTRY(owned_slot) busy_link; /* with deliveries in flight */
    LIST_ENTRY(owned_slot) leaving_link;
    STAILQ_ENTRY(owned_slot) touched_link;
};

TAILQ_HEAD(owned_slot_queue, owned_slot);
STAILQ_HEAD(owned_slot_batch, owned_slot);
LIST_HEAD(owned_slot_list, owned_slot);

/* --- slot.c --- */

/* Coordination gave a slot to this process; or, with a zero token, a slot of a shared topic. */
void owned_slot_grant(smq_worker *worker, int32_t number, struct token token);

/* Coordination wants the slot back; it is told when it has it. */
void owned_slot_revoke(struct owned_slot *slot);

/* The worker stops: begin to give the slot up without having been told to. */
void owned_slot_stop(struct owned_slot *slot);

/* The slot is another's already, or nobody's: what is in flight ends as `standing`. */
void owned_slot_drop(struct owned_slot *slot, smq_status standing, const char *why);

/* Coordination has dropped the slot itself, and awaits no answer. */
void owned_slot_lost(struct owned_slot *slot, const char *why);

/* Nobody will answer what is not answered yet: do not wait for it. */
void owned_slot_abandon_unanswered(struct owned_slot *slot);

/* The time for settling is over. */
void owned_slot_abandon(struct owned_slot *slot);

/* Coordination does not count on this slot any more. */
void owned_slot_detach(struct owned_slot *slot);

/* The one place where a state changes. */
void owned_slot_enter(struct owned_slot *slot, enum owned_event event);

/* Go to IDLE by `event`. */
void owned_slot_end(struct owned_slot *slot, enum owned_event event, smq_status standing,
                    const char *why);

/* Redis knows our token: the slot is ours. */
void owned_slot_taken(struct owned_slot *slot);

/* Free it if nothing refers to it any more. */
void owned_slot_check(struct owned_slot *slot);

/* Do what can be done now.  The slot may be gone afterwards. */
void owned_slot_pump(struct owned_slot *slot);

/* Call again in `ms`: consume, or repeat what failed. */
void owned_slot_arm(struct owned_slot *slot, int64_t ms);

/* The rest after a failed call: grows with each one in a row. */
int64_t owned_slot_next_backoff_ms(struct owned_slot *slot);

/* Frame every call on its way: the slot is not freed between them. */
void owned_slot_call_begin(struct owned_slot *slot);
void owned_slot_call_end(struct owned_slot *slot);

/* An outcome other than OK and FENCED: tell the worker what concerns it, and try again later. */
void owned_slot_call_failed(struct owned_slot *slot, const struct store_result *result);

/* --- damage.c --- */

/* A script refused the definition: it is read again, and the slot may be damaged. */
void damage_on_refused(struct owned_slot *slot, const struct store_result *result);

/* A script took it. */
void damage_on_accepted(struct owned_slot *slot);

/* --- slot.c, too --- */

/* A script refused the slot's token. */
void owned_slot_fenced(struct owned_slot *slot, const struct store_result *result);

/* Say that a call was refused, also one of a slot that has ended since. */
void owned_slot_tell_fenced(const struct owned_slot *slot);

/* --- in_flight.c: what the slot has in flight --- */

void in_flight_add(struct owned_slot *slot, smq_delivery *delivery);

/* It was answered; it is still in flight until that is stored. */
void in_flight_answered(struct owned_slot *slot, smq_delivery *delivery);

/* It is not in flight any more; ends the slot's references. */
void in_flight_remove(struct owned_slot *slot, smq_delivery *delivery);

/* The same for what is answered. */
void in_flight_remove_answered(struct owned_slot *slot, smq_delivery **deliveries, size_t count);

/* Its handler takes too long: it is answered in its place. */
void in_flight_overdue(struct owned_slot *slot, smq_delivery *delivery);

/* It was answered so that it comes back: in a strict queue nothing may pass it, so what no handler
 * has begun is given back with it. */
void in_flight_recall_held(struct owned_slot *slot, smq_delivery *delivery);

/* Its lease is lost; the handler is told. */
void in_flight_lose(struct owned_slot *slot, smq_delivery *delivery);

/* Everything is lost. */
void in_flight_drop(struct owned_slot *slot, smq_status standing);

/* Forget what is unanswered: it is delivered again when its lease is over. */
void in_flight_abandon_unanswered(struct owned_slot *slot);

/* Give back what no handler has begun. */
void in_flight_give_back_unbegun(struct owned_slot *slot);

/* The same, and tell the others to hurry. */
void in_flight_release(struct owned_slot *slot);

/* Answer what no handler will see: it goes back as if it had never been claimed. */
void in_flight_give_back(struct owned_slot *slot, smq_delivery *delivery);

void owned_slot_event(const struct owned_slot *slot, smq_event_kind kind, smq_status status,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));
void in_flight_event(const struct owned_slot *slot, smq_event_kind kind, smq_status status,
                     const smq_delivery *delivery, const char *what);

/* --- takeover.c --- */
void takeover_begin(struct owned_slot *slot);
void takeover_undo(struct owned_slot *slot);

/* --- consume_call.c --- */

/* Settle what is answered, and claim what may be claimed; false: there is nothing to do. */
bool consume_begin(struct owned_slot *slot);

/* Send again what failed. */
void consume_repeat(struct owned_slot *slot);

/* The slot leaves its slot: forget the call. */
void consume_forget(struct owned_slot *slot);

/* All claims up to `last` are known, and of the next one the messages up to `part` (copied); NULL:
 * none. */
void consume_know(struct owned_slot *slot, uint64_t last, const struct store_known *part);

/* --- renewal.c --- */

/* Renew what is due among what the slot has in flight. */
void renewal_run(struct owned_slot *slot, int64_t now_ms);

/* Nothing of the slot may begin before it is confirmed: ask Redis, or give back what no handler
 * has begun when the slot or the membership ends anyway. */
void renewal_confirm(struct owned_slot *slot);

/* A call that was sent at `asked_ms` was accepted under the slot's token. */
void renewal_confirmed(struct owned_slot *slot, int64_t asked_ms);

/* Renew one delivery, that is in flight and unanswered, for longer. */
void renewal_extend(struct owned_slot *slot, struct extension *extension);

#endif
