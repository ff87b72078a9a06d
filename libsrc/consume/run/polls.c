/* polls.c - a scheduler without handlers: polls, their descriptor, and flushes.
 *
 * Thread: as each function of scheduler.h says. */
#include "consume/run/run_queues.h"

#include <errno.h>

#include "base/clock.h"
#include "consume/run/hooks.h"

/* --- polls --- */

/* The lock is held.  Returns false when the time has passed. */
static bool poll_wait(struct scheduler *scheduler, pthread_cond_t *changed, int64_t timeout_ms,
                      const struct timespec *deadline)
{
    run_queues_before_unlock(scheduler);
    return (timeout_ms < 0
                ? pthread_cond_wait(changed, &scheduler->state.lock)
                : pthread_cond_timedwait(changed, &scheduler->state.lock, deadline)) != ETIMEDOUT;
}

/* The lock is held.  Take the next delivery of a queue that may be begun; NULL: there is none. */
static smq_delivery *poll_take_first(struct scheduler *scheduler, struct run_queue *queue,
                                     int64_t now_ms)
{
    struct run_key *key = TAILQ_FIRST(&queue->ready);

    if (!run_queue_can_begin(scheduler, queue)) {
        return NULL;
    }
    if (run_queues_confirmation(scheduler, run_queue_until(scheduler, STAILQ_FIRST(&key->waiting)),
                                now_ms) != CONFIRMATION_GOOD) {
        run_queue_await_confirmation(scheduler, queue);
        run_queues_post(scheduler);
        return NULL;
    }
    return run_queue_begin(scheduler, key, clock_now_us());
}

/* The lock is held.  If all that was ready was taken, smq:io may claim more of the slot. */
static void poll_report_emptied(struct scheduler *scheduler, struct run_queue *queue)
{
    if (queue->awaited && TAILQ_EMPTY(&queue->ready)) {
        queue->awaited = false;
        scheduler->state.emptied = true;
        run_queues_post(scheduler);
    }
}

/* The lock is held. */
static size_t poll_take(struct scheduler *scheduler, smq_delivery **out, size_t capacity)
{
    int64_t now_ms = clock_now_ms();
    struct run_queue *queue;
    size_t count = 0;

    while (count < capacity && (queue = TAILQ_FIRST(&scheduler->state.queues)) != NULL) {
        run_queue_withdraw(scheduler, queue);
        while (count < capacity &&
               (out[count] = poll_take_first(scheduler, queue, now_ms)) != NULL) {
            count++;
        }
        run_queue_offer(scheduler, queue);
        poll_report_emptied(scheduler, queue);
    }
    return count;
}

/* The lock is held. */
static void poll_begin(struct scheduler *scheduler)
{
    scheduler->state.pollers++;
    scheduler->state.poller_woken = false;
    if (scheduler->state.suspended && !scheduler->state.closed) {
        scheduler->state.suspended = false;
        loop_post(scheduler->io, scheduler->back);
    }
}

bool scheduler_poll(struct scheduler *scheduler, smq_delivery **out, size_t *count, size_t capacity,
                    int64_t timeout_ms)
{
    struct timespec deadline = clock_deadline(timeout_ms);
    size_t taken = 0;
    bool closed, again = capacity > 0;

    run_queues_lock(scheduler);
    poll_begin(scheduler);
    while (!scheduler->state.closed && (taken = poll_take(scheduler, out, capacity)) == 0 &&
           again) {
        again = poll_wait(scheduler, &scheduler->state.ready, timeout_ms, &deadline);
    }
    closed = scheduler->state.closed && taken == 0;
    scheduler->state.pollers--;
    scheduler->state.polled_ms = clock_now_ms();
    run_queues_unlock(scheduler);
    hooks_begin(scheduler, out, taken);
    if (!closed) {
        *count = taken;
    }
    return !closed;
}

void scheduler_set_descriptor(struct scheduler *scheduler, int descriptor)
{
    run_queues_lock(scheduler);
    scheduler->state.shown.fd = descriptor;
    run_queues_unlock(scheduler);
}

int64_t scheduler_idle_ms(struct scheduler *scheduler)
{
    int64_t idle;

    run_queues_lock(scheduler);
    idle = scheduler->state.pollers > 0 ? 0 : clock_now_ms() - scheduler->state.polled_ms;
    run_queues_unlock(scheduler);
    return idle;
}

void scheduler_wake_poller(struct scheduler *scheduler)
{
    run_queues_lock(scheduler);
    scheduler->state.poller_woken = true;
    run_queues_unlock(scheduler);
}

bool scheduler_suspend(struct scheduler *scheduler, int64_t gap_ms)
{
    bool idle;

    run_queues_lock(scheduler);
    idle = scheduler->state.pollers == 0 && clock_now_ms() - scheduler->state.polled_ms >= gap_ms;
    scheduler->state.suspended = scheduler->state.poller_woken = idle;
    run_queues_unlock(scheduler);
    return idle;
}

/* --- flushes --- */

bool scheduler_flush(struct scheduler *scheduler, smq_status *late, int64_t timeout_ms)
{
    struct flushes *flushes = &scheduler->state.flushes;
    struct timespec deadline = clock_deadline(timeout_ms);
    bool again = true, stored;
    uint64_t number;

    run_queues_lock(scheduler);
    number = flushes->last_number;
    flushes->waiting++;
    if (flush_is_waiting(flushes, number)) {
        run_queues_post(scheduler);
    }
    while (flush_is_waiting(flushes, number) && again) {
        again = poll_wait(scheduler, &flushes->stored, timeout_ms, &deadline);
    }
    flushes->waiting--;
    stored = !flush_is_waiting(flushes, number);
    if (stored) {
        *late = flush_take_late(flushes);
    }
    run_queues_unlock(scheduler);
    return stored;
}

bool scheduler_is_flushed(struct scheduler *scheduler)
{
    bool flushed;

    if (!scheduler->polled) {
        return false;
    }
    run_queues_lock(scheduler);
    flushed = scheduler->state.flushes.waiting > 0;
    run_queues_unlock(scheduler);
    return flushed;
}
