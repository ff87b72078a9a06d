/* polls.c - a run queue without handlers: polls, their descriptor, and flushes.
 *
 * Thread: as each function of run_queue.h says. */
#include "consume/run/lanes.h"

#include <errno.h>

#include "base/clock.h"

/* --- polls --- */

/* The lock is held.  Returns false when the time has passed. */
static bool poll_wait(struct run_queue *queue, pthread_cond_t *changed, int64_t timeout_ms,
                      const struct timespec *deadline)
{
    run_lanes_before_unlock(queue);
    return (timeout_ms < 0
                ? pthread_cond_wait(changed, &queue->state.lock)
                : pthread_cond_timedwait(changed, &queue->state.lock, deadline)) != ETIMEDOUT;
}

/* The lock is held.  Take the next delivery of a lane that may be begun; NULL: there is none. */
static smq_delivery *poll_take_first(struct run_queue *queue, struct run_lane *lane, int64_t now_ms)
{
    struct run_key *key = TAILQ_FIRST(&lane->ready);

    if (!run_lane_can_begin(queue, lane)) {
        return NULL;
    }
    if (run_lanes_confirmation(queue, run_lane_until(queue, STAILQ_FIRST(&key->waiting)), now_ms) !=
        CONFIRMATION_GOOD) {
        run_lane_await_confirmation(queue, lane);
        run_lanes_post(queue);
        return NULL;
    }
    return run_lane_begin(queue, key, now_ms);
}

/* The lock is held.  If all that was ready was taken, smq:io may claim more of the slot. */
static void poll_report_emptied(struct run_queue *queue, struct run_lane *lane)
{
    if (lane->awaited && TAILQ_EMPTY(&lane->ready)) {
        lane->awaited = false;
        queue->state.emptied = true;
        run_lanes_post(queue);
    }
}

/* The lock is held. */
static size_t poll_take(struct run_queue *queue, smq_delivery **out, size_t capacity)
{
    int64_t now_ms = clock_now_ms();
    struct run_lane *lane;
    size_t count = 0;

    while (count < capacity && (lane = TAILQ_FIRST(&queue->state.lanes)) != NULL) {
        run_lane_withdraw(queue, lane);
        while (count < capacity && (out[count] = poll_take_first(queue, lane, now_ms)) != NULL) {
            count++;
        }
        run_lane_offer(queue, lane);
        poll_report_emptied(queue, lane);
    }
    return count;
}

/* The lock is held. */
static void poll_begin(struct run_queue *queue)
{
    queue->state.pollers++;
    queue->state.poller_woken = false;
    if (queue->state.suspended && !queue->state.closed) {
        queue->state.suspended = false;
        loop_post(queue->io, queue->back);
    }
}

bool run_queue_poll(struct run_queue *queue, smq_delivery **out, size_t *count, size_t capacity,
                    int64_t timeout_ms)
{
    struct timespec deadline = clock_deadline(timeout_ms);
    size_t taken = 0;
    bool closed, again = true;

    run_lanes_lock(queue);
    poll_begin(queue);
    while (!queue->state.closed && (taken = poll_take(queue, out, capacity)) == 0 && again) {
        again = poll_wait(queue, &queue->state.ready, timeout_ms, &deadline);
    }
    closed = queue->state.closed && taken == 0;
    queue->state.pollers--;
    queue->state.polled_ms = clock_now_ms();
    run_lanes_unlock(queue);
    if (!closed) {
        *count = taken;
    }
    return !closed;
}

void run_queue_set_descriptor(struct run_queue *queue, int descriptor)
{
    run_lanes_lock(queue);
    queue->state.descriptor = descriptor;
    run_lanes_unlock(queue);
}

int64_t run_queue_idle_ms(struct run_queue *queue)
{
    int64_t idle;

    run_lanes_lock(queue);
    idle = queue->state.pollers > 0 ? 0 : clock_now_ms() - queue->state.polled_ms;
    run_lanes_unlock(queue);
    return idle;
}

void run_queue_wake_poller(struct run_queue *queue)
{
    run_lanes_lock(queue);
    queue->state.poller_woken = true;
    run_lanes_unlock(queue);
}

bool run_queue_suspend(struct run_queue *queue, int64_t gap_ms)
{
    bool idle;

    run_lanes_lock(queue);
    idle = queue->state.pollers == 0 && clock_now_ms() - queue->state.polled_ms >= gap_ms;
    queue->state.suspended = queue->state.poller_woken = idle;
    run_lanes_unlock(queue);
    return idle;
}

/* --- flushes --- */

bool run_queue_flush(struct run_queue *queue, smq_status *late, int64_t timeout_ms)
{
    struct flushes *flushes = &queue->state.flushes;
    struct timespec deadline = clock_deadline(timeout_ms);
    bool again = true, stored;
    uint64_t number;

    run_lanes_lock(queue);
    number = flushes->last_number;
    flushes->waiting++;
    if (flush_is_waiting(flushes, number)) {
        run_lanes_post(queue);
    }
    while (flush_is_waiting(flushes, number) && again) {
        again = poll_wait(queue, &flushes->stored, timeout_ms, &deadline);
    }
    flushes->waiting--;
    stored = !flush_is_waiting(flushes, number);
    if (stored) {
        *late = flush_take_late(flushes);
    }
    run_lanes_unlock(queue);
    return stored;
}

bool run_queue_is_flushed(struct run_queue *queue)
{
    bool flushed;

    if (!queue->polled) {
        return false;
    }
    run_lanes_lock(queue);
    flushed = queue->state.flushes.waiting > 0;
    run_lanes_unlock(queue);
    return flushed;
}
