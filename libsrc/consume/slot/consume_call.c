/* consume_call.c - see consume_call.h.
 *
 * Thread: smq:io. */
#include "consume/slot/consume_call.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "consume/slot/claiming.h"
#include "consume/slot/damage.h"
#include "consume/slot/in_flight.h"
#include "consume/slot/renewal.h"
#include "consume/slot/shared.h"
#include "consume/slot/sleep.h"
#include "consume/slot/ticking.h"

enum { CLAIM_BYTES_MAX = 1048576 };

/* Invariant: the deliveries in `settling` are in flight in their slot, unless the call is of a
 * former era. */
struct consume_call {
    struct store_call call;
    struct owned_slot *slot;
    struct store_slot target;
    uint32_t era;
    int32_t n;
    struct buf passes;    /* keys that the claim passes over; it has `n` or is empty */
    uint64_t last, known; /* the newest claims that were known when it began, and when its reply
                             came */
    struct gate *gate;    /* through which it left */
    int64_t left_us;      /* when */
    bool open;            /* if it leaves the slot parked, sends may claim for this owner */
    bool requeues;        /* some of its answers requeue their message */
    bool buries;          /* some of its answers make dead letters */
    bool suspects;        /* it has claimed one */
    bool sent;            /* in progress */
    bool woken;           /* a message has come in the meantime, which the reply may not know */
    bool repeated;        /* an earlier try may have been executed */
    int64_t flushed_us;   /* when it left together with those of other slots */
    int64_t waited_us[CALL_WAITS]; /* each message that it claims */
    int64_t sent_ms, lease_ms;
    size_t count;
    smq_delivery **settling;
    struct store_answer *answers;
};

static void consume_on_reply(struct store_call *call, const struct store_result *result);

/* What is in flight is unanswered, answered, or in the call. */
static void consume_check(const struct owned_slot *slot)
{
    size_t settling = slot->consuming != NULL ? slot->consuming->count : 0;

    for (size_t i = 0; i < settling; i++) {
        assert(slot->consuming->settling[i]->in_flight);
    }
    assert(slot->in_flight_count == slot->unanswered + slot->answer_count + settling);
}

/* --- the call --- */

bool consume_would_overtake(const struct owned_slot *slot)
{
    bool requeues =
        slot->requeue_count > 0 || (slot->consuming != NULL && slot->consuming->requeues);

    return requeues && slot_set_is_strict(slot->set);
}

/* Must the call not claim?  In strict fifo it must not while answers are left that requeue
 * messages, because their group did not fit into it.  If its own answers requeue some while the
 * slot is open for pushes, it claims nothing, so that all that it finds was claimed before. */
static bool consume_must_not_claim(const struct consume_call *consume)
{
    const struct owned_slot *slot = consume->slot;

    return consume_would_overtake(slot) ||
           (consume->requeues && slot->push.open && slot_set_is_strict(slot->set));
}

/* Would this new message overtake one of its key that is requeued, or was by this call?  A call
 * that claims nothing finds only what was claimed before. */
static bool consume_overtakes(const struct consume_call *consume, const smq_delivery *delivery)
{
    struct owned_slot *slot = consume->slot;

    if (consume->requeues && consume->n == 0 && slot_set_is_strict(slot->set)) {
        return true;
    }
    return consume_would_overtake(slot) &&
           scheduler_is_held(slot->set->scheduler, &slot->run_queue, delivery);
}

static void consume_free(struct consume_call *consume)
{
    store_call_fini(&consume->call);
    buf_fini(&consume->passes);
    free(consume->settling);
    free(consume->answers);
    free(consume);
}

static enum store_answer_op consume_op_of(const smq_delivery *delivery)
{
    bool retried = delivery->answer.op == STORE_DONE && delivery->attempts.retries > 0;

    return retried ? STORE_DONE_RETRIED : delivery->answer.op;
}

