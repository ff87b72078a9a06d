/* polls.c - a run queue without handlers: polls, their descriptor, and flushes.
 *
 * Thread: as each function of run_queue.h says. */
#include "consume/run/run_queue_internal.h"

#include <errno.h>
#include <sys/eventfd.h>

#include "base/clock.h"

/* Only the first and the last reason to poll cost a call of the kernel. */
void run_queue_update(struct run_queue *queue)
{
    bool readable = queue->state.closed || queue->state.nudged || !TAILQ_EMPTY(&queue->state.lanes);
    eventfd_t count;

    if (queue->state.descriptor < 0 || queue->state.readable == readable) {
        return;
    }
    queue->state.readable = readable;
    if (readable) {
        (void) eventfd_write(queue->state.descriptor, 1);
    } else {
        (void) eventfd_read(queue->state.descriptor, &count);
    }
}

/* --- polls --- */

/* The lock is held.  false: the time is over. */
static bool wait_for(struct run_queue *queue, pthread_cond_t *changed, int64_t timeout_ms,
                     const struct timespec *deadline)
{
    run_queue_update(queue);
    run_queue_wake(queue);
    return (timeout_ms < 0
                ? pthread_cond_wait(changed, &queue->state.lock)
                : pthread_cond_timedwait(changed, &queue->state.lock, deadline)) != ETIMEDOUT;
}

/* The lock is held.  Take what may be begun of a lane; NULL: no more of it. */
static smq_delivery *take_first(struct run_queue *queue, struct run_lane *lane, int64_t now_ms)
{
    smq_delivery *delivery = STAILQ_FIRST(&lane->ready);

    if (delivery == NULL || lane->begun >= queue->per_slot) {
        return NULL;
    }
    if (run_queue_judge(queue, run_lane_until(queue, delivery), now_ms) != CONFIRMATION_GOOD) {
        run_lane_doubt(queue, lane);
        run_queue_post(queue);
        return NULL;
    }
    STAILQ_REMOVE_HEAD(&lane->ready, link);
    run_lane_begin(queue, delivery, now_ms);
    return delivery;
}

/* The lock is held. */
static size_t take_ready(struct run_queue *queue, smq_delivery **out, size_t capacity)
{
    int64_t now_ms = clock_now_ms();
    struct run_lane *lane;
    size_t count = 0;

    while (count < capacity && (lane = TAILQ_FIRST(&queue->state.lanes)) != NULL) {
        run_lane_withdraw(queue, lane);
        while (count < capacity && (out[count] = take_first(queue, lane, now_ms)) != NULL) {
            count++;
        }
        run_lane_offer(queue, lane);
    }
    return count;
}

/* The lock is held. */
static void poll_begin(struct run_queue *queue)
{
    queue->state.pollers++;
    queue->state.nudged = false;
    if (queue->state.resting && !queue->state.closed) {
        queue->state.resting = false;
        loop_post(queue->io, queue->back);
    }
}

bool run_queue_poll(struct run_queue *queue, smq_delivery **out, size_t *count, size_t capacity,
                    int64_t timeout_ms)
{
    struct timespec deadline = clock_deadline(timeout_ms);
    size_t taken = 0;
    bool closed, again = true;

    run_queue_lock(queue);
    poll_begin(queue);
    while (!queue->state.closed && (taken = take_ready(queue, out, capacity)) == 0 && again) {
        again = wait_for(queue, &queue->state.ready, timeout_ms, &deadline);
    }
    closed = queue->state.closed && taken == 0;
    queue->state.pollers--;
    queue->state.polled_ms = clock_now_ms();
    run_queue_unlock(queue);
    if (!closed) {
        *count = taken;
    }
    return !closed;
}

void run_queue_set_descriptor(struct run_queue *queue, int descriptor)
{
    run_queue_lock(queue);
    queue->state.descriptor = descriptor;
    run_queue_unlock(queue);
}

int64_t run_queue_idle_ms(struct run_queue *queue)
{
    int64_t idle;

    run_queue_lock(queue);
    idle = queue->state.pollers > 0 ? 0 : clock_now_ms() - queue->state.polled_ms;
    run_queue_unlock(queue);
    return idle;
}

void run_queue_wake_poller(struct run_queue *queue)
{
    run_queue_lock(queue);
    queue->state.nudged = true;
    run_queue_unlock(queue);
}

bool run_queue_suspend(struct run_queue *queue, int64_t gap_ms)
{
    bool rest;

    run_queue_lock(queue);
    rest = queue->state.pollers == 0 && clock_now_ms() - queue->state.polled_ms >= gap_ms;
    queue->state.resting = queue->state.nudged = rest;
    run_queue_unlock(queue);
    return rest;
}

/* --- flushes --- */

static bool is_late(smq_status status)
{
    return status == SMQ_LEASE_LOST || status == SMQ_FENCED;
}

/* The lock is held.  What is certain is told rather than what is not. */
static void note_late(struct run_queue *queue, smq_status status)
{
    if (is_late(status) || (status == SMQ_UNKNOWN && !is_late(queue->state.late))) {
        queue->state.late = status;
    }
}

void run_queue_open(struct run_queue *queue, smq_delivery *delivery)
{
    smq_status standing = delivery_standing(delivery);

    if (delivery->lane == NULL) { /* its slot has dropped it since it was looked at */
        queue->state.late = is_late(standing) ? standing : SMQ_LEASE_LOST;
        return;
    }
    delivery->open_number = ++queue->state.answer_count;
    TAILQ_INSERT_TAIL(&queue->state.open, delivery, open_link);
}

void run_queue_stored(struct run_queue *queue, smq_delivery *delivery)
{
    smq_status standing = delivery_standing(delivery);

    if (delivery->open_number == 0) {
        return;
    }
    delivery->open_number = 0;
    TAILQ_REMOVE(&queue->state.open, delivery, open_link);
    note_late(queue, standing);
    pthread_cond_broadcast(&queue->state.stored);
}

/* The lock is held.  Is an answer up to this number not stored yet? */
static bool is_open(struct run_queue *queue, uint64_t number)
{
    smq_delivery *first = TAILQ_FIRST(&queue->state.open);

    return first != NULL && first->open_number <= number;
}

bool run_queue_flush(struct run_queue *queue, smq_status *late, int64_t timeout_ms)
{
    struct timespec deadline = clock_deadline(timeout_ms);
    bool again = true, stored;
    uint64_t number;

    run_queue_lock(queue);
    number = queue->state.answer_count;
    while (is_open(queue, number) && again) {
        again = wait_for(queue, &queue->state.stored, timeout_ms, &deadline);
    }
    stored = !is_open(queue, number);
    if (stored) {
        *late = queue->state.late;
        queue->state.late = SMQ_OK;
    }
    run_queue_unlock(queue);
    return stored;
}

void run_queue_refuse(struct run_queue *queue, smq_delivery *delivery, smq_status status)
{
    run_queue_lock(queue);
    run_call_keep(delivery);
    queue->state.late = status;
    run_queue_unlock(queue);
}
