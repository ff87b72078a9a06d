/* consume_call.c - claiming and settling, one call of a strand at a time.
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
#include "consume/slot/slot.h"
#include "consume/worker/worker.h"
#include "core/coord_link.h"

enum {
    CLAIM_BYTES_MAX = 1048576,
    SWEEP_MS = 300000, /* at the latest; a fifth earlier at the earliest */
    MEMBERSHIP_PAUSE_MS = 500,
    TURN_MS = 20 /* so that answers and claims can go in one call */
};

/* Invariant: `settling` are in their strand's hand, unless the call's era is over. */
struct consume_call {
    struct store_call call;
    struct strand *strand;
    struct store_slot slot;
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

static void starve(struct strand *strand)
{
    if (!strand->starved) {
        strand->starved = true;
        TAILQ_INSERT_TAIL(&strand->worker->starved, strand, link);
        worker_await_tokens(strand->worker);
    }
}

/* Could a poll have more than what is in hand? */
static bool is_wanting(const struct strand *strand)
{
    return strand->unanswered < (size_t) strand->worker->per_slot;
}

/* Claims come with the answers of what is in hand, but when nothing is, when more is known to wait
 * and half of a batch is used up, or when a poll could have more. */
static int32_t claim_wish(struct strand *strand)
{
    smq_worker *worker = strand->worker;
    size_t batch = (size_t) worker->batch_size;

    if (strand->state != STRAND_ACTIVE || worker->state != WORKER_RUNNING || !strand->look ||
        (strand->unanswered > batch / 2 && !is_wanting(strand))) {
        return 0;
    }
    if (strand->in_hand > 0 && strand->answer_count == 0 && !strand->plenty &&
        !is_wanting(strand)) {
        return 0;
    }
    if (run_queue_is_waiting(worker->queue, &strand->lane)) {
        return 0;
    }
    if (!worker->shared && !fleet_may_claim(worker->hub->fleet)) {
        strand_arm(strand, MEMBERSHIP_PAUSE_MS);
        return 0;
    }
    return (int32_t) (batch - strand->unanswered);
}

/* While others wait for room a strand goes on for the rest of its turn only, then it waits behind
 * them. */
static bool has_turn(struct strand *strand)
{
    int64_t now = clock_now_ms();

    if (TAILQ_EMPTY(&strand->worker->starved)) {
        strand->turn_ms = now;
    }
    return now - strand->turn_ms < TURN_MS;
}

static int32_t claim_count(struct strand *strand)
{
    int32_t wish = claim_wish(strand);
    int32_t n = wish > 0 && has_turn(strand) ? worker_room(strand->worker, wish) : 0;

    if (wish > 0 && n == 0) {
        starve(strand);
    }
    return n;
}

/* --- the call --- */

/* Would what is claimed now pass messages that are yet to come back? */
static bool is_passed(const struct strand *strand)
{
    return strand->returning > 0 && worker_is_strict(strand->worker);
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
            answer_fill(&consume->answers[consume->count], delivery,
                        &consume->strand->worker->topic);
            consume->settling[consume->count++] = delivery;
        }
    }
}

static size_t answers_max(const struct strand *strand)
{
    return strand->worker->topic.layout == SMQ_KEYED ? STORE_ANSWERS_KEYED_MAX : STORE_ANSWERS_MAX;
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
    struct strand *strand = consume->strand;
    struct delivery_list taken = STAILQ_HEAD_INITIALIZER(taken);
    size_t most = answers_max(strand), count = 0, args = 0, returning = 0;
    smq_delivery *delivery;

    while ((delivery = STAILQ_FIRST(&strand->answers)) != NULL && count < most &&
           (count == 0 || (delivery->answer.group <= most - count &&
                           args + count_args(delivery) <= STORE_ANSWER_ARGS_MAX))) {
        STAILQ_REMOVE_HEAD(&strand->answers, link);
        STAILQ_INSERT_TAIL(&taken, delivery, link);
        count++;
        args += op_of(delivery) == STORE_DONE ? 1 : 4;
        returning += delivery_is_over(delivery->answer.op) ? 0 : 1;
    }
    if (count == 0) {
        return;
    }
    strand->answer_count -= count;
    strand->returning -= returning;
    consume->settling = memory_grow(NULL, count, sizeof(*consume->settling));
    consume->answers = memory_grow(NULL, count, sizeof(*consume->answers));
    settle_some(consume, &taken, true);
    if (consume->count < count) {
        settle_some(consume, &taken, false);
    }
}

