/* handlers.c - the handler threads of a run queue.
 *
 * Thread: smq:work-N, but where run_queue.h says otherwise. */
#include "consume/run/lanes.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/event.h"
#include "base/memory.h"
#include "consume/run/answer.h"

static _Thread_local const struct run_queue *run_queue_of_thread;

/* The lock is held.  As many deliveries of the key as the call has room for. */
static void run_call_take(struct run_queue *queue, struct run_call *call, struct run_key *key,
                          int64_t now_ms)
{
    while (call->count < call->most && !STAILQ_EMPTY(&key->waiting)) {
        smq_delivery *delivery = run_lane_begin(queue, key, now_ms);
        int64_t until_ms = run_lane_until(queue, delivery);

        call->until_ms = until_ms < call->until_ms ? until_ms : call->until_ms;
        delivery->call = call;
        key->called++;
        call->keys[call->count] = key;
        call->deliveries[call->count++] = delivery;
    }
    run_key_update(&queue->state.keys, key);
}

/* The lock is held. */
static void run_call_begin(struct run_queue *queue, struct run_call *call, struct run_lane *lane)
{
    int64_t now_ms = queue->timed ? clock_now_ms() : 0;
    struct run_key *key;

    call->count = 0;
    call->until_ms = INT64_MAX;
    while (call->count < call->most && (key = TAILQ_FIRST(&lane->ready)) != NULL) {
        run_call_take(queue, call, key, now_ms);
    }
    call->lane = lane;
    lane->calls++;
    queue->state.busy++;
}

/* `unanswered` deliveries of the call had no answer. */
static void run_call_judge(struct run_queue *queue, const struct run_call *call,
                           smq_verdict verdict, size_t unanswered)
{
    const char *topic = queue->origin.topic;

    if (!answer_is_verdict(verdict) && !atomic_flag_test_and_set(&queue->mistaken)) {
        events_log(queue->events, SMQ_LEVEL_ERROR,
                   "a handler of topic %s returned %d, which is no verdict: its messages are "
                   "retried; return SMQ_DONE, SMQ_RETRY or another smq_verdict",
                   topic, (int) verdict);
    } else if (verdict == SMQ_ANSWERED && unanswered > 0 &&
               !atomic_flag_test_and_set(&queue->mistaken)) {
        events_log(queue->events, SMQ_LEVEL_ERROR,
                   "a handler of topic %s returned SMQ_ANSWERED and had not answered %zu of %zu "
                   "messages: they are retried",
                   topic, unanswered, call->count);
    }
}

static void run_call_run(struct run_queue *queue, struct run_call *call)
{
    size_t group = 0;
    smq_verdict verdict = queue->batch != NULL
                              ? queue->batch(call->deliveries, call->count, queue->user)
                              : queue->handler(call->deliveries[0], queue->user);

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
    run_call_judge(queue, call, verdict, group);
}

/* The lock is held.  The handler did not get the delivery, so it becomes the first of its lane
 * again, unless the slot has dropped it or its handler time-out has expired. */
static void run_call_put_back(struct run_queue *queue, smq_delivery *delivery)
{
    struct run_lane *lane = delivery->lane;

    delivery->call = NULL;
    if (lane == NULL || atomic_load(&delivery->answered) != DELIVERY_OPEN) {
        atomic_store(&delivery->answered, DELIVERY_ANSWERED);
        delivery_unref(delivery); /* the answerer's reference */
        return;
    }
    STAILQ_INSERT_HEAD(&delivery->key->waiting, delivery, link);
    run_lane_unbegin(queue, delivery);
}

