/* run_queues.c - the locked state of a scheduler: which queue may run, and which threads are woken.
 *
 * Thread: any.  The lock of the scheduler is held, except where run_queues.h says otherwise. */
#include "consume/run/run_queues.h"

#include "base/check.h"
#include "base/steps.h"

static void run_queues_check(const struct scheduler *scheduler)
{
    const struct run_queue *queue;
    const smq_delivery *delivery;

    TAILQ_FOREACH(queue, &scheduler->state.queues, link)
    {
        assert(queue->place == RUN_QUEUED && run_queue_can_begin(scheduler, queue));
        assert(run_key_may_begin(TAILQ_FIRST(&queue->ready)));
    }
    TAILQ_FOREACH(queue, &scheduler->state.unconfirmed, link)
    {
        assert(queue->place == RUN_UNCONFIRMED);
    }
    TAILQ_FOREACH(delivery, &scheduler->state.begun, begun_link)
    {
        assert(delivery->begun && delivery->queue != NULL && delivery->queue->begun > 0);
        assert(delivery->key->queue == delivery->queue && delivery->key->begun > 0);
    }
}

/* --- the lock --- */

void run_queues_lock(struct scheduler *scheduler)
{
    pthread_mutex_lock(&scheduler->state.lock);
}

void run_queues_wake(struct scheduler *scheduler)
{
    if (scheduler->state.offered) {
        scheduler->state.offered = false;
        pthread_cond_signal(&scheduler->state.ready);
    }
}

static void run_queues_update_descriptor(struct scheduler *scheduler)
{
    ready_set(&scheduler->state.shown, scheduler->state.closed || scheduler->state.poller_woken ||
                                           !TAILQ_EMPTY(&scheduler->state.queues));
}

void run_queues_before_unlock(struct scheduler *scheduler)
{
    CHECK(run_queues_check(scheduler));
    run_queues_update_descriptor(scheduler);
    run_queues_wake(scheduler);
}

void run_queues_unlock(struct scheduler *scheduler)
{
    run_queues_before_unlock(scheduler);
    pthread_mutex_unlock(&scheduler->state.lock);
}

void run_queues_unlock_first(struct scheduler *scheduler)
{
    bool offered = scheduler->state.offered;

    CHECK(run_queues_check(scheduler));
    scheduler->state.offered = false;
    run_queues_update_descriptor(scheduler);
    pthread_mutex_unlock(&scheduler->state.lock);
    if (offered) {
        pthread_cond_signal(&scheduler->state.ready);
    }
}

/* The loop exists until scheduler_close(). */
void run_queues_post(struct scheduler *scheduler)
{
    if (!scheduler->state.closed) {
        loop_post(scheduler->io, scheduler->task);
    }
}

/* --- confirmations --- */

void run_queue_confirm(struct run_queue *queue, int64_t asked_ms)
{
    if (asked_ms > atomic_load_explicit(&queue->confirmed_ms, memory_order_relaxed)) {
        atomic_store_explicit(&queue->confirmed_ms, asked_ms, memory_order_relaxed);
    }
}

int64_t run_queue_until(const struct scheduler *scheduler, const smq_delivery *delivery)
{
    const struct membership *membership = scheduler->membership;
    int64_t lease_ms = atomic_load_explicit(&scheduler->lease_ms, memory_order_relaxed);

    if (lease_ms == INT64_MAX) {
        return INT64_MAX;
    }
    if (membership == NULL) {
        return atomic_load_explicit(&delivery->leased_until_ms, memory_order_relaxed);
    }
    return confirmation_until(
        atomic_load_explicit(&delivery->queue->confirmed_ms, memory_order_relaxed), lease_ms,
        atomic_load_explicit(&membership->valid_ms, memory_order_relaxed),
        atomic_load_explicit(&membership->invalidated_ms, memory_order_relaxed));
}

int64_t run_queues_member_until(const struct scheduler *scheduler)
{
    return scheduler->membership != NULL
               ? atomic_load_explicit(&scheduler->membership->until_ms, memory_order_relaxed)
               : INT64_MAX;
}

enum confirmation run_queues_confirmation(const struct scheduler *scheduler, int64_t until_ms,
                                          int64_t now_ms)
{
    return confirmation_at(now_ms, until_ms, run_queues_member_until(scheduler));
}

void run_queue_await_confirmation(struct scheduler *scheduler, struct run_queue *queue)
{
    if (run_queue_may(queue->place, RUN_UNCONFIRMED) && !TAILQ_EMPTY(&queue->ready)) {
        run_queue_enter(scheduler, queue, RUN_UNCONFIRMED);
    }
}

/* --- queues --- */

void run_queue_init(struct run_queue *queue)
{
    *queue = (struct run_queue){.place = RUN_OUT};
    TAILQ_INIT(&queue->keys);
    TAILQ_INIT(&queue->ready);
}

bool run_queue_may(enum run_queue_place from, enum run_queue_place to)
{
    static const unsigned steps[RUN_PLACES] = {
        [RUN_OUT] = STEP(RUN_QUEUED) | STEP(RUN_UNCONFIRMED),
        [RUN_QUEUED] = STEP(RUN_OUT) | STEP(RUN_UNCONFIRMED),
        [RUN_UNCONFIRMED] = STEP(RUN_OUT) | STEP(RUN_ASKED),
        [RUN_ASKED] = STEP(RUN_OUT),
    };

    return steps_allow(steps, from, to);
}

static struct run_queues *run_queue_list(struct scheduler *scheduler, enum run_queue_place place)
{
    return place == RUN_QUEUED        ? &scheduler->state.queues
           : place == RUN_UNCONFIRMED ? &scheduler->state.unconfirmed
                                      : NULL;
}