static void consume_fill_answer(struct store_answer *out, const smq_delivery *delivery,
                                const struct topic *topic)
{
    int64_t delay_ms = delivery->answer.delay_ms;

    if (delay_ms == SMQ_BACKOFF) {
        delay_ms = backoff_delay(&topic->backoff, delivery->attempts.retries, random_u64());
    }
    *out = (struct store_answer){.op = consume_op_of(delivery),
                                 .entry = delivery->entry,
                                 .entry_len = delivery->entry_len,
                                 .delay_ms = delay_ms,
                                 .reason = delivery->answer.reason};
}

/* Move answers from `taken` into the call: if `done` those that are done without a retry used, else
 * the others. */
static void consume_settle_some(struct consume_call *consume, struct delivery_list *taken,
                                bool done)
{
    const struct topic *topic = &consume->slot->set->topic;
    smq_delivery *delivery;

    STAILQ_FOREACH(delivery, taken, link)
    {
        if ((consume_op_of(delivery) == STORE_DONE) == done) {
            consume_fill_answer(&consume->answers[consume->count], delivery, topic);
            consume->settling[consume->count++] = delivery;
            consume->buries = consume->buries || (delivery->answer.op == STORE_RETRY &&
                                                  delivery_retries_left(delivery, topic) == 0);
        }
    }
}

static size_t consume_answers_max(const struct owned_slot *slot)
{
    return slot->set->topic.layout == SMQ_LAYOUT_KEYED ? STORE_ANSWERS_KEYED_MAX
                                                       : STORE_ANSWERS_MAX;
}

/* The number of script arguments of an answer and the other answers of its group. */
static size_t consume_count_args(const smq_delivery *delivery)
{
    size_t count = 0, many = delivery->answer.group;

    do {
        count += consume_op_of(delivery) == STORE_DONE ? 1 : 4;
        delivery = STAILQ_NEXT(delivery, link);
    } while (many-- > 1 && delivery != NULL);
    return count;
}

/* The answers of a group are sent together, if they fit into one call. */
static void consume_take_answers(struct consume_call *consume)
{
    struct owned_slot *slot = consume->slot;
    struct delivery_list taken = STAILQ_HEAD_INITIALIZER(taken);
    size_t most = consume_answers_max(slot), count = 0, args = 0, requeue_count = 0;
    smq_delivery *delivery;

    while ((delivery = STAILQ_FIRST(&slot->answers)) != NULL && count < most &&
           (count == 0 || (delivery->answer.group <= most - count &&
                           args + consume_count_args(delivery) <= STORE_ANSWER_ARGS_MAX))) {
        STAILQ_REMOVE_HEAD(&slot->answers, link);
        STAILQ_INSERT_TAIL(&taken, delivery, link);
        count++;
        args += consume_op_of(delivery) == STORE_DONE ? 1 : 4;
        requeue_count += delivery_op_is_final(delivery->answer.op) ? 0 : 1;
    }
    if (count == 0) {
        return;
    }
    slot->answer_count -= count;
    slot->requeue_count -= requeue_count;
    consume->requeues = requeue_count > 0;
    consume->settling = memory_grow(NULL, count, sizeof(*consume->settling));
    consume->answers = memory_grow(NULL, count, sizeof(*consume->answers));
    consume_settle_some(consume, &taken, true);
    if (consume->count < count) {
        consume_settle_some(consume, &taken, false);
    }
}

/* The number of the oldest claim of which a message is in flight, or kept.  Of what is older, Redis
 * may know claims whose answers a failover has lost, and gives their messages back. */
static uint64_t consume_oldest_claim(const struct owned_slot *slot)
{
    uint64_t oldest = in_flight_oldest_claim(slot);

    return slot->kept > 0 && slot->kept < oldest ? slot->kept : oldest;
}

/* Redis' time when a call arrives that is sent now; 0 before the first reply. */
static int64_t consume_redis_ms(const struct owned_slot *slot)
{
    return slot->push.replied_ms == 0
               ? 0
               : slot->push.replied_ms + clock_now_ms() - slot->push.asked_ms;
}

