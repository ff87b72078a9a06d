/* handlers.c - the handler threads of a scheduler.
 *
 * Thread: smq:work-N, but where scheduler.h says otherwise. */
#include "consume/run/run_queues.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/event.h"
#include "base/memory.h"
#include "consume/run/answer.h"
#include "consume/run/hooks.h"

static _Thread_local const struct scheduler *scheduler_of_thread;

/* The lock is held.  As many deliveries of the key as the call has room for. */
static void run_call_take(struct scheduler *scheduler, struct run_call *call, struct run_key *key,
                          int64_t now_us)
{
    while (call->count < call->most && !STAILQ_EMPTY(&key->waiting)) {
        smq_delivery *delivery = run_queue_begin(scheduler, key, now_us);
        int64_t until_ms = run_queue_until(scheduler, delivery);

        call->until_ms = until_ms < call->until_ms ? until_ms : call->until_ms;
        delivery->call = call;
        key->called++;
        call->keys[call->count] = key;
        call->deliveries[call->count++] = delivery;
    }
    run_key_update(&scheduler->state.keys, key);
}

/* The lock is held. */
static void run_call_begin(struct scheduler *scheduler, struct run_call *call,
                           struct run_queue *queue)
{
    int64_t now_us = clock_now_us();
    struct run_key *key;

    call->count = 0;
    call->until_ms = INT64_MAX;
    while (call->count < call->most && (key = TAILQ_FIRST(&queue->ready)) != NULL) {
        run_call_take(scheduler, call, key, now_us);
    }
    call->queue = queue;
    queue->calls++;
    scheduler->state.busy++;
}

/* `unanswered` deliveries of the call had no answer. */
static void run_call_judge(struct scheduler *scheduler, const struct run_call *call,
                           smq_verdict verdict, size_t unanswered)
{
    const char *topic = scheduler->origin.topic;

    if (!answer_is_verdict(verdict) && !atomic_flag_test_and_set(&scheduler->mistaken)) {
        events_log(scheduler->events, SMQ_LEVEL_ERROR,
                   "a handler of topic %s returned %d, which is no verdict: its messages are "
                   "retried; return SMQ_DONE, SMQ_RETRY or another smq_verdict",
                   topic, (int) verdict);
    } else if (verdict == SMQ_ANSWERED && unanswered > 0 &&
               !atomic_flag_test_and_set(&scheduler->mistaken)) {
        events_log(scheduler->events, SMQ_LEVEL_ERROR,
                   "a handler of topic %s returned SMQ_ANSWERED and had not answered %zu of %zu "
                   "messages: they are retried",
                   topic, unanswered, call->count);
    }
}

static void run_call_run(struct scheduler *scheduler, struct run_call *call)
{
    size_t group = 0;
    smq_verdict verdict;

    hooks_begin(scheduler, call->deliveries, call->count);
    verdict = scheduler->batch != NULL
                  ? scheduler->batch(call->deliveries, call->count, scheduler->user)
                  : scheduler->handler(call->deliveries[0], scheduler->user);
    hooks_end(scheduler, call->deliveries, call->count, verdict);
    STAILQ_INIT(&call->answers);
    for (size_t i = 0; i < call->count; i++) {
        smq_delivery *delivery = call->deliveries[i];
        enum answer_verdict taken = answer_by_verdict(delivery, verdict);

        if (taken == ANSWER_GIVEN) {
            STAILQ_INSERT_TAIL(&call->answers, delivery, link);
            group++;
        } else if (taken == ANSWER_TOO_LATE) {
            delivery_unref(delivery); /* the answerer's reference */
        }
        call->deliveries[i] = taken == ANSWER_LEFT ? delivery : NULL;
    }
    if (group > 0) {
        STAILQ_FIRST(&call->answers)->answer.group = group;
    }
    run_call_judge(scheduler, call, verdict, group);
}

