/* lanes.c - the locked state of a run queue: which lane may run, and which threads are woken.
 *
 * Thread: any.  The lock of the queue is held, except where lanes.h says otherwise. */
#include "consume/run/lanes.h"

#include <sys/eventfd.h>

#include "base/check.h"
#include "base/steps.h"

static void run_lanes_check(const struct run_queue *queue)
{
    const struct run_lane *lane;
    const smq_delivery *delivery;

    TAILQ_FOREACH(lane, &queue->state.lanes, link)
    {
        assert(lane->place == LANE_QUEUED && run_lane_can_begin(queue, lane));
        assert(run_key_may_begin(TAILQ_FIRST(&lane->ready), queue->state.keys.most));
    }
    TAILQ_FOREACH(lane, &queue->state.unconfirmed, link)
    {
        assert(lane->place == LANE_UNCONFIRMED);
    }
    TAILQ_FOREACH(delivery, &queue->state.begun, begun_link)
    {
        assert(delivery->begun && delivery->lane != NULL && delivery->lane->begun > 0);
        assert(delivery->key->lane == delivery->lane && delivery->key->begun > 0);
    }
}

/* --- the lock --- */

void run_lanes_lock(struct run_queue *queue)
{
    pthread_mutex_lock(&queue->state.lock);
}

void run_lanes_wake(struct run_queue *queue)
{
    if (queue->state.offered) {
        queue->state.offered = false;
        pthread_cond_signal(&queue->state.ready);
    }
}