/* A repeated call names the same newest claim.  If a push came in between, that number may be the
 * one that the first try gave to a message. */
static void consume_send(struct consume_call *consume)
{
    struct owned_slot *slot = consume->slot;
    struct slot_set *set = slot->set;
    int64_t now_ms = consume_redis_ms(slot);
    const struct store_known part = {.entry = slot->part.entry.data,
                                     .entry_len = slot->part.entry.len,
                                     .attempts = slot->part.attempts};
    struct store_consume args = {.token = slot->token,
                                 .n = consume->n,
                                 .max_bytes = CLAIM_BYTES_MAX,
                                 .lease_ms = set->topic.lease_ms,
                                 .max_retries = set->topic.max_retries,
                                 .last = consume->last,
                                 .caller = set->caller,
                                 .part = part.entry_len > 0 ? &part : NULL,
                                 .oldest = consume_oldest_claim(slot),
                                 .open = consume->open,
                                 .pushed_ms = slot->push.newest_ms,
                                 .passes = consume->passes.data,
                                 .passes_len = consume->n > 0 ? consume->passes.len : 0,
                                 .repeated = consume->repeated,
                                 .rested = ordinary_has_rested(&slot->ordinary, now_ms),
                                 .any = slot->paused || consume->buries ||
                                        !ordinary_is(&slot->ordinary, now_ms),
                                 .answers = consume->answers,
                                 .answer_count = consume->count};

    store_slot_fill(&consume->target, &set->topic, slot->number);
    damage_on_asked(slot);
    consume->sent = true;
    consume->left_us = clock_now_us();
    consume->gate = owned_slot_gate(slot);
    gate_sent(consume->gate);
    owned_slot_leave_gate(slot);
    consume->sent_ms = clock_now_ms();
    consume->lease_ms = set->topic.lease_ms;
    owned_slot_call_begin(slot);
    store_consume(&consume->call, set->core->redis, &consume->target, &args,
                  set->core->request_timeout_ms);
}

/* A claim was delivered in part, and half of the room is free for the next part. */
static bool consume_awaits_part(const struct owned_slot *slot)
{
    return slot->part.entry.len > 0 &&
           (slot->state != OWNED_ACTIVE || slot->unanswered <= (size_t) slot->set->room / 2);
}

/* Once the slot stops, no send may claim for it.  A call that claims nothing ends that, and returns
 * what was claimed before. */
static bool consume_must_close(const struct owned_slot *slot)
{
    return slot->state == OWNED_STOPPING && slot->push.open;
}

static bool consume_may_open(const struct owned_slot *slot)
{
    const struct slot_set *set = slot->set;

    return !set->shared && (slot->push.open || set->open < set->push_slots);
}

static void consume_make(struct owned_slot *slot, int32_t n, bool passes)
{
    struct consume_call *consume = memory_new(sizeof(*consume));

    slot->notice = OWNED_UNNOTICED;
    slot->shared.told_us = 0;
    consume->slot = slot;
    consume->flushed_us = slot->set->now_us;
    call_wait_end(&slot->wait, consume->waited_us, slot->set->now_us);
    consume->era = slot->era;
    consume->n = n;
    consume->last = slot->last;
    if (passes) {
        claiming_passes(slot);
        scheduler_append_blocked(slot->set->scheduler, &slot->run_queue, &consume->passes);
    }
    store_call_init(&consume->call, consume_on_reply, consume);
    consume_take_answers(consume);
    if (consume_must_not_claim(consume)) {
        consume->n = 0;
    }
    consume->open = consume->n > 0 && consume_may_open(slot);
    owned_slot_set_open(slot, slot->push.open || consume->open);
    slot->consuming = consume;
    CHECK(consume_check(slot));
    budget_reserve(&slot->set->budget, consume->n);
    consume_send(consume);
}