static void consume_send(struct consume_call *consume)
{
    struct strand *strand = consume->strand;
    smq_worker *worker = strand->worker;
    const struct store_known part = {.entry = strand->part.entry.data,
                                     .entry_len = strand->part.entry.len,
                                     .attempts = strand->part.attempts};
    struct store_consume args = {.token = strand->token,
                                 .n = consume->n,
                                 .max_bytes = CLAIM_BYTES_MAX,
                                 .lease_ms = worker->topic.lease_ms,
                                 .max_retries = worker->topic.max_retries,
                                 .last = strand->last,
                                 .part = part.entry_len > 0 ? &part : NULL,
                                 .repeated = consume->repeated,
                                 .answers = consume->answers,
                                 .answer_count = consume->count};

    store_slot_fill(&consume->slot, &worker->topic, strand->slot);
    consume->sent = true;
    consume->sent_ms = clock_now_ms();
    consume->lease_ms = worker->topic.lease_ms;
    strand_call_begin(strand);
    store_consume(&consume->call, worker->hub->redis, &consume->slot, &args,
                  worker->hub->request_timeout_ms);
}

/* Somebody has woken a slot that waits long for tokens: what it was to see may be another rate. */
static bool must_recheck(const struct strand *strand)
{
    return strand->recheck && strand->starved && worker_awaits_tokens_long(strand->worker);
}

/* A claim came in part, and half of a batch is free for more of it. */
static bool awaits_part(const struct strand *strand)
{
    return strand->part.entry.len > 0 &&
           (strand->state != STRAND_ACTIVE ||
            strand->unanswered <= (size_t) strand->worker->batch_size / 2);
}

bool consume_begin(struct strand *strand)
{
    int32_t n = claim_count(strand);
    struct consume_call *consume;

    if (n == 0 && strand->answer_count == 0 && !must_recheck(strand) && !awaits_part(strand)) {
        return false;
    }
    strand->recheck = false;
    consume = memory_new(sizeof(*consume));
    consume->strand = strand;
    consume->era = strand->era;
    consume->n = n;
    store_call_init(&consume->call, on_consumed, consume);
    take_answers(consume);
    if (is_passed(strand)) {
        consume->n = 0; /* not all of them found room in this call */
    }
    strand->consuming = consume;
    worker_reserve(strand->worker, consume->n);
    consume_send(consume);
    return true;
}

void consume_repeat(struct strand *strand)
{
    if (!strand->consuming->sent) {
        consume_send(strand->consuming);
    }
}

void consume_forget(struct strand *strand)
{
    struct consume_call *consume = strand->consuming;

    if (consume == NULL) {
        return;
    }
    strand->consuming = NULL;
    worker_unreserve(strand->worker, consume->n, 0);
    if (!consume->sent) {
        consume_free(consume);
    }
}

/* --- its result --- */

static void tell_dead(const struct strand *strand, smq_delivery *delivery, const char *why,
                      const char *reason, int64_t now_ms)
{
    metric_add(&strand->worker->hub->metrics.dead, 1);
    hand_event(strand, SMQ_EVENT_DEAD, SMQ_OK, delivery, why);
    run_queue_bury(strand->worker->queue, delivery, reason != NULL ? reason : "", now_ms);
}

/* May it not fail once more? */
static bool is_last(const struct strand *strand, const smq_delivery *delivery)
{
    return delivery_retries_left(delivery, &strand->worker->topic) == 0;
}

