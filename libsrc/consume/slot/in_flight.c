/* in_flight.c - what a strand has in hand: deliveries from their claim until their answer is
 * stored.
 *
 * Thread: smq:io. */
#include <inttypes.h>
#include <stdarg.h>

#include "base/line.h"
#include "consume/slot/slot.h"
#include "consume/worker/worker.h"

void strand_event(const struct strand *strand, smq_event_kind kind, smq_status status,
                  const char *format, ...)
{
    const smq_worker *worker = strand->worker;
    char token[TOKEN_TEXT_LEN + 1], text[400];
    smq_event event = {.status = status,
                       .topic = worker->name,
                       .slot = strand->slot,
                       .token = worker->shared ? "" : token};
    va_list args;

    if (!events_wanted(worker->hub->events, kind)) {
        return;
    }
    token_format(token, strand->token);
    va_start(args, format);
    line_format(text, sizeof(text), format, args);
    va_end(args);
    events_emit(worker->hub->events, kind, &event, "%s", text);
}

void hand_event(const struct strand *strand, smq_event_kind kind, smq_status status,
                const smq_delivery *delivery, const char *what)
{
    const smq_worker *worker = strand->worker;
    char id[DELIVERY_ID_MAX];
    smq_event event;

    if (!events_wanted(worker->hub->events, kind)) {
        return;
    }
    event = (smq_event){.status = status,
                        .topic = worker->name,
                        .slot = strand->slot,
                        .token = delivery->token,
                        .message_id = id,
                        .attempt = delivery->info.attempt};
    delivery_id(id, delivery);
    events_emit(worker->hub->events, kind, &event,
                "%s: message \"%s\" of slot %" PRId32 " of topic %s, attempt %" PRId32, what, id,
                strand->slot, worker->name, event.attempt);
}

void hand_add(struct strand *strand, smq_delivery *delivery)
{
    smq_worker *worker = strand->worker;

    if (strand->in_hand == 0) {
        LIST_INSERT_HEAD(&worker->busy, strand, busy_link);
    }
    TAILQ_INSERT_TAIL(&strand->hand, delivery, in_hand_link);
    delivery->in_hand = delivery->unanswered = true;
    strand->in_hand++;
    strand->unanswered++;
    worker->in_hand++;
    worker_watch_handlers(worker);
    worker->unanswered++;
    metric_add(&worker->hub->metrics.claimed, 1);
    metric_add(&worker->hub->metrics.in_flight, 1);
}

static void count_answered(struct strand *strand, smq_delivery *delivery)
{
    if (delivery->unanswered) {
        delivery->unanswered = false;
        strand->unanswered--;
        strand->worker->unanswered--;
        metric_subtract(&strand->worker->hub->metrics.in_flight, 1);
    }
}

void hand_answered(struct strand *strand, smq_delivery *delivery)
{
    count_answered(strand, delivery);
    STAILQ_INSERT_TAIL(&strand->answers, delivery, link);
    strand->answer_count++;
    strand->returning += delivery_is_over(delivery->answer.op) ? 0 : 1;
    strand->look = true;
}

void hand_give_back(struct strand *strand, smq_delivery *delivery)
{
    atomic_store(&delivery->answered, DELIVERY_ANSWERED);
    delivery->answer.op = STORE_RELEASE;
    delivery->unseen = true;
    delivery->held++; /* its answerer's */
    hand_answered(strand, delivery);
    worker_unused(strand->worker, 1);
}

static void give_back_all(struct strand *strand, struct delivery_list *unbegun)
{
    smq_delivery *delivery;

    while ((delivery = STAILQ_FIRST(unbegun)) != NULL) {
        STAILQ_REMOVE_HEAD(unbegun, link);
        hand_give_back(strand, delivery);
    }
}

void hand_recall_held(struct strand *strand, smq_delivery *delivery)
{
    struct delivery_list unbegun = STAILQ_HEAD_INITIALIZER(unbegun);

    if (!delivery_is_over(delivery->answer.op)) {
        run_queue_recall_held(strand->worker->queue, delivery, &unbegun);
        give_back_all(strand, &unbegun);
    }
}