bool consume_begin(struct owned_slot *slot)
{
    struct next_call next =
        claiming_decide(slot, consume_awaits_part(slot) || consume_must_close(slot) ||
                                  slot->notice == OWNED_OWES_CALL);

    if (next.why == NEXT_CALL_NOW) {
        slot_set_flush(slot->set);
        consume_make(slot, next.n, next.passes);
        return true;
    }
    return next_call_waits(next.why);
}

bool consume_wake(struct owned_slot *slot)
{
    if (slot->consuming != NULL) {
        slot->consuming->woken = true;
    } else {
        owned_slot_may_claim(slot);
    }
    return slot->consuming != NULL;
}

void consume_repeat(struct owned_slot *slot)
{
    if (!slot->consuming->sent) {
        consume_send(slot->consuming);
    }
}

void consume_forget(struct owned_slot *slot)
{
    struct consume_call *consume = slot->consuming;

    if (consume == NULL) {
        return;
    }
    slot->consuming = NULL;
    budget_unreserve(&slot->set->budget, consume->n, 0);
    if (!consume->sent) {
        consume_free(consume);
    }
}

/* --- its result --- */

static void consume_report_dead(const struct owned_slot *slot, smq_delivery *delivery,
                                const char *why, const char *reason, int64_t now_ms)
{
    metric_add(&slot->set->core->metrics.dead, 1);
    in_flight_event(slot, SMQ_EVENT_DEAD, SMQ_OK, delivery, why, reason);
    scheduler_notify_dead(slot->set->scheduler, delivery, reason != NULL ? reason : "", now_ms);
}

/* Was this the last permitted attempt? */
static bool consume_is_last_attempt(const struct owned_slot *slot, const smq_delivery *delivery)
{
    return delivery_retries_left(delivery, &slot->set->topic) == 0;
}

static void consume_report_settled(const struct owned_slot *slot, smq_delivery *delivery,
                                   int64_t now_ms)
{
    struct metrics *metrics = &slot->set->core->metrics;
    const char *reason = delivery->answer.reason;

    switch (delivery->answer.op) {
    case STORE_DONE:
    case STORE_DONE_RETRIED:
        metric_add(&metrics->done, 1);
        in_flight_event(slot, SMQ_EVENT_DONE, SMQ_OK, delivery, "done", NULL);
        return;
    case STORE_RELEASE:
        metric_add(&metrics->released, 1);
        in_flight_event(slot, SMQ_EVENT_RELEASED, SMQ_OK, delivery, "released", NULL);
        return;
    case STORE_REJECT:
        metric_add(&metrics->rejected, 1);
        consume_report_dead(slot, delivery, "rejected", reason, now_ms);
        return;
    case STORE_HUNG: /* the event `overdue` was reported */
        if (delivery->attempts.suspect && consume_is_last_attempt(slot, delivery)) {
            consume_report_dead(slot, delivery, "dead", STORE_REASON_TIMED_OUT, now_ms);
        } else {
            metric_add(&metrics->lease_lost, 1);
        }
        return;
    case STORE_RETRY:
        break;
    }
    if (consume_is_last_attempt(slot, delivery)) {
        consume_report_dead(slot, delivery, "dead after its last retry", reason, now_ms);
    } else {
        metric_add(&metrics->retried, 1);
        in_flight_event(slot, SMQ_EVENT_RETRIED, SMQ_OK, delivery, "to be retried", reason);
    }
}

/* The result of an answer: OK, LEASE_LOST (it changed nothing) or UNKNOWN.  If a repeated call
 * finds no claim its earlier try has settled it; but in a shared topic another consumer may have
 * the claim, once its lease has ended. */
static smq_status consume_settled_as(const struct consume_call *consume,
                                     const smq_delivery *delivery, char result)
{
    const struct slot_set *set = consume->slot->set;

    if (result == '1') {
        return SMQ_OK;
    } else if (result == 'u') {
        return SMQ_UNKNOWN;
    } else if (!consume->repeated) {
        return SMQ_LEASE_LOST;
    }
    return set->shared && clock_now_ms() >= delivery->leased_ms + set->topic.lease_ms ? SMQ_UNKNOWN
                                                                                      : SMQ_OK;
}