/* The lock is held.  The handler did not get the delivery, so it becomes the first of its queue
 * again, unless the slot has dropped it or its handler time-out has expired. */
static void run_call_put_back(struct scheduler *scheduler, smq_delivery *delivery)
{
    struct run_queue *queue = delivery->queue;

    delivery->call = NULL;
    if (queue == NULL || atomic_load(&delivery->answered) != DELIVERY_OPEN) {
        atomic_store(&delivery->answered, DELIVERY_ANSWERED);
        delivery_unref(delivery); /* the answerer's reference */
        return;
    }
    STAILQ_INSERT_HEAD(&delivery->key->waiting, delivery, link);
    run_queue_unbegin(scheduler, delivery);
}

/* The lock is held.  No delivery of the call was begun: smq:io confirms the queue first. */
static void run_call_cancel(struct scheduler *scheduler, struct run_call *call)
{
    struct run_queue *queue = call->queue;

    for (size_t i = call->count; i > 0; i--) {
        run_call_put_back(scheduler, call->deliveries[i - 1]);
    }
    run_call_leave_queue(scheduler, call);
    if (queue != NULL) {
        scheduler->state.busy--;
        run_queue_await_confirmation(scheduler, queue);
    } else {
        scheduler->state.hung--;
    }
    call->post = !scheduler->state.closed;
}

/* The lock is held.  The call does not need its deliveries any more. */
static void run_call_drop_deliveries(struct run_call *call)
{
    smq_delivery *delivery;

    STAILQ_FOREACH(delivery, &call->answers, link)
    {
        delivery->call = NULL;
    }
    for (size_t i = 0; i < call->count; i++) {
        delivery = call->deliveries[i];
        if (delivery != NULL && delivery->call == NULL) {
            delivery_unref(delivery); /* another thread has answered it */
        } else if (delivery != NULL) {
            delivery->call = NULL;
        }
    }
}

/* The lock is held.  Deliveries without an answer are left for later (SMQ_LATER).  Returns the
 * queue if it has waited for the call. */
static struct run_queue *run_call_end(struct scheduler *scheduler, struct run_call *call)
{
    struct run_queue *queue = call->queue;
    smq_delivery *delivery;

    run_call_drop_deliveries(call);
    if (!run_queues_answer(scheduler, &call->answers, &call->post)) {
        while ((delivery = STAILQ_FIRST(&call->answers)) != NULL) {
            STAILQ_REMOVE_HEAD(&call->answers, link);
            hooks_unsettled(delivery, SMQ_CLOSED);
            delivery_unref(delivery); /* the answerer's reference */
        }
    }
    run_call_leave_queue(scheduler, call);
    if (queue != NULL) {
        scheduler->state.busy--;
    } else {
        scheduler->state.hung--;
    }
    call->post = (call->post || scheduler->state.watched) && !scheduler->state.closed;
    return queue;
}

/* The loop exists until this thread has ended. */
static void run_call_post(struct scheduler *scheduler, struct run_call *call)
{
    if (call->post) {
        call->post = false;
        loop_post(scheduler->io, scheduler->task);
    }
}

/* The lock is held.  Take the queue for another call; false: another thread or the confirmation of
 * the queue has it, or there is nothing to begin. */
static bool run_call_takes_queue(struct scheduler *scheduler, struct run_queue *queue)
{
    if ((queue->place != RUN_OUT && queue->place != RUN_QUEUED) ||
        !run_queue_can_begin(scheduler, queue)) {
        return false;
    }
    run_queue_withdraw(scheduler, queue);
    return true;
}

/* The lock is held on entry and return, and released while the handler runs.  Other threads may run
 * other keys of the queue in the meantime. */