static void tell_settled(const struct strand *strand, smq_delivery *delivery, int64_t now_ms)
{
    struct metrics *metrics = &strand->worker->hub->metrics;
    const char *reason = delivery->answer.reason;

    switch (delivery->answer.op) {
    case STORE_DONE:
    case STORE_DONE_RETRIED:
        metric_add(&metrics->done, 1);
        hand_event(strand, SMQ_EVENT_DONE, SMQ_OK, delivery, "done");
        return;
    case STORE_RELEASE:
        metric_add(&metrics->released, 1);
        hand_event(strand, SMQ_EVENT_RELEASED, SMQ_OK, delivery, "released");
        return;
    case STORE_REJECT:
        metric_add(&metrics->rejected, 1);
        tell_dead(strand, delivery, "rejected", reason, now_ms);
        return;
    case STORE_HUNG: /* OVERDUE was told */
        if (delivery->attempts.suspect && is_last(strand, delivery)) {
            tell_dead(strand, delivery, "dead: its handler hung again", STORE_REASON_TIMED_OUT,
                      now_ms);
        } else {
            metric_add(&metrics->lease_lost, 1);
        }
        return;
    case STORE_RETRY:
        break;
    }
    if (is_last(strand, delivery)) {
        tell_dead(strand, delivery, "dead after its last retry", reason, now_ms);
    } else {
        metric_add(&metrics->retried, 1);
        hand_event(strand, SMQ_EVENT_RETRIED, SMQ_OK, delivery, "to be retried");
    }
}

/* What became of an answer: OK, LEASE_LOST (nothing), or UNKNOWN.  When a repeated call finds no
 * claim, its earlier try has settled it; but a shared topic gives a claim to others when its lease
 * is over. */