static void consume_report_unsettled(const struct owned_slot *slot, smq_delivery *delivery,
                                     smq_status status)
{
    metric_add(&slot->set->core->metrics.lease_lost, 1);
    delivery_set_validity(delivery, status);
    in_flight_event(slot, SMQ_EVENT_LEASE_LOST, status, delivery,
                    status == SMQ_UNKNOWN ? "it is not known whether its answer is stored"
                                          : "the answer came too late",
                    NULL);
}

/* These deliveries were last touched when the call was sent; prefetch them before the loop. */
static void consume_prefetch(const struct consume_call *consume)
{
    for (size_t i = 0; i < consume->count; i++) {
        __builtin_prefetch(consume->settling[i], 1);
        __builtin_prefetch(&consume->settling[i]->answer, 1);
    }
}

static void consume_settle(struct consume_call *consume, const struct store_consumed *consumed)
{
    struct owned_slot *slot = consume->slot;

    consume_prefetch(consume);
    for (size_t i = 0; i < consume->count; i++) {
        smq_delivery *delivery = consume->settling[i];
        smq_status status = consume_settled_as(consume, delivery, consumed->results[i]);

        if (status == SMQ_OK) {
            consume_report_settled(slot, delivery, consumed->now_ms);
            if (!delivery_op_is_final(delivery->answer.op)) {
                ordinary_rests(&slot->ordinary, consumed->now_ms + consume->answers[i].delay_ms);
            }
            slot->set->budget.handled += delivery->unseen ? 0 : 1;
        } else {
            consume_report_unsettled(slot, delivery, status);
        }
    }
    in_flight_remove_answered(slot, consume->settling, consume->count);
}

/* Did the message come as a push while the call was in progress?  Then it is in flight, as only a
 * later call can settle it.  Its number alone does not tell: if a failover has lost the push, that
 * is the number of another message. */
static bool consume_is_known(const struct consume_call *consume,
                             const struct store_claimed *message)
{
    const smq_delivery *delivery;

    if (consume->known <= consume->last) {
        return false;
    }
    TAILQ_FOREACH(delivery, &consume->slot->in_flight, in_flight_link)
    {
        if (delivery->entry_len == message->entry_len &&
            memcmp(delivery->entry, message->entry, message->entry_len) == 0) {
            return true;
        }
    }
    return false;
}

/* Add a message of the reply to those in flight, and to the list if a handler may have it.  Returns
 * false if it is not new. */
static bool consume_add_claim(struct consume_call *consume, const struct store_claimed *message,
                              const struct in_flight_terms *terms, struct delivery_list *list)
{
    struct owned_slot *slot = consume->slot;
    smq_delivery *delivery;

    if (consume_is_known(consume, message)) {
        return false;
    }
    delivery = in_flight_add(slot, message, terms);
    if (delivery != NULL &&
        (slot->state == OWNED_STOPPING || consume_overtakes(consume, delivery) ||
         budget_is_over(&slot->set->budget))) {
        in_flight_requeue(slot, delivery);
    } else if (delivery != NULL) {
        STAILQ_INSERT_TAIL(list, delivery, link);
    }
    return true;
}

static void consume_count_waits(const struct consume_call *consume, int64_t now_us, size_t count)
{
    struct metrics *metrics = &consume->slot->set->core->metrics;

    for (int i = 0; i < CALL_WAITS; i++) {
        metrics_waited(metrics, METRICS_WAIT_CALL + i, consume->waited_us[i], count);
    }
    metrics_waited(metrics, METRICS_WAIT_CLAIM, now_us - consume->flushed_us, count);
}

