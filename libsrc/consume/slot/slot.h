/* slot.h - one slot that this process consumes: takes it over, claims, settles, gives it up.
 *
 *   slot.c          its life: grants, revocations, ends
 *   in_flight.c     what it has in hand
 *   takeover.c      takeover and vacate
 *   consume_call.c  claim and settle, one call at a time
 *   renewal.c       leases of what is in hand
 *   damage.c        slots of which Redis has lost a part
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_SLOT_H
#define CONSUME_SLOT_SLOT_H

#include <uv.h>

#include "base/buf.h"
#include "consume/run/delivery.h"
#include "consume/run/run_queue.h"
#include "consume/slot/slot_state.h"
#include "model/token.h"
#include "redis/redis.h"
#include "store/store.h"

struct consume_call;

/* Invariants: `state` changes in strand_enter() alone; every IDLE begins a new `era`, and calls of
 * an older era count for nothing.  hand holds every delivery with in_hand; each of them is
 * unanswered, in `answers`, or in `consuming`.  A strand is freed when it is IDLE, not `granted`,
 * and neither calls nor handlers refer to it. */
struct strand {
    smq_worker *worker;
    int32_t slot;
    enum strand_state state;
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
    struct delivery_hand hand;
    size_t in_hand, unanswered;
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
    TAILQ_ENTRY(strand) link;     /* starved, or waiting for its takeover */
    struct takeovers *waits;      /* in their list of those who wait for their takeover; or NULL */
    LIST_ENTRY(strand) busy_link; /* with deliveries in hand */
    LIST_ENTRY(strand) leaving_link;
    STAILQ_ENTRY(strand) touched_link;
};

TAILQ_HEAD(strand_queue, strand);
STAILQ_HEAD(strand_batch, strand);
LIST_HEAD(strand_list, strand);

/* --- slot.c --- */

/* Coordination gave a slot to this process; or, with a zero token, a slot of a shared topic. */
void strand_grant(smq_worker *worker, int32_t slot, struct token token);

/* Coordination wants the slot back; it is told when it has it. */
void strand_revoke(struct strand *strand);

/* The worker stops: begin to give the slot up without having been told to. */
void strand_stop(struct strand *strand);

/* The slot is another's already, or nobody's: what is in hand ends as `standing`. */
void strand_drop(struct strand *strand, smq_status standing, const char *why);

/* Coordination has dropped the slot itself, and awaits no answer. */
void strand_lost(struct strand *strand, const char *why);

/* Nobody will answer what is not answered yet: do not wait for it. */
void strand_let_go(struct strand *strand);

/* The time for settling is over. */
void strand_abandon(struct strand *strand);

/* Coordination does not count on this strand any more. */
void strand_forsake(struct strand *strand);

/* The one place where a state changes. */
void strand_enter(struct strand *strand, enum strand_event event);

/* Go to IDLE by `event`. */
void strand_end(struct strand *strand, enum strand_event event, smq_status standing,
                const char *why);

/* Redis knows our token: the slot is ours. */
void strand_taken(struct strand *strand);

/* Free it if nothing refers to it any more. */
void strand_check(struct strand *strand);

/* Do what can be done now.  The strand may be gone afterwards. */
void strand_pump(struct strand *strand);

/* Call again in `ms`: consume, or repeat what failed. */
void strand_arm(struct strand *strand, int64_t ms);

/* The rest after a failed call: grows with each one in a row. */
int64_t strand_pause(struct strand *strand);

/* Frame every call on its way: the strand is not freed between them. */
void strand_call_begin(struct strand *strand);
void strand_call_end(struct strand *strand);

/* An outcome other than OK and FENCED: tell the worker what concerns it, and try again later. */
void strand_call_failed(struct strand *strand, const struct store_result *result);

/* --- damage.c --- */

/* A script refused the definition: it is read again, and the slot may be damaged. */
void strand_refused(struct strand *strand, const struct store_result *result);

/* A script took it. */
void strand_accepted(struct strand *strand);

/* --- slot.c, too --- */

/* A script refused the strand's token. */
void strand_fenced(struct strand *strand, const struct store_result *result);

/* Say that a call was refused, also one of a strand that has ended since. */
void strand_tell_fenced(const struct strand *strand);

/* --- in_flight.c: what the strand has in hand --- */

void hand_add(struct strand *strand, smq_delivery *delivery);

/* It was answered; it is still in hand until that is stored. */
void hand_answered(struct strand *strand, smq_delivery *delivery);

/* It is not in hand any more; ends the strand's references. */
void hand_remove(struct strand *strand, smq_delivery *delivery);

/* The same for what is answered. */
void hand_remove_answered(struct strand *strand, smq_delivery **deliveries, size_t count);

/* Its handler takes too long: it is answered in its place. */
void hand_overdue(struct strand *strand, smq_delivery *delivery);

/* It was answered so that it comes back: in a strict queue nothing may pass it, so what no handler
 * has begun is given back with it. */
void hand_recall_held(struct strand *strand, smq_delivery *delivery);

/* Its lease is lost; the handler is told. */
void hand_lose(struct strand *strand, smq_delivery *delivery);

/* Everything is lost. */
void hand_drop(struct strand *strand, smq_status standing);

/* Forget what is unanswered: it is delivered again when its lease is over. */
void hand_let_go(struct strand *strand);

/* Give back what no handler has begun. */
void hand_give_back_unbegun(struct strand *strand);

/* The same, and tell the others to hurry. */
void hand_release(struct strand *strand);

/* Answer what no handler will see: it goes back as if it had never been claimed. */
void hand_give_back(struct strand *strand, smq_delivery *delivery);

void strand_event(const struct strand *strand, smq_event_kind kind, smq_status status,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));
void hand_event(const struct strand *strand, smq_event_kind kind, smq_status status,
                const smq_delivery *delivery, const char *what);

/* --- takeover.c --- */
void strand_takeover(struct strand *strand);
void strand_vacate(struct strand *strand);

/* --- consume_call.c --- */

/* Settle what is answered, and claim what may be claimed; false: there is nothing to do. */
bool consume_begin(struct strand *strand);

/* Send again what failed. */
void consume_repeat(struct strand *strand);

/* The strand leaves its slot: forget the call. */
void consume_forget(struct strand *strand);

/* All claims up to `last` are known, and of the next one the messages up to `part` (copied); NULL:
 * none. */
void consume_know(struct strand *strand, uint64_t last, const struct store_known *part);

/* --- renewal.c --- */

/* Renew what is due among what the strand has in hand. */
void renewal_run(struct strand *strand, int64_t now_ms);

/* Nothing of the strand may begin before it is confirmed: ask Redis, or give back what no handler
 * has begun when the strand or the membership ends anyway. */
void renewal_confirm(struct strand *strand);

/* A call that was sent at `asked_ms` was accepted under the strand's token. */
void renewal_confirmed(struct strand *strand, int64_t asked_ms);

/* Renew one delivery, that is in hand and unanswered, for longer. */
void renewal_extend(struct strand *strand, struct extension *extension);

#endif