static smq_status settled_as(const struct consume_call *consume, const smq_delivery *delivery,
                             char result)
{
    const smq_worker *worker = consume->strand->worker;

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

static void tell_unsettled(const struct strand *strand, smq_delivery *delivery, smq_status status)
{
    metric_add(&strand->worker->hub->metrics.lease_lost, 1);
    delivery_tell(delivery, status);
    hand_event(strand, SMQ_EVENT_LEASE_LOST, status, delivery,
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
    struct strand *strand = consume->strand;

    fetch(consume);
    for (size_t i = 0; i < consume->count; i++) {
        smq_delivery *delivery = consume->settling[i];
        smq_status status = settled_as(consume, delivery, consumed->results[i]);

        if (status == SMQ_OK) {
            tell_settled(strand, delivery, consumed->now_ms);
            strand->worker->answered_count += delivery->unseen ? 0 : 1;
        } else {
            tell_unsettled(strand, delivery, status);
        }
    }
    hand_remove_answered(strand, consume->settling, consume->count);
}

static smq_delivery *claimed(struct consume_call *consume, const struct store_result *result,
                             size_t index, const char *token, int64_t now_us)
{
    struct strand *strand = consume->strand;
    smq_worker *worker = strand->worker;
    struct store_claimed message;
    smq_delivery *delivery = NULL;

    if (store_consume_message(&message, result, &consume->slot, index)) {
        delivery = delivery_new(&worker->pool, worker->queue, &strand->lane, &worker->topic,
                                strand->slot, token, &message);
    }
    if (delivery == NULL) {
        events_log(worker->hub->events, SMQ_LEVEL_ERROR,
                   "slot %" PRId32 " of topic %s holds an entry that cannot be read", strand->slot,
                   worker->name);
        return NULL;
    }
    delivery->leased_ms = consume->sent_ms + consume->lease_ms - worker->topic.lease_ms;
    delivery_leased(delivery, consume->sent_ms, consume->lease_ms);
    delivery->claimed_us = now_us;
    hand_add(strand, delivery);
    hand_event(strand, SMQ_EVENT_CLAIMED, SMQ_OK, delivery, "claimed");
    return delivery;
}

static void take_claims(struct consume_call *consume, const struct store_result *result,
                        size_t count)
{
    struct strand *strand = consume->strand;
    struct delivery_list list = STAILQ_HEAD_INITIALIZER(list);
    char token[TOKEN_TEXT_LEN + 1] = "";
    int64_t now_us = clock_now_us();
    smq_delivery *delivery;

    if (!strand->worker->shared) {
        token_format(token, strand->token);
    }
    if (count > 0 && consume->lease_ms < strand->worker->topic.lease_ms) {
        worker_renew_soon(strand->worker);
    }
    for (size_t i = 0; i < count; i++) {
        delivery = claimed(consume, result, i, token, now_us);
        if (delivery != NULL && (strand->state == STRAND_STOPPING || is_passed(strand))) {
            hand_give_back(strand, delivery);
        } else if (delivery != NULL) {
            STAILQ_INSERT_TAIL(&list, delivery, link);
        }
    }
    if (!STAILQ_EMPTY(&list)) {
        run_queue_add(strand->worker->queue, &strand->lane, &list);
        worker_rouse(strand->worker);
    }
}

/* When to look again: parked in Redis it is woken by what comes, and looks at the next due time. */
static void plan(struct strand *strand, const struct consume_call *consume,
                 const struct store_consumed *consumed)
{
    int64_t sweep, wait;

    if (consume->n > 0) {
        strand->plenty = consumed->again || consumed->count >= (size_t) consume->n;
        strand->look = false;
    }
    strand->look = strand->look || strand->woken || consumed->again || consumed->count > 0 ||
                   (strand->in_hand > 0 && !is_wanting(strand));
    strand->woken = false;
    if (strand->state == STRAND_ACTIVE && !strand->look) {
        sweep = SWEEP_MS - (int64_t) (random_u64() % (SWEEP_MS / 5));
        wait = consumed->next_ms >= 0 ? consumed->next_ms - consumed->now_ms + 1 : sweep;
        strand_arm(strand, wait < 1 ? 1 : wait < sweep ? wait : sweep);
    }
}

/* The messages themselves are not shown: nobody handles them. */
static void tell_expired(const struct strand *strand, uint64_t count)
{
    if (count > 0) {
        metric_add(&strand->worker->hub->metrics.expired, count);
        strand_event(strand, SMQ_EVENT_EXPIRED, SMQ_OK,
                     "the time to live of %" PRIu64 " messages of slot %" PRId32
                     " of topic %s is over",
                     count, strand->slot, strand->worker->name);
    }
}

void consume_know(struct strand *strand, uint64_t last, const struct store_known *part)
{
    strand->last = last;
    buf_clear(&strand->part.entry);
    if (part != NULL) {
        buf_add(&strand->part.entry, part->entry, part->entry_len);
        strand->part.attempts = part->attempts;
    }
}

/* What was claimed by a call whose reply was lost may come in parts.  false: the last message of a
 * part cannot be read. */
static bool learn(const struct consume_call *consume, const struct store_result *result,
                  const struct store_consumed *consumed)
{
    struct strand *strand = consume->strand;
    bool part = !strand->worker->shared && consumed->count > 0 && consumed->claims == strand->last;
    struct store_known known;

    if (part && !store_consume_known(&known, result, &consume->slot, consumed->count - 1)) {
        return false;
    }
    consume_know(strand, consumed->claims, part ? &known : NULL);
    return true;
}

static void finish(struct consume_call *consume, const struct store_result *result,
                   const struct store_consumed *consumed)
{
    struct strand *strand = consume->strand;

    strand->consuming = NULL;
    strand->failures = 0;
    strand->worker->missing_at = 0; /* a deletion that had begun was taken back */
    strand_accepted(strand);
    worker_unreserve(strand->worker, consume->n, (int32_t) consumed->count);
    renewal_confirmed(strand, consume->sent_ms);
    settle(consume, consumed);
    worker_see_pause(strand, consumed->paused);
    tell_expired(strand, consumed->expired);
    take_claims(consume, result, consumed->count);
    plan(strand, consume, consumed);
    consume_free(consume);
    strand_pump(strand);
}

static void fail(struct consume_call *consume, const struct store_result *result)
{
    if (result->outcome == STORE_OK) {
        events_log(consume->strand->worker->hub->events, SMQ_LEVEL_ERROR,
                   "the answer of consume cannot be read; asking again");
    }
    if (result->outcome == STORE_OK || result->outcome == STORE_PARTLY ||
        result->outcome == STORE_UNKNOWN) {
        consume->repeated = true;
    }
    strand_call_failed(consume->strand, result);
}

static void on_consumed(struct store_call *call, const struct store_result *result)
{
    struct consume_call *consume = call->user;
    struct strand *strand = consume->strand;
    smq_worker *worker = strand->worker;
    struct store_consumed consumed;

    consume->sent = false;
    if (consume->era != strand->era) {
        if (result->outcome == STORE_FENCED) {
            strand_tell_fenced(strand);
        }
        consume_free(consume);
    } else if (result->outcome == STORE_FENCED) {
        strand_fenced(strand, result);
    } else if (result->outcome == STORE_OK &&
               store_consume_read(&consumed, result, &consume->slot, consume->count) &&
               learn(consume, result, &consumed)) {
        finish(consume, result, &consumed);
    } else {
        fail(consume, result);
    }
    worker_feed(worker);
    strand_call_end(strand);
}