/* The lock is held.  No delivery of the call was begun: smq:io confirms the lane first. */
static void run_call_cancel(struct run_queue *queue, struct run_call *call)
{
    struct run_lane *lane = call->lane;

    for (size_t i = call->count; i > 0; i--) {
        run_call_put_back(queue, call->deliveries[i - 1]);
    }
    run_call_leave_lane(queue, call);
    if (lane != NULL) {
        queue->state.busy--;
        run_lane_await_confirmation(queue, lane);
    } else {
        queue->state.hung--;
    }
    call->post = !queue->state.closed;
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

/* The lock is held.  Deliveries without an answer are left for later (SMQ_LATER).  Returns the lane
 * if it has waited for the call. */
static struct run_lane *run_call_end(struct run_queue *queue, struct run_call *call)
{
    struct run_lane *lane = call->lane;
    smq_delivery *delivery;

    run_call_drop_deliveries(call);
    if (!run_lanes_answer(queue, &call->answers, &call->post)) {
        while ((delivery = STAILQ_FIRST(&call->answers)) != NULL) {
            STAILQ_REMOVE_HEAD(&call->answers, link);
            delivery_unref(delivery); /* the answerer's reference */
        }
    }
    run_call_leave_lane(queue, call);
    if (lane != NULL) {
        queue->state.busy--;
    } else {
        queue->state.hung--;
    }
    call->post = (call->post || queue->state.watched) && !queue->state.closed;
    return lane;
}

/* The loop exists until this thread has ended. */
static void run_call_post(struct run_queue *queue, struct run_call *call)
{
    if (call->post) {
        call->post = false;
        loop_post(queue->io, queue->task);
    }
}

/* The lock is held.  Take the lane for another call; false: another thread or the confirmation of
 * the lane has it, or there is nothing to begin. */
static bool run_call_takes_lane(struct run_queue *queue, struct run_lane *lane)
{
    if ((lane->place != LANE_OUT && lane->place != LANE_QUEUED) ||
        !run_lane_can_begin(queue, lane)) {
        return false;
    }
    run_lane_withdraw(queue, lane);
    return true;
}

/* The lock is held on entry and return, and released while the handler runs.  Other threads may run
 * other keys of the lane in the meantime. */
static void run_call_run_lane(struct run_queue *queue, struct run_lane *lane, struct run_call *call)
{
    for (size_t run = 0; run < (size_t) queue->turn && !queue->state.ended; run += call->count) {
        run_call_begin(queue, call, lane);
        run_lane_offer(queue, lane);
        run_lanes_unlock_first(queue);
        run_call_post(queue, call);
        /* checked as late as possible, because the process may have been stopped until now */
        if (run_lanes_confirmation(queue, call->until_ms, clock_now_ms()) != CONFIRMATION_GOOD) {
            run_lanes_lock(queue);
            run_call_cancel(queue, call);
            return;
        }
        run_call_run(queue, call);
        run_lanes_lock(queue);
        if (run_call_end(queue, call) == NULL || !run_call_takes_lane(queue, lane)) {
            return;
        }
    }
    run_lane_offer(queue, lane);
}

/* The lock is held on entry and return, and released during the callback. */
static void run_dead_notify(struct run_queue *queue, struct run_dead *dead)
{
    STAILQ_REMOVE_HEAD(&queue->state.dead, link);
    queue->state.busy++;
    run_lanes_unlock(queue);
    queue->dead(&dead->info, queue->user);
    run_lanes_lock(queue);
    queue->state.busy--;
    queue->state.deads--;
    run_lanes_post(queue);
    delivery_unref(dead->delivery);
    free(dead);
}

void run_queue_work(struct run_queue *queue)
{
    struct run_call call = {.most = queue->batch != NULL ? (size_t) queue->turn : 1};
    struct run_dead *dead;
    struct run_lane *lane;

    call.deliveries = memory_new(call.most * sizeof(*call.deliveries));
    call.keys = memory_new(call.most * sizeof(struct run_key *));
    run_queue_of_thread = queue;
    run_lanes_lock(queue);
    while (!queue->state.ended) {
        bool enough = queue->threads > 0 && queue->state.busy >= queue->threads;

        if (call.post) {
            run_lanes_unlock_first(queue);
            run_call_post(queue, &call);
            run_lanes_lock(queue);
            continue;
        }
        dead = enough ? NULL : STAILQ_FIRST(&queue->state.dead);
        lane = enough ? NULL : TAILQ_FIRST(&queue->state.lanes);
        if (dead != NULL) {
            run_dead_notify(queue, dead);
        } else if (lane != NULL) {
            run_lane_withdraw(queue, lane);
            run_call_run_lane(queue, lane, &call);
        } else {
            run_lanes_wake(queue);
            pthread_cond_wait(&queue->state.ready, &queue->state.lock);
        }
    }
    run_lanes_unlock(queue);
    run_call_post(queue, &call);
    run_queue_of_thread = NULL;
    free(call.deliveries);
    free(call.keys);
}

bool run_queue_inside(const struct run_queue *queue)
{
    return run_queue_of_thread == queue;
}

/* --- dead letters --- */

void run_queue_notify_dead(struct run_queue *queue, smq_delivery *delivery, const char *reason,
                           int64_t at_ms)
{
    struct run_dead *dead;

    if (queue->dead == NULL) {
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
    run_lanes_lock(queue);
    queue->state.deads++;
    STAILQ_INSERT_TAIL(&queue->state.dead, dead, link);
    pthread_cond_signal(&queue->state.ready);
    run_lanes_unlock(queue);
}

bool run_queue_has_dead(struct run_queue *queue)
{
    bool has;

    run_lanes_lock(queue);
    has = queue->state.deads > 0;
    run_lanes_unlock(queue);
    return has;
}