/* Returns how many of the claimed messages are new. */
static int32_t consume_add_claims(struct consume_call *consume, const struct store_result *result,
                                  size_t count)
{
    struct owned_slot *slot = consume->slot;
    struct delivery_list list = STAILQ_HEAD_INITIALIZER(list);
    struct store_claimed message;
    struct in_flight_terms terms;
    int32_t added = 0;

    in_flight_terms(&terms, slot, consume->sent_ms, consume->lease_ms);
    for (size_t i = 0; i < count; i++) {
        if (!store_consume_message(&message, result, &consume->target, i)) {
            in_flight_report_unreadable(slot);
        } else if (consume_add_claim(consume, &message, &terms, &list)) {
            added++;
            consume->suspects = consume->suspects || message.attempts.suspect;
        }
    }
    consume_count_waits(consume, terms.now_us, (size_t) added);
    if (added > 0 && consume->lease_ms < slot->set->topic.lease_ms) {
        renewal_soon(slot->set);
    }
    if (!STAILQ_EMPTY(&list)) {
        scheduler_add(slot->set->scheduler, &slot->run_queue, &list);
        slot_set_wake_handlers(slot->set);
    }
    return added;
}

/* When a slot looks again although messages are in flight. */
static void consume_plan_look(struct owned_slot *slot, const struct consume_call *consume,
                              const struct store_consumed *consumed)
{
    if (consume->woken) {
        slot->look_us = 0;
    } else if (consumed->count > 0 || consumed->again) {
        owned_slot_look_later(slot);
    } else if (consume->n > 0) {
        slot->look_us = NEXT_CALL_NEVER;
    }
}

/* In a shared topic a call that claims nothing leaves its caller where it was: it sleeps on. */
static void consume_sleep(struct owned_slot *slot, const struct consume_call *consume,
                          const struct store_consumed *consumed)
{
    if (slot->set->shared && consume->n == 0 && slot->due_us != 0) {
        shared_sleeps(slot, slot->shared.backup);
        return;
    }
    shared_count(slot, consumed->asleep);
    sleep_begin(slot, consumed->next_ms, consumed->next_ms - consumed->now_ms + 1);
    shared_sleeps(slot, consumed->backup);
}

/* Plan the next look.  A slot that is parked in Redis is woken by new messages, and looks when the
 * next one is due. */
static void consume_plan_next(struct owned_slot *slot, const struct consume_call *consume,
                              const struct store_consumed *consumed)
{
    bool full = consumed->count >= (size_t) consume->n;

    if (consumed->count > 0) {
        call_wait_claimed(&slot->wait, consumed->again || full, clock_now_us());
    }
    if (consume->n > 0) {
        slot->store = consumed->again || full ? NEXT_CALL_MORE : NEXT_CALL_EMPTY;
        if (consume->passes.len > 0) {
            claiming_passed(slot, full, consumed->again);
        }
    }
    consume_plan_look(slot, consume, consumed);
    if (consume->woken || consumed->again || consumed->count > 0 || slot->in_flight_count > 0) {
        owned_slot_may_claim(slot);
    }
    if (slot->state == OWNED_ACTIVE &&
        (slot->store == NEXT_CALL_EMPTY || slot->look_us == NEXT_CALL_NEVER)) {
        consume_sleep(slot, consume, consumed);
    }
}

/* One event for all expired messages of a call; they are not shown one by one. */
static void consume_report_expired(const struct owned_slot *slot, uint64_t count)
{
    if (count > 0) {
        metric_add(&slot->set->core->metrics.expired, count);
        owned_slot_event(slot, SMQ_EVENT_EXPIRED, SMQ_OK,
                         "%" PRIu64 " messages of slot %" PRId32 " of topic %s have expired", count,
                         slot->number, slot->set->name);
    }
}

/* The claims of a call whose reply was lost may be delivered in parts.  A push may have made a
 * newer claim known than the reply has.  Returns false if the last message of a part cannot be
 * read. */