static void run_call_run_queue(struct scheduler *scheduler, struct run_queue *queue,
                               struct run_call *call)
{
    for (size_t run = 0; run < (size_t) scheduler->turn && !scheduler->state.ended;
         run += call->count) {
        run_call_begin(scheduler, call, queue);
        run_queue_offer(scheduler, queue);
        run_queues_unlock_first(scheduler);
        run_call_post(scheduler, call);
        /* checked as late as possible, because the process may have been stopped until now */
        if (run_queues_confirmation(scheduler, call->until_ms, clock_now_ms()) !=
            CONFIRMATION_GOOD) {
            run_queues_lock(scheduler);
            run_call_cancel(scheduler, call);
            return;
        }
        run_call_run(scheduler, call);
        run_queues_lock(scheduler);
        if (run_call_end(scheduler, call) == NULL || !run_call_takes_queue(scheduler, queue)) {
            return;
        }
    }
    run_queue_offer(scheduler, queue);
}

/* The lock is held on entry and return, and released during the callback. */
static void run_dead_notify(struct scheduler *scheduler, struct run_dead *dead)
{
    STAILQ_REMOVE_HEAD(&scheduler->state.dead, link);
    scheduler->state.busy++;
    run_queues_unlock(scheduler);
    scheduler->dead(&dead->info, scheduler->user);
    run_queues_lock(scheduler);
    scheduler->state.busy--;
    scheduler->state.deads--;
    run_queues_post(scheduler);
    delivery_unref(dead->delivery);
    free(dead);
}

void scheduler_work(struct scheduler *scheduler)
{
    struct run_call call = {.most = scheduler->batch != NULL ? (size_t) scheduler->turn : 1};
    struct run_dead *dead;
    struct run_queue *queue;

    call.deliveries = memory_new(call.most * sizeof(*call.deliveries));
    call.keys = memory_new(call.most * sizeof(struct run_key *));
    scheduler_of_thread = scheduler;
    run_queues_lock(scheduler);
    while (!scheduler->state.ended) {
        bool enough = scheduler->threads > 0 && scheduler->state.busy >= scheduler->threads;

        if (call.post) {
            run_queues_unlock_first(scheduler);
            run_call_post(scheduler, &call);
            run_queues_lock(scheduler);
            continue;
        }
        dead = enough ? NULL : STAILQ_FIRST(&scheduler->state.dead);
        queue = enough ? NULL : TAILQ_FIRST(&scheduler->state.queues);
        if (dead != NULL) {
            run_dead_notify(scheduler, dead);
        } else if (queue != NULL) {
            run_queue_withdraw(scheduler, queue);
            run_call_run_queue(scheduler, queue, &call);
        } else {
            run_queues_wake(scheduler);
            pthread_cond_wait(&scheduler->state.ready, &scheduler->state.lock);
        }
    }
    run_queues_unlock(scheduler);
    run_call_post(scheduler, &call);
    scheduler_of_thread = NULL;
    free(call.deliveries);
    free(call.keys);
}

bool scheduler_inside(const struct scheduler *scheduler)
{
    return scheduler_of_thread == scheduler;
}

/* --- dead letters --- */

void scheduler_notify_dead(struct scheduler *scheduler, smq_delivery *delivery, const char *reason,
                           int64_t at_ms)
{
    struct run_dead *dead;

    if (scheduler->dead == NULL) {
        return;
    }
    dead = memory_new(sizeof(*dead));
    dead->delivery = delivery;
    dead->info = delivery->info;
    dead->info.state = SMQ_STATE_DEAD;
    dead->info.dead_at_ms = at_ms;
    dead->info.retries_left = 0;
    dead->info.reason = reason;
    delivery_ref(delivery);
    run_queues_lock(scheduler);
    scheduler->state.deads++;
    STAILQ_INSERT_TAIL(&scheduler->state.dead, dead, link);
    pthread_cond_signal(&scheduler->state.ready);
    run_queues_unlock(scheduler);
}

bool scheduler_has_dead(struct scheduler *scheduler)
{
    bool has;

    run_queues_lock(scheduler);
    has = scheduler->state.deads > 0;
    run_queues_unlock(scheduler);
    return has;
}