/* A system call is made only when the descriptor changes between readable and not readable. */
static void run_lanes_update_descriptor(struct run_queue *queue)
{
    bool readable =
        queue->state.closed || queue->state.poller_woken || !TAILQ_EMPTY(&queue->state.lanes);
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

void run_lanes_before_unlock(struct run_queue *queue)
{
    CHECK(run_lanes_check(queue));
    run_lanes_update_descriptor(queue);
    run_lanes_wake(queue);
}

void run_lanes_unlock(struct run_queue *queue)
{
    run_lanes_before_unlock(queue);
    pthread_mutex_unlock(&queue->state.lock);
}

void run_lanes_unlock_first(struct run_queue *queue)
{
    bool offered = queue->state.offered;

    CHECK(run_lanes_check(queue));
    queue->state.offered = false;
    run_lanes_update_descriptor(queue);
    pthread_mutex_unlock(&queue->state.lock);
    if (offered) {
        pthread_cond_signal(&queue->state.ready);
    }
}

/* The loop exists until run_queue_close(). */
void run_lanes_post(struct run_queue *queue)
{
    if (!queue->state.closed) {
        loop_post(queue->io, queue->task);
    }
}

/* --- confirmations --- */

void run_lane_confirm(struct run_lane *lane, int64_t asked_ms)
{
    if (asked_ms > atomic_load_explicit(&lane->confirmed_ms, memory_order_relaxed)) {
        atomic_store_explicit(&lane->confirmed_ms, asked_ms, memory_order_relaxed);
    }
}

int64_t run_lane_until(const struct run_queue *queue, const smq_delivery *delivery)
{
    const struct membership *membership = queue->membership;
    int64_t lease_ms = atomic_load_explicit(&queue->lease_ms, memory_order_relaxed);

    if (lease_ms == INT64_MAX) {
        return INT64_MAX;
    }
    if (membership == NULL) {
        return atomic_load_explicit(&delivery->leased_until_ms, memory_order_relaxed);
    }
    return confirmation_until(
        atomic_load_explicit(&delivery->lane->confirmed_ms, memory_order_relaxed), lease_ms,
        atomic_load_explicit(&membership->valid_ms, memory_order_relaxed),
        atomic_load_explicit(&membership->invalidated_ms, memory_order_relaxed));
}

int64_t run_lanes_member_until(const struct run_queue *queue)
{
    return queue->membership != NULL
               ? atomic_load_explicit(&queue->membership->until_ms, memory_order_relaxed)
               : INT64_MAX;
}

enum confirmation run_lanes_confirmation(const struct run_queue *queue, int64_t until_ms,
                                         int64_t now_ms)
{
    return confirmation_at(now_ms, until_ms, run_lanes_member_until(queue));
}

void run_lane_await_confirmation(struct run_queue *queue, struct run_lane *lane)
{
    if (run_lane_may(lane->place, LANE_UNCONFIRMED) && !TAILQ_EMPTY(&lane->ready)) {
        run_lane_enter(queue, lane, LANE_UNCONFIRMED);
    }
}

/* --- lanes --- */

void run_lane_init(struct run_lane *lane)
{
    *lane = (struct run_lane){.place = LANE_OUT};
    TAILQ_INIT(&lane->keys);
    TAILQ_INIT(&lane->ready);
    run_key_init(&lane->whole, lane);
    TAILQ_INSERT_TAIL(&lane->keys, &lane->whole, link);
}

bool run_lane_may(enum run_lane_place from, enum run_lane_place to)
{
    static const unsigned steps[LANE_PLACES] = {
        [LANE_OUT] = STEP(LANE_QUEUED) | STEP(LANE_UNCONFIRMED),
        [LANE_QUEUED] = STEP(LANE_OUT) | STEP(LANE_UNCONFIRMED),
        [LANE_UNCONFIRMED] = STEP(LANE_OUT) | STEP(LANE_ASKED),
        [LANE_ASKED] = STEP(LANE_OUT),
    };

    return steps_allow(steps, from, to);
}

static struct run_lanes *run_lane_list(struct run_queue *queue, enum run_lane_place place)
{
    return place == LANE_QUEUED        ? &queue->state.lanes
           : place == LANE_UNCONFIRMED ? &queue->state.unconfirmed
                                       : NULL;
}

void run_lane_enter(struct run_queue *queue, struct run_lane *lane, enum run_lane_place place)
{
    struct run_lanes *from = run_lane_list(queue, lane->place);
    struct run_lanes *to = run_lane_list(queue, place);

    assert(run_lane_may(lane->place, place));
    lane->place = place;
    if (from != NULL) {
        TAILQ_REMOVE(from, lane, link);
    }
    if (to != NULL) {
        TAILQ_INSERT_TAIL(to, lane, link);
    }
}

bool run_lane_can_begin(const struct run_queue *queue, const struct run_lane *lane)
{
    return lane->begun < queue->per_slot && !TAILQ_EMPTY(&lane->ready);
}

void run_lane_offer(struct run_queue *queue, struct run_lane *lane)
{
    if (lane->place != LANE_OUT || !run_lane_can_begin(queue, lane)) {
        return;
    }
    run_lane_enter(queue, lane, LANE_QUEUED);
    run_lanes_wake(queue); /* one thread for each lane */
    queue->state.offered = true;
}

void run_lane_withdraw(struct run_queue *queue, struct run_lane *lane)
{
    if (lane->place != LANE_OUT) {
        run_lane_enter(queue, lane, LANE_OUT);
    }
}

void run_lane_withdraw_empty(struct run_queue *queue, struct run_lane *lane)
{
    if (TAILQ_EMPTY(&lane->ready)) {
        run_lane_withdraw(queue, lane);
    }
}

smq_delivery *run_lane_begin(struct run_queue *queue, struct run_key *key, int64_t now_ms)
{
    smq_delivery *delivery = STAILQ_FIRST(&key->waiting);

    STAILQ_REMOVE_HEAD(&key->waiting, link);
    delivery->begun = true;
    delivery->lane->begun++;
    key->begun++;
    run_key_update(&queue->state.keys, key);
    if (queue->timed) {
        delivery->begun_ms = now_ms;
        TAILQ_INSERT_TAIL(&queue->state.begun, delivery, begun_link);
    }
    return delivery;
}

void run_lane_unbegin(struct run_queue *queue, smq_delivery *delivery)
{
    delivery->begun = false;
    delivery->lane->begun--;
    delivery->key->begun--;
    run_key_update(&queue->state.keys, delivery->key);
    if (queue->timed) {
        TAILQ_REMOVE(&queue->state.begun, delivery, begun_link);
    }
}

void run_lane_settle(struct run_queue *queue, smq_delivery *delivery)
{
    if (delivery->begun) {
        run_lane_unbegin(queue, delivery);
        run_lane_offer(queue, delivery->lane);
    }
}

void run_lane_answered(struct run_queue *queue, smq_delivery *delivery, enum store_answer_op op)
{
    struct run_lane *lane = delivery->lane;

    if (lane == NULL) {
        return; /* the slot has dropped the delivery */
    }
    if (queue->state.strict && !delivery_op_is_final(op)) {
        delivery->holds = true;
        delivery->key->held++;
        run_key_update(&queue->state.keys, delivery->key);
        run_lane_withdraw_empty(queue, lane);
    }
    run_lane_settle(queue, delivery);
}

void run_lane_end_hold(struct run_queue *queue, smq_delivery *delivery)
{
    if (delivery->holds) {
        delivery->holds = false;
        delivery->key->held--;
        run_key_update(&queue->state.keys, delivery->key);
        run_lane_offer(queue, delivery->lane);
    }
}

void run_call_leave_lane(struct run_queue *queue, struct run_call *call)
{
    if (call->lane == NULL) {
        return;
    }
    call->lane->calls--;
    call->lane = NULL;
    for (size_t i = 0; i < call->count; i++) {
        call->keys[i]->called--;
        run_key_update(&queue->state.keys, call->keys[i]);
    }
}

void run_lane_detach(struct run_queue *queue, smq_delivery *delivery)
{
    struct run_call *call = delivery->call;

    if (call != NULL && call->lane != NULL) {
        run_call_leave_lane(queue, call);
        queue->state.busy--;
        queue->state.hung++;
        pthread_cond_signal(&queue->state.ready);
    }
}

bool run_lane_remove(struct run_queue *queue, struct run_lane *lane, smq_delivery *delivery)
{
    if (!run_key_remove(&queue->state.keys, delivery)) {
        return false;
    }
    run_lane_withdraw_empty(queue, lane);
    return true;
}

void run_lane_recall(struct run_queue *queue, struct run_lane *lane, struct delivery_list *out)
{
    run_lane_withdraw(queue, lane);
    run_keys_recall(&queue->state.keys, lane, out);
}

/* --- answers --- */

void run_call_keep(smq_delivery *delivery)
{
    if (delivery->call != NULL) {
        delivery->call = NULL;
        delivery_ref(delivery);
    }
}

bool run_lanes_answer(struct run_queue *queue, struct delivery_list *answers, bool *post)
{
    smq_delivery *delivery;

    *post = false;
    STAILQ_FOREACH(delivery, answers, link)
    {
        run_call_keep(delivery);
        run_lane_answered(queue, delivery, delivery->answer.op);
        if (queue->polled && !queue->state.closed) {
            flush_track(&queue->state.flushes, delivery);
        }
    }
    if (queue->state.closed) {
        return false;
    }
    if (!STAILQ_EMPTY(answers)) {
        *post = STAILQ_EMPTY(&queue->state.answers); /* else a post is pending already */
        STAILQ_CONCAT(&queue->state.answers, answers);
    }
    return true;
}
