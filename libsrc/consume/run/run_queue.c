/* run_queue.c - the calls of smq:io, handlers and polls to a run queue, each under its lock.
 *
 * Thread: as each function of run_queue.h says. */
#include "consume/run/lanes.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/thread.h"

static void run_queue_init_state(struct run_queue *queue)
{
    pthread_mutex_init(&queue->state.lock, NULL);
    thread_cond_init(&queue->state.ready);
    TAILQ_INIT(&queue->state.lanes);
    TAILQ_INIT(&queue->state.unconfirmed);
    TAILQ_INIT(&queue->state.begun);
    STAILQ_INIT(&queue->state.dead);
    STAILQ_INIT(&queue->state.answers);
    flush_init(&queue->state.flushes);
    queue->state.descriptor = -1;
    queue->state.polled_ms = clock_now_ms();
}

static void run_queue_free(struct delivery_origin *origin)
{
    struct run_queue *queue = OWNER_OF(origin, struct run_queue, origin);

    pthread_mutex_destroy(&queue->state.lock);
    pthread_cond_destroy(&queue->state.ready);
    flush_fini(&queue->state.flushes);
    run_key_table_fini(&queue->state.keys);
    extensions_fini(&queue->extensions);
    membership_unref(queue->membership);
    delivery_origin_fini(&queue->origin);
    free(queue);
}

struct run_queue *run_queue_new(const struct run_queue_options *options)
{
    struct run_queue *queue = memory_new(sizeof(*queue));

    delivery_origin_init(&queue->origin, options->topic, run_queue_free);
    queue->handler = options->handler;
    queue->batch = options->batch;
    queue->dead = options->dead;
    queue->user = options->user;
    queue->turn = options->turn;
    queue->timed = options->timed;
    queue->threads = (size_t) options->threads;
    queue->events = options->events;
    atomic_flag_clear(&queue->mistaken);
    queue->io = options->io;
    queue->task = options->task;
    queue->back = options->back;
    queue->polled = options->per_slot > 0;
    queue->per_slot = queue->polled ? (size_t) options->per_slot : SIZE_MAX;
    extensions_init(&queue->extensions, options->io, options->extended);
    atomic_init(&queue->lease_ms, INT64_MAX);
    run_queue_init_state(queue);
    run_key_table_init(&queue->state.keys, options->by_key,
                       queue->polled && !options->by_key ? queue->per_slot : 1);
    return queue;
}

void run_queue_unref(struct run_queue *queue)
{
    delivery_origin_unref(&queue->origin);
}

struct delivery_origin *run_queue_origin(struct run_queue *queue)
{
    return &queue->origin;
}

struct run_queue *run_queue_of(const smq_delivery *delivery)
{
    return OWNER_OF(delivery->origin, struct run_queue, origin);
}

struct extensions *run_queue_extensions(struct run_queue *queue)
{
    return &queue->extensions;
}

/* --- confirmations --- */

void run_queue_guard(struct run_queue *queue, struct membership *membership, int64_t lease_ms)
{
    if (membership != NULL && queue->membership == NULL) {
        queue->membership = membership_ref(membership);
    }
    atomic_store(&queue->lease_ms, lease_ms);
}

bool run_queue_is_over(const struct run_queue *queue)
{
    int64_t until_ms = run_lanes_member_until(queue);

    return until_ms != INT64_MAX && clock_now_ms() >= until_ms;
}

struct run_lane *run_queue_take_unconfirmed(struct run_queue *queue)
{
    struct run_lane *lane;

    run_lanes_lock(queue);
    lane = TAILQ_FIRST(&queue->state.unconfirmed);
    if (lane != NULL) {
        run_lane_enter(queue, lane, LANE_ASKED);
    }
    run_lanes_unlock(queue);
    return lane;
}

void run_queue_set_confirmed(struct run_queue *queue, struct run_lane *lane)
{
    run_lanes_lock(queue);
    if (lane->place != LANE_QUEUED) {
        run_lane_withdraw(queue, lane);
    }
    run_lane_offer(queue, lane);
    run_lanes_unlock(queue);
}

