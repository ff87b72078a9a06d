/* consume_call.c - claiming and settling, one call of a slot at a time.
 *
 * The first answer is sent at once; what is answered while a call is on its way goes with the next
 * one, so batches grow with the load.  A call whose reply was lost is repeated as it was: the
 * script settles what is left and hands the claims of the lost reply over again.
 *
 * Thread: smq:io. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "consume/slot/owned_slot.h"
#include "consume/worker/worker.h"
#include "core/coord_link.h"

enum {
    CLAIM_BYTES_MAX = 1048576,
    SWEEP_MS = 300000, /* at the latest; a fifth earlier at the earliest */
    MEMBERSHIP_PAUSE_MS = 500,
    TURN_MS = 20 /* so that answers and claims can go in one call */
};

/* Invariant: `settling` are in their slot's hand, unless the call's era is over. */
struct consume_call {
    struct store_call call;
    struct owned_slot *slot;
    struct store_slot target;
    uint32_t era;
    int32_t n;
    bool sent;     /* on its way */
    bool repeated; /* an earlier try may have been executed */
    int64_t sent_ms, lease_ms;
    size_t count;
    smq_delivery **settling;
    struct store_answer *answers;
};

static void on_consumed(struct store_call *call, const struct store_result *result);

/* --- what to ask for --- */

static void starve(struct owned_slot *slot)
{
    if (!slot->starved) {
        slot->starved = true;
        TAILQ_INSERT_TAIL(&slot->worker->starved, slot, link);
        worker_await_tokens(slot->worker);
    }
}

/* Could a poll have more than what is in flight? */
static bool is_wanting(const struct owned_slot *slot)
{
    return slot->unanswered < (size_t) slot->worker->per_slot;
}

/* Claims come with the answers of what is in flight, but when nothing is, when more is known to
 * wait and half of a batch is used up, or when a poll could have more. */
static int32_t claim_wish(struct owned_slot *slot)
{
    smq_worker *worker = slot->worker;
    size_t batch = (size_t) worker->batch_size;

    if (slot->state != OWNED_ACTIVE || worker->state != WORKER_RUNNING || !slot->look ||
        (slot->unanswered > batch / 2 && !is_wanting(slot))) {
        return 0;
    }
    if (slot->in_flight_count > 0 && slot->answer_count == 0 && !slot->plenty &&
        !is_wanting(slot)) {
        return 0;
    }
    if (run_queue_is_waiting(worker->queue, &slot->lane)) {
        return 0;
    }
    if (!worker->shared && !coord_link_may_claim(worker->core->link)) {
        owned_slot_arm(slot, MEMBERSHIP_PAUSE_MS);
        return 0;
    }
    return (int32_t) (batch - slot->unanswered);
}

/* While others wait for room a slot goes on for the rest of its turn only, then it waits behind
 * them. */
static bool has_turn(struct owned_slot *slot)
{
    int64_t now = clock_now_ms();

    if (TAILQ_EMPTY(&slot->worker->starved)) {
        slot->turn_ms = now;
    }
    return now - slot->turn_ms < TURN_MS;
}

static int32_t claim_count(struct owned_slot *slot)
{
    int32_t wish = claim_wish(slot);
    int32_t n = wish > 0 && has_turn(slot) ? worker_room(slot->worker, wish) : 0;

    if (wish > 0 && n == 0) {
        starve(slot);
    }
    return n;
}

/* --- the call --- */

/* Would what is claimed now pass messages that are yet to come back? */
static bool is_passed(const struct owned_slot *slot)
{
    return slot->returning > 0 && worker_is_strict(slot->worker);
}

static void consume_free(struct consume_call *consume)
{
    store_call_fini(&consume->call);
    free(consume->settling);
    free(consume->answers);
    free(consume);
}

static enum store_answer_op op_of(const smq_delivery *delivery)
{
    bool retried = delivery->answer.op == STORE_DONE && delivery->attempts.retries > 0;

    return retried ? STORE_DONE_RETRIED : delivery->answer.op;
}