static bool consume_learn(struct consume_call *consume, const struct store_result *result,
                          const struct store_consumed *consumed)
{
    struct owned_slot *slot = consume->slot;
    bool part = !slot->set->shared && consumed->count > 0 && consumed->claims == consume->last;
    struct store_known known;

    if (part && !store_consume_known(&known, result, &consume->target, consumed->count - 1)) {
        return false;
    }
    consume->known = slot->last;
    owned_slot_know(slot, consumed->claims > slot->last ? consumed->claims : slot->last,
                    part ? &known : NULL);
    return true;
}

/* The slot is parked, and open, if the call found nothing to claim. */
static void consume_note_push(const struct consume_call *consume,
                              const struct store_consumed *consumed)
{
    struct owned_slot *slot = consume->slot;
    bool parked = consumed->count == 0 && !consumed->again && !consumed->paused;

    owned_slot_set_open(slot, consume->open && parked);
    slot->push.replied_ms = consumed->now_ms;
    slot->push.asked_ms = consume->sent_ms;
}

static void consume_finish(struct consume_call *consume, const struct store_result *result,
                           const struct store_consumed *consumed)
{
    struct owned_slot *slot = consume->slot;
    int32_t added;

    slot->consuming = NULL;
    slot->failures = 0;
    slot->set->missing_at = 0; /* a deletion that had begun was undone */
    damage_on_accepted(slot);
    consume_note_push(consume, consumed);
    renewal_confirmed(slot, consume->sent_ms);
    consume_settle(consume, consumed);
    slot_set_see_pause(slot, consumed->paused);
    consume_report_expired(slot, consumed->expired);
    sleep_looked(slot, consumed->count > 0, consumed->now_ms);
    added = consume_add_claims(consume, result, consumed->count);
    ordinary_replied(&slot->ordinary, consumed->now_ms,
                     consumed->again && (consume->suspects || consumed->count == 0));
    if (slot->set->shared && consumed->count == 0 && consumed->next_ms > consumed->now_ms) {
        ordinary_rests(&slot->ordinary, consumed->next_ms); /* of others, too */
    }
    budget_unreserve(&slot->set->budget, consume->n, added);
    consume_plan_next(slot, consume, consumed);
    if (consumed->count > 0 || consumed->expired > 0) {
        ticking_has_room(slot);
    }
    ticking_know(slot, consumed->tick_ms, consumed->now_ms);
    CHECK(consume_check(slot));
    consume_free(consume);
    slot->set->ended(slot, SLOT_CALL_CONSUME, true, result);
}

static void consume_fail(struct consume_call *consume, const struct store_result *result)
{
    if (result->outcome == STORE_OK) {
        events_log(consume->slot->set->core->events, SMQ_LEVEL_ERROR,
                   "the reply of the script consume cannot be read; the call is repeated");
    }
    if (result->outcome == STORE_OK || result->outcome == STORE_PARTLY ||
        result->outcome == STORE_UNKNOWN) {
        consume->repeated = true;
    }
    consume->slot->set->ended(consume->slot, SLOT_CALL_CONSUME, false, result);
}

static void consume_on_reply(struct store_call *call, const struct store_result *result)
{
    struct consume_call *consume = call->user;
    struct owned_slot *slot = consume->slot;
    struct slot_set *set = slot->set;
    struct store_consumed consumed;

    consume->sent = false;
    gate_ended(consume->gate, consume->left_us, clock_now_us(), result->outcome == STORE_OK);
    slot_set_serve(consume->gate);
    pace_answered(&set->pace, consume->flushed_us);
    if (consume->era != slot->era) {
        if (result->outcome == STORE_FENCED) {
            owned_slot_report_fenced(slot);
        }
        consume_free(consume);
    } else if (result->outcome == STORE_FENCED) {
        set->ended(slot, SLOT_CALL_CONSUME, false, result);
    } else if (result->outcome == STORE_OK &&
               store_consume_read(&consumed, result, &consume->target, consume->count) &&
               consume_learn(consume, result, &consumed)) {
        consume_finish(consume, result, &consumed);
    } else {
        consume_fail(consume, result);
    }
    owned_slot_call_end(slot);
    slot_set_turn(set);
}