void hand_overdue(struct strand *strand, smq_delivery *delivery)
{
    hand_event(strand, SMQ_EVENT_OVERDUE, SMQ_LEASE_LOST, delivery, "the handler takes too long");
    delivery->answer.op = STORE_HUNG;
    hand_answered(strand, delivery);
    hand_recall_held(strand, delivery);
}

/* The queue has forgotten it. */
static void let_go(struct strand *strand, smq_delivery *delivery)
{
    count_answered(strand, delivery);
    TAILQ_REMOVE(&strand->hand, delivery, in_hand_link);
    delivery->in_hand = false;
    strand->in_hand--;
    strand->worker->in_hand--;
    if (strand->in_hand == 0) {
        LIST_REMOVE(strand, busy_link);
    }
    delivery_leave_hand(delivery, &strand->worker->pool);
}

void hand_remove(struct strand *strand, smq_delivery *delivery)
{
    (void) run_queue_forget(strand->worker->queue, delivery);
    let_go(strand, delivery);
}

void hand_remove_answered(struct strand *strand, smq_delivery **deliveries, size_t count)
{
    run_queue_forget_answered(strand->worker->queue, deliveries, count);
    for (size_t i = 0; i < count; i++) {
        let_go(strand, deliveries[i]);
    }
}

void hand_lose(struct strand *strand, smq_delivery *delivery)
{
    bool unbegun;

    delivery_tell(delivery, SMQ_LEASE_LOST);
    metric_add(&strand->worker->hub->metrics.lease_lost, 1);
    hand_event(strand, SMQ_EVENT_LEASE_LOST, SMQ_LEASE_LOST, delivery, "the lease is lost");
    unbegun = run_queue_forget(strand->worker->queue, delivery);
    delivery_ref(delivery);
    hand_remove(strand, delivery);
    if (unbegun) {
        delivery_unref(delivery);
    }
    delivery_unref(delivery);
}

void hand_drop(struct strand *strand, smq_status standing)
{
    struct delivery_list unbegun = STAILQ_HEAD_INITIALIZER(unbegun);
    smq_delivery *delivery;

    run_queue_recall(strand->worker->queue, &strand->lane, &unbegun);
    while ((delivery = STAILQ_FIRST(&unbegun)) != NULL) {
        STAILQ_REMOVE_HEAD(&unbegun, link);
        atomic_store(&delivery->answered, DELIVERY_ANSWERED);
        delivery_unref(delivery); /* its answerer's */
    }
    STAILQ_INIT(&strand->answers);
    strand->answer_count = strand->returning = 0;
    while ((delivery = TAILQ_FIRST(&strand->hand)) != NULL) {
        delivery_tell(delivery, standing);
        metric_add(&strand->worker->hub->metrics.lease_lost, 1);
        hand_remove(strand, delivery);
    }
}

void hand_let_go(struct strand *strand)
{
    smq_delivery *delivery, *next;

    for (delivery = TAILQ_FIRST(&strand->hand); delivery != NULL; delivery = next) {
        next = TAILQ_NEXT(delivery, in_hand_link);
        if (delivery->unanswered) {
            metric_add(&strand->worker->hub->metrics.lease_lost, 1);
            hand_event(strand, SMQ_EVENT_LEASE_LOST, SMQ_CLOSED, delivery, "nobody answers it");
            hand_remove(strand, delivery);
        }
    }
}

void hand_give_back_unbegun(struct strand *strand)
{
    struct delivery_list unbegun = STAILQ_HEAD_INITIALIZER(unbegun);

    run_queue_recall(strand->worker->queue, &strand->lane, &unbegun);
    give_back_all(strand, &unbegun);
}

void hand_release(struct strand *strand)
{
    smq_delivery *delivery;

    hand_give_back_unbegun(strand);
    TAILQ_FOREACH(delivery, &strand->hand, in_hand_link)
    {
        delivery_tell(delivery, SMQ_CLOSED);
    }
}