static void answer_fill(struct store_answer *out, const smq_delivery *delivery,
                        const struct topic *topic)
{
    int64_t delay_ms = delivery->answer.delay_ms;

    if (delay_ms == SMQ_BACKOFF) {
        delay_ms = backoff_delay(&topic->backoff, delivery->attempts.retries, random_u64());
    }
    *out = (struct store_answer){.op = op_of(delivery),
                                 .entry = delivery->entry,
                                 .entry_len = delivery->entry_len,
                                 .delay_ms = delay_ms,
                                 .reason = delivery->answer.reason};
}

/* Move those of `taken` that are done without a retry used, or the others, into the call. */
static void settle_some(struct consume_call *consume, struct delivery_list *taken, bool done)
{
    smq_delivery *delivery;

    STAILQ_FOREACH(delivery, taken, link)
    {
        if ((op_of(delivery) == STORE_DONE) == done) {
            answer_fill(&consume->answers[consume->count], delivery, &consume->slot->worker->topic);
            consume->settling[consume->count++] = delivery;
        }
    }
}

static size_t answers_max(const struct owned_slot *slot)
{
    return slot->worker->topic.layout == SMQ_KEYED ? STORE_ANSWERS_KEYED_MAX : STORE_ANSWERS_MAX;
}

/* The arguments of an answer and of the others of its group. */
static size_t count_args(const smq_delivery *delivery)
{
    size_t count = 0, many = delivery->answer.group;

    do {
        count += op_of(delivery) == STORE_DONE ? 1 : 4;
        delivery = STAILQ_NEXT(delivery, link);
    } while (many-- > 1 && delivery != NULL);
    return count;
}

/* Those of a group go together, if one call can have them. */
static void take_answers(struct consume_call *consume)
{
    struct owned_slot *slot = consume->slot;
    struct delivery_list taken = STAILQ_HEAD_INITIALIZER(taken);
    size_t most = answers_max(slot), count = 0, args = 0, returning = 0;
    smq_delivery *delivery;

    while ((delivery = STAILQ_FIRST(&slot->answers)) != NULL && count < most &&
           (count == 0 || (delivery->answer.group <= most - count &&
                           args + count_args(delivery) <= STORE_ANSWER_ARGS_MAX))) {
        STAILQ_REMOVE_HEAD(&slot->answers, link);
        STAILQ_INSERT_TAIL(&taken, delivery, link);
        count++;
        args += op_of(delivery) == STORE_DONE ? 1 : 4;
        returning += delivery_is_over(delivery->answer.op) ? 0 : 1;
    }
    if (count == 0) {
        return;
    }
    slot->answer_count -= count;
    slot->returning -= returning;
    consume->settling = memory_grow(NULL, count, sizeof(*consume->settling));
    consume->answers = memory_grow(NULL, count, sizeof(*consume->answers));
    settle_some(consume, &taken, true);
    if (consume->count < count) {
        settle_some(consume, &taken, false);
    }
}

static void consume_send(struct consume_call *consume)
{
    struct owned_slot *slot = consume->slot;
    smq_worker *worker = slot->worker;
    const struct store_known part = {.entry = slot->part.entry.data,
                                     .entry_len = slot->part.entry.len,
                                     .attempts = slot->part.attempts};
    struct store_consume args = {.token = slot->token,
                                 .n = consume->n,
                                 .max_bytes = CLAIM_BYTES_MAX,
                                 .lease_ms = worker->topic.lease_ms,
                                 .max_retries = worker->topic.max_retries,
                                 .last = slot->last,
                                 .part = part.entry_len > 0 ? &part : NULL,
                                 .repeated = consume->repeated,
                                 .answers = consume->answers,
                                 .answer_count = consume->count};

    store_slot_fill(&consume->target, &worker->topic, slot->number);
    consume->sent = true;
    consume->sent_ms = clock_now_ms();
    consume->lease_ms = worker->topic.lease_ms;
    owned_slot_call_begin(slot);
    store_consume(&consume->call, worker->core->redis, &consume->target, &args,
                  worker->core->request_timeout_ms);
}