/* --- answers --- */

bool run_queue_answer(struct run_queue *queue, struct delivery_list *list)
{
    bool taken, post;

    run_lanes_lock(queue);
    taken = run_lanes_answer(queue, list, &post);
    if (post) {
        run_lanes_post(queue);
    }
    run_lanes_unlock(queue);
    return taken;
}

void run_queue_refuse(struct run_queue *queue, smq_delivery *delivery, smq_status status)
{
    run_lanes_lock(queue);
    run_call_keep(delivery);
    flush_note_refused(&queue->state.flushes, status);
    run_lanes_unlock(queue);
}

/* --- smq:io --- */

void run_queue_add(struct run_queue *queue, struct run_lane *lane, struct delivery_list *list)
{
    run_keys_prepare(&queue->state.keys, lane, list);
    run_lanes_lock(queue);
    run_keys_add(&queue->state.keys, lane, list);
    run_lane_offer(queue, lane);
    queue->state.added += queue->state.offered ? 1 : 0;
    queue->state.offered = false;
    run_lanes_unlock(queue);
}

void run_queue_wake_threads(struct run_queue *queue)
{
    size_t added;

    run_lanes_lock(queue);
    added = queue->state.added;
    queue->state.added = 0;
    run_lanes_unlock(queue);
    for (; added > 0; added--) { /* after unlocking, so that a woken thread finds the lock free */
        pthread_cond_signal(&queue->state.ready);
    }
}

void run_queue_take_answers(struct run_queue *queue, struct delivery_list *out)
{
    run_lanes_lock(queue);
    STAILQ_CONCAT(out, &queue->state.answers);
    run_lanes_unlock(queue);
}

void run_queue_recall(struct run_queue *queue, struct run_lane *lane, struct delivery_list *out)
{
    run_lanes_lock(queue);
    run_lane_recall(queue, lane, out);
    run_lanes_unlock(queue);
}

void run_queue_recall_held(struct run_queue *queue, smq_delivery *delivery,
                           struct delivery_list *out)
{
    run_lanes_lock(queue);
    if (delivery->holds) {
        run_key_recall(&queue->state.keys, delivery->key, out);
    }
    run_lanes_unlock(queue);
}

void run_queue_hold(struct run_queue *queue, struct run_lane *lane, smq_delivery *delivery)
{
    run_lanes_lock(queue);
    if (queue->state.strict && !delivery->holds) {
        run_key_hold(&queue->state.keys, lane, delivery);
        run_lane_withdraw_empty(queue, lane);
    }
    run_lanes_unlock(queue);
}

bool run_queue_is_held(struct run_queue *queue, struct run_lane *lane, const smq_delivery *delivery)
{
    const struct run_key *key;
    bool held;

    run_lanes_lock(queue);
    key = run_key_look_up(&queue->state.keys, lane, delivery);
    held = key != NULL && key->held > 0;
    run_lanes_unlock(queue);
    return held;
}

void run_queue_set_strict(struct run_queue *queue, bool strict)
{
    run_lanes_lock(queue);
    queue->state.strict = strict;
    run_lanes_unlock(queue);
}

int32_t run_queue_hung(struct run_queue *queue)
{
    int32_t hung;

    run_lanes_lock(queue);
    hung = queue->state.hung;
    run_lanes_unlock(queue);
    return hung;
}

int64_t run_queue_overdue(struct run_queue *queue, int64_t begun_ms, struct delivery_list *out)
{
    smq_delivery *delivery, *next;
    int64_t first_ms;

    run_lanes_lock(queue);
    for (delivery = TAILQ_FIRST(&queue->state.begun);
         delivery != NULL && delivery->begun_ms <= begun_ms; delivery = next) {
        int open = DELIVERY_OPEN;

        next = TAILQ_NEXT(delivery, begun_link);
        if (atomic_compare_exchange_strong(&delivery->answered, &open, DELIVERY_OVERDUE)) {
            STAILQ_INSERT_TAIL(out, delivery, link);
            delivery_set_validity(delivery, SMQ_LEASE_LOST);
            run_lane_detach(queue, delivery);
            run_lane_answered(queue, delivery, STORE_HUNG);
        } /* else it is being answered just now */
    }
    delivery = TAILQ_FIRST(&queue->state.begun);
    first_ms = delivery != NULL ? delivery->begun_ms : -1;
    run_lanes_unlock(queue);
    return first_ms;
}