void run_queue_enter(struct scheduler *scheduler, struct run_queue *queue,
                     enum run_queue_place place)
{
    struct run_queues *from = run_queue_list(scheduler, queue->place);
    struct run_queues *to = run_queue_list(scheduler, place);

    assert(run_queue_may(queue->place, place));
    queue->place = place;
    if (from != NULL) {
        TAILQ_REMOVE(from, queue, link);
    }
    if (to != NULL) {
        TAILQ_INSERT_TAIL(to, queue, link);
    }
}

bool run_queue_can_begin(const struct scheduler *scheduler, const struct run_queue *queue)
{
    return queue->begun < scheduler->per_slot && !TAILQ_EMPTY(&queue->ready);
}

void run_queue_offer(struct scheduler *scheduler, struct run_queue *queue)
{
    if (queue->place != RUN_OUT || !run_queue_can_begin(scheduler, queue)) {
        return;
    }
    run_queue_enter(scheduler, queue, RUN_QUEUED);
    run_queues_wake(scheduler); /* one thread for each queue */
    scheduler->state.offered = true;
}

void run_queue_withdraw(struct scheduler *scheduler, struct run_queue *queue)
{
    if (queue->place != RUN_OUT) {
        run_queue_enter(scheduler, queue, RUN_OUT);
    }
}

void run_queue_withdraw_empty(struct scheduler *scheduler, struct run_queue *queue)
{
    if (TAILQ_EMPTY(&queue->ready)) {
        run_queue_withdraw(scheduler, queue);
    }
}

smq_delivery *run_queue_begin(struct scheduler *scheduler, struct run_key *key, int64_t now_us)
{
    smq_delivery *delivery = STAILQ_FIRST(&key->waiting);

    STAILQ_REMOVE_HEAD(&key->waiting, link);
    delivery->begun = true;
    delivery->queue->begun++;
    key->begun++;
    run_key_update(&scheduler->state.keys, key);
    delivery->begun_us = now_us;
    if (scheduler->timed) {
        TAILQ_INSERT_TAIL(&scheduler->state.begun, delivery, begun_link);
    }
    return delivery;
}

void run_queue_unbegin(struct scheduler *scheduler, smq_delivery *delivery)
{
    delivery->begun = false;
    delivery->queue->begun--;
    delivery->key->begun--;
    run_key_update(&scheduler->state.keys, delivery->key);
    if (scheduler->timed) {
        TAILQ_REMOVE(&scheduler->state.begun, delivery, begun_link);
    }
}

void run_queue_settle(struct scheduler *scheduler, smq_delivery *delivery)
{
    if (delivery->begun) {
        run_queue_unbegin(scheduler, delivery);
        run_queue_offer(scheduler, delivery->queue);
    }
}

void run_queue_answered(struct scheduler *scheduler, smq_delivery *delivery,
                        enum store_answer_op op)
{
    struct run_queue *queue = delivery->queue;

    if (queue == NULL) {
        return; /* the slot has dropped the delivery */
    }
    if (scheduler->state.strict && !delivery_op_is_final(op)) {
        delivery->holds = true;
        delivery->key->held++;
        run_key_update(&scheduler->state.keys, delivery->key);
        run_queue_withdraw_empty(scheduler, queue);
    }
    run_queue_settle(scheduler, delivery);
}

void run_queue_end_hold(struct scheduler *scheduler, smq_delivery *delivery)
{
    if (delivery->holds) {
        delivery->holds = false;
        delivery->key->held--;
        run_key_update(&scheduler->state.keys, delivery->key);
        run_queue_offer(scheduler, delivery->queue);
    }
}

void run_call_leave_queue(struct scheduler *scheduler, struct run_call *call)
{
    if (call->queue == NULL) {
        return;
    }
    call->queue->calls--;
    call->queue = NULL;
    for (size_t i = 0; i < call->count; i++) {
        call->keys[i]->called--;
        run_key_update(&scheduler->state.keys, call->keys[i]);
    }
}

void run_queue_detach(struct scheduler *scheduler, smq_delivery *delivery)
{
    struct run_call *call = delivery->call;

    if (call != NULL && call->queue != NULL) {
        run_call_leave_queue(scheduler, call);
        scheduler->state.busy--;
        scheduler->state.hung++;
        pthread_cond_signal(&scheduler->state.ready);
    }
}

bool run_queue_remove(struct scheduler *scheduler, struct run_queue *queue, smq_delivery *delivery)
{
    if (!run_key_remove(&scheduler->state.keys, delivery)) {
        return false;
    }
    run_queue_withdraw_empty(scheduler, queue);
    return true;
}

void run_queue_recall(struct scheduler *scheduler, struct run_queue *queue,
                      struct delivery_list *out)
{
    run_queue_withdraw(scheduler, queue);
    run_keys_recall(&scheduler->state.keys, queue, out);
}

/* --- answers --- */

void run_call_keep(smq_delivery *delivery)
{
    if (delivery->call != NULL) {
        delivery->call = NULL;
        delivery_ref(delivery);
    }
}

bool run_queues_answer(struct scheduler *scheduler, struct delivery_list *answers, bool *post)
{
    smq_delivery *delivery;

    *post = false;
    STAILQ_FOREACH(delivery, answers, link)
    {
        run_call_keep(delivery);
        run_queue_answered(scheduler, delivery, delivery->answer.op);
        if (scheduler->polled && !scheduler->state.closed) {
            flush_track(&scheduler->state.flushes, delivery);
        }
    }
    if (scheduler->state.closed) {
        return false;
    }
    if (!STAILQ_EMPTY(answers)) {
        *post = STAILQ_EMPTY(&scheduler->state.answers); /* else a post is pending already */
        STAILQ_CONCAT(&scheduler->state.answers, answers);
    }
    return true;
}