/* Somebody has woken a slot that waits long for tokens: what it was to see may be another rate. */
static bool must_recheck(const struct owned_slot *slot)
{
    return slot->recheck && slot->starved && worker_awaits_tokens_long(slot->worker);
}

/* A claim came in part, and half of a batch is free for more of it. */
static bool awaits_part(const struct owned_slot *slot)
{
    return slot->part.entry.len > 0 && (slot->state != OWNED_ACTIVE ||
                                        slot->unanswered <= (size_t) slot->worker->batch_size / 2);
}

bool consume_begin(struct owned_slot *slot)
{
    int32_t n = claim_count(slot);
    struct consume_call *consume;

    if (n == 0 && slot->answer_count == 0 && !must_recheck(slot) && !awaits_part(slot)) {
        return false;
    }
    slot->recheck = false;
    consume = memory_new(sizeof(*consume));
    consume->slot = slot;
    consume->era = slot->era;
    consume->n = n;
    store_call_init(&consume->call, on_consumed, consume);
    take_answers(consume);
    if (is_passed(slot)) {
        consume->n = 0; /* not all of them found room in this call */
    }
    slot->consuming = consume;
    worker_reserve(slot->worker, consume->n);
    consume_send(consume);
    return true;
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
    worker_unreserve(slot->worker, consume->n, 0);
    if (!consume->sent) {
        consume_free(consume);
    }
}

/* --- its result --- */

static void tell_dead(const struct owned_slot *slot, smq_delivery *delivery, const char *why,
                      const char *reason, int64_t now_ms)
{
    metric_add(&slot->worker->core->metrics.dead, 1);
    in_flight_event(slot, SMQ_EVENT_DEAD, SMQ_OK, delivery, why);
    run_queue_notify_dead(slot->worker->queue, delivery, reason != NULL ? reason : "", now_ms);
}

/* May it not fail once more? */
static bool is_last(const struct owned_slot *slot, const smq_delivery *delivery)
{
    return delivery_retries_left(delivery, &slot->worker->topic) == 0;
}

static void tell_settled(const struct owned_slot *slot, smq_delivery *delivery, int64_t now_ms)
{
    struct metrics *metrics = &slot->worker->core->metrics;
    const char *reason = delivery->answer.reason;

    switch (delivery->answer.op) {
    case STORE_DONE:
    case STORE_DONE_RETRIED:
        metric_add(&metrics->done, 1);
        in_flight_event(slot, SMQ_EVENT_DONE, SMQ_OK, delivery, "done");
        return;
    case STORE_RELEASE:
        metric_add(&metrics->released, 1);
        in_flight_event(slot, SMQ_EVENT_RELEASED, SMQ_OK, delivery, "released");
        return;
    case STORE_REJECT:
        metric_add(&metrics->rejected, 1);
        tell_dead(slot, delivery, "rejected", reason, now_ms);
        return;
    case STORE_HUNG: /* OVERDUE was told */
        if (delivery->attempts.suspect && is_last(slot, delivery)) {
            tell_dead(slot, delivery, "dead: its handler hung again", STORE_REASON_TIMED_OUT,
                      now_ms);
        } else {
            metric_add(&metrics->lease_lost, 1);
        }
        return;
    case STORE_RETRY:
        break;
    }
    if (is_last(slot, delivery)) {
        tell_dead(slot, delivery, "dead after its last retry", reason, now_ms);
    } else {
        metric_add(&metrics->retried, 1);
        in_flight_event(slot, SMQ_EVENT_RETRIED, SMQ_OK, delivery, "to be retried");
    }
}

/* What became of an answer: OK, LEASE_LOST (nothing), or UNKNOWN.  When a repeated call finds no
 * claim, its earlier try has settled it; but a shared topic gives a claim to others when its lease
 * is over. */
static smq_status settled_as(const struct consume_call *consume, const smq_delivery *delivery,
                             char result)
{
    const smq_worker *worker = consume->slot->worker;

    if (result == '1') {
        return SMQ_OK;
    } else if (result == 'u') {
        return SMQ_UNKNOWN;
    } else if (!consume->repeated) {
        return SMQ_LEASE_LOST;
    }
    return worker->shared && clock_now_ms() >= delivery->leased_ms + worker->topic.lease_ms
               ? SMQ_UNKNOWN
               : SMQ_OK;
}