bool run_queue_forget(struct run_queue *queue, smq_delivery *delivery)
{
    struct run_lane *lane;
    bool unbegun = false;

    run_lanes_lock(queue);
    lane = delivery->lane;
    flush_untrack(&queue->state.flushes, delivery);
    if (delivery->begun) {
        run_lane_settle(queue, delivery);
    } else if (lane != NULL && !atomic_load(&delivery->answered)) {
        unbegun = run_lane_remove(queue, lane, delivery);
    }
    if (lane != NULL) { /* its answer will not be looked at any more */
        run_lane_end_hold(queue, delivery);
    }
    delivery->lane = NULL;
    run_lanes_unlock(queue);
    return unbegun;
}

void run_queue_forget_answered(struct run_queue *queue, smq_delivery **deliveries, size_t count)
{
    run_lanes_lock(queue);
    for (size_t i = 0; i < count; i++) {
        flush_untrack(&queue->state.flushes, deliveries[i]);
        if (deliveries[i]->begun) {
            run_lane_settle(queue, deliveries[i]);
        }
        run_lane_end_hold(queue, deliveries[i]);
        deliveries[i]->lane = NULL;
    }
    run_lanes_unlock(queue);
}

bool run_queue_is_quiet(struct run_queue *queue, const struct run_lane *lane)
{
    bool quiet;

    run_lanes_lock(queue);
    quiet = lane->calls == 0 && lane->begun == 0;
    run_lanes_unlock(queue);
    return quiet;
}

bool run_queue_is_waiting(struct run_queue *queue, const struct run_lane *lane)
{
    bool waiting;

    run_lanes_lock(queue);
    waiting = !queue->polled && !queue->state.keys.apart && lane->calls == 0 && lane->begun > 0;
    run_lanes_unlock(queue);
    return waiting;
}

bool run_queue_lacks_keys(struct run_queue *queue, struct run_lane *lane, size_t most)
{
    bool few;

    run_lanes_lock(queue);
    few = lane->key_count < most;
    lane->awaited = few && queue->polled && !TAILQ_EMPTY(&lane->ready);
    few = few && !lane->awaited;
    run_lanes_unlock(queue);
    return few;
}

bool run_queue_take_emptied(struct run_queue *queue)
{
    bool emptied;

    run_lanes_lock(queue);
    emptied = queue->state.emptied;
    queue->state.emptied = false;
    run_lanes_unlock(queue);
    return emptied;
}

void run_queue_append_blocked(struct run_queue *queue, const struct run_lane *lane, struct buf *out)
{
    run_lanes_lock(queue);
    run_keys_append_blocked(lane, out);
    run_lanes_unlock(queue);
}

void run_queue_watch(struct run_queue *queue, bool watch)
{
    run_lanes_lock(queue);
    queue->state.watched = watch;
    run_lanes_unlock(queue);
}

void run_queue_close(struct run_queue *queue)
{
    run_lanes_lock(queue);
    queue->state.closed = true;
    pthread_cond_broadcast(&queue->state.ready);
    run_lanes_unlock(queue);
    extensions_close(&queue->extensions);
}

void run_queue_end(struct run_queue *queue)
{
    struct run_deads dead = STAILQ_HEAD_INITIALIZER(dead);
    struct run_dead *first;

    run_lanes_lock(queue);
    queue->state.ended = true;
    pthread_cond_broadcast(&queue->state.ready);
    STAILQ_CONCAT(&dead, &queue->state.dead);
    run_lanes_unlock(queue);
    while ((first = STAILQ_FIRST(&dead)) != NULL) {
        STAILQ_REMOVE_HEAD(&dead, link);
        delivery_unref(first->delivery);
        free(first);
    }
}