static void tell_unsettled(const struct owned_slot *slot, smq_delivery *delivery, smq_status status)
{
    metric_add(&slot->worker->core->metrics.lease_lost, 1);
    delivery_tell(delivery, status);
    in_flight_event(slot, SMQ_EVENT_LEASE_LOST, status, delivery,
                    status == SMQ_UNKNOWN ? "nobody knows whether its answer is stored"
                                          : "the answer came too late");
}

/* They were seen last when the call was sent: have them come together. */
static void fetch(const struct consume_call *consume)
{
    for (size_t i = 0; i < consume->count; i++) {
        __builtin_prefetch(consume->settling[i], 1);
        __builtin_prefetch(&consume->settling[i]->answer, 1);
    }
}

static void settle(struct consume_call *consume, const struct store_consumed *consumed)
{
    struct owned_slot *slot = consume->slot;

    fetch(consume);
    for (size_t i = 0; i < consume->count; i++) {
        smq_delivery *delivery = consume->settling[i];
        smq_status status = settled_as(consume, delivery, consumed->results[i]);

        if (status == SMQ_OK) {
            tell_settled(slot, delivery, consumed->now_ms);
            slot->worker->answered_count += delivery->unseen ? 0 : 1;
        } else {
            tell_unsettled(slot, delivery, status);
        }
    }
    in_flight_remove_answered(slot, consume->settling, consume->count);
}

static smq_delivery *claimed(struct consume_call *consume, const struct store_result *result,
                             size_t index, const char *token, int64_t now_us)
{
    struct owned_slot *slot = consume->slot;
    smq_worker *worker = slot->worker;
    struct store_claimed message;
    smq_delivery *delivery = NULL;

    if (store_consume_message(&message, result, &consume->target, index)) {
        delivery = delivery_new(&worker->pool, worker->queue, &slot->lane, &worker->topic,
                                slot->number, token, &message);
    }
    if (delivery == NULL) {
        events_log(worker->core->events, SMQ_LEVEL_ERROR,
                   "slot %" PRId32 " of topic %s holds an entry that cannot be read", slot->number,
                   worker->name);
        return NULL;
    }
    delivery->leased_ms = consume->sent_ms + consume->lease_ms - worker->topic.lease_ms;
    delivery_leased(delivery, consume->sent_ms, consume->lease_ms);
    delivery->claimed_us = now_us;
    in_flight_add(slot, delivery);
    in_flight_event(slot, SMQ_EVENT_CLAIMED, SMQ_OK, delivery, "claimed");
    return delivery;
}

static void take_claims(struct consume_call *consume, const struct store_result *result,
                        size_t count)
{
    struct owned_slot *slot = consume->slot;
    struct delivery_list list = STAILQ_HEAD_INITIALIZER(list);
    char token[TOKEN_TEXT_LEN + 1] = "";
    int64_t now_us = clock_now_us();
    smq_delivery *delivery;

    if (!slot->worker->shared) {
        token_format(token, slot->token);
    }
    if (count > 0 && consume->lease_ms < slot->worker->topic.lease_ms) {
        worker_renew_soon(slot->worker);
    }
    for (size_t i = 0; i < count; i++) {
        delivery = claimed(consume, result, i, token, now_us);
        if (delivery != NULL && (slot->state == OWNED_STOPPING || is_passed(slot))) {
            in_flight_give_back(slot, delivery);
        } else if (delivery != NULL) {
            STAILQ_INSERT_TAIL(&list, delivery, link);
        }
    }
    if (!STAILQ_EMPTY(&list)) {
        run_queue_add(slot->worker->queue, &slot->lane, &list);
        worker_rouse(slot->worker);
    }
}

/* When to look again: parked in Redis it is woken by what comes, and looks at the next due time. */
static void plan(struct owned_slot *slot, const struct consume_call *consume,
                 const struct store_consumed *consumed)
{
    int64_t sweep, wait;

    if (consume->n > 0) {
        slot->plenty = consumed->again || consumed->count >= (size_t) consume->n;
        slot->look = false;
    }
    slot->look = slot->look || slot->woken || consumed->again || consumed->count > 0 ||
                 (slot->in_flight_count > 0 && !is_wanting(slot));
    slot->woken = false;
    if (slot->state == OWNED_ACTIVE && !slot->look) {
        sweep = SWEEP_MS - (int64_t) (random_u64() % (SWEEP_MS / 5));
        wait = consumed->next_ms >= 0 ? consumed->next_ms - consumed->now_ms + 1 : sweep;
        owned_slot_arm(slot, wait < 1 ? 1 : wait < sweep ? wait : sweep);
    }
}

/* The messages themselves are not shown: nobody handles them. */
static void tell_expired(const struct owned_slot *slot, uint64_t count)
{
    if (count > 0) {
        metric_add(&slot->worker->core->metrics.expired, count);
        owned_slot_event(slot, SMQ_EVENT_EXPIRED, SMQ_OK,
                         "the time to live of %" PRIu64 " messages of slot %" PRId32
                         " of topic %s is over",
                         count, slot->number, slot->worker->name);
    }
}

void consume_know(struct owned_slot *slot, uint64_t last, const struct store_known *part)
{
    slot->last = last;
    buf_clear(&slot->part.entry);
    if (part != NULL) {
        buf_add(&slot->part.entry, part->entry, part->entry_len);
        slot->part.attempts = part->attempts;
    }
}

/* What was claimed by a call whose reply was lost may come in parts.  false: the last message of a
 * part cannot be read. */
static bool learn(const struct consume_call *consume, const struct store_result *result,
                  const struct store_consumed *consumed)
{
    struct owned_slot *slot = consume->slot;
    bool part = !slot->worker->shared && consumed->count > 0 && consumed->claims == slot->last;
    struct store_known known;

    if (part && !store_consume_known(&known, result, &consume->target, consumed->count - 1)) {
        return false;
    }
    consume_know(slot, consumed->claims, part ? &known : NULL);
    return true;
}

static void finish(struct consume_call *consume, const struct store_result *result,
                   const struct store_consumed *consumed)
{
    struct owned_slot *slot = consume->slot;

    slot->consuming = NULL;
    slot->failures = 0;
    slot->worker->missing_at = 0; /* a deletion that had begun was taken back */
    damage_on_accepted(slot);
    worker_unreserve(slot->worker, consume->n, (int32_t) consumed->count);
    renewal_confirmed(slot, consume->sent_ms);
    settle(consume, consumed);
    worker_see_pause(slot, consumed->paused);
    tell_expired(slot, consumed->expired);
    take_claims(consume, result, consumed->count);
    plan(slot, consume, consumed);
    consume_free(consume);
    owned_slot_pump(slot);
}

static void fail(struct consume_call *consume, const struct store_result *result)
{
    if (result->outcome == STORE_OK) {
        events_log(consume->slot->worker->core->events, SMQ_LEVEL_ERROR,
                   "the answer of consume cannot be read; asking again");
    }
    if (result->outcome == STORE_OK || result->outcome == STORE_PARTLY ||
        result->outcome == STORE_UNKNOWN) {
        consume->repeated = true;
    }
    owned_slot_call_failed(consume->slot, result);
}

static void on_consumed(struct store_call *call, const struct store_result *result)
{
    struct consume_call *consume = call->user;
    struct owned_slot *slot = consume->slot;
    smq_worker *worker = slot->worker;
    struct store_consumed consumed;

    consume->sent = false;
    if (consume->era != slot->era) {
        if (result->outcome == STORE_FENCED) {
            owned_slot_tell_fenced(slot);
        }
        consume_free(consume);
    } else if (result->outcome == STORE_FENCED) {
        owned_slot_fenced(slot, result);
    } else if (result->outcome == STORE_OK &&
               store_consume_read(&consumed, result, &consume->target, consume->count) &&
               learn(consume, result, &consumed)) {
        finish(consume, result, &consumed);
    } else {
        fail(consume, result);
    }
    worker_feed(worker);
    owned_slot_call_end(slot);
}
