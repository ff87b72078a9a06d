/* scheduler.c - the calls of smq:io, handlers and polls to a scheduler, each under its lock.
 *
 * Thread: as each function of scheduler.h says. */
#include "consume/run/run_queues.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/thread.h"

static void scheduler_init_state(struct scheduler *scheduler)
{
    pthread_mutex_init(&scheduler->state.lock, NULL);
    thread_cond_init(&scheduler->state.ready);
    TAILQ_INIT(&scheduler->state.queues);
    TAILQ_INIT(&scheduler->state.unconfirmed);
    TAILQ_INIT(&scheduler->state.begun);
    STAILQ_INIT(&scheduler->state.dead);
    STAILQ_INIT(&scheduler->state.answers);
    flush_init(&scheduler->state.flushes);
    scheduler->state.shown = READY_NONE;
    scheduler->state.polled_ms = clock_now_ms();
}

static void scheduler_free(struct delivery_origin *origin)
{
    struct scheduler *scheduler = OWNER_OF(origin, struct scheduler, origin);

    pthread_mutex_destroy(&scheduler->state.lock);
    pthread_cond_destroy(&scheduler->state.ready);
    flush_fini(&scheduler->state.flushes);
    run_key_table_fini(&scheduler->state.keys);
    extensions_fini(&scheduler->extensions);
    membership_unref(scheduler->membership);
    delivery_origin_fini(&scheduler->origin);
    free(scheduler);
}

struct scheduler *scheduler_new(const struct scheduler_options *options)
{
    struct scheduler *scheduler = memory_new(sizeof(*scheduler));

    delivery_origin_init(&scheduler->origin, options->topic, scheduler_free);
    scheduler->handler = options->handler;
    scheduler->batch = options->batch;
    scheduler->dead = options->dead;
    scheduler->user = options->user;
    scheduler->turn = options->turn;
    scheduler->timed = options->timed;
    scheduler->threads = (size_t) options->threads;
    scheduler->events = options->events;
    atomic_flag_clear(&scheduler->mistaken);
    if (options->hooks != NULL) {
        scheduler->hooks = *options->hooks;
    }
    scheduler->io = options->io;
    scheduler->call = options->call;
    scheduler->task = options->task;
    scheduler->back = options->back;
    scheduler->polled = options->per_slot > 0;
    scheduler->per_slot = scheduler->polled ? (size_t) options->per_slot : SIZE_MAX;
    extensions_init(&scheduler->extensions, options->io, options->extended);
    atomic_init(&scheduler->lease_ms, INT64_MAX);
    scheduler_init_state(scheduler);
    run_key_table_init(&scheduler->state.keys);
    return scheduler;
}

void scheduler_unref(struct scheduler *scheduler)
{
    delivery_origin_unref(&scheduler->origin);
}

struct delivery_origin *scheduler_origin(struct scheduler *scheduler)
{
    return &scheduler->origin;
}

struct scheduler *scheduler_of(const smq_delivery *delivery)
{
    return OWNER_OF(delivery->origin, struct scheduler, origin);
}

struct extensions *scheduler_extensions(struct scheduler *scheduler)
{
    return &scheduler->extensions;
}

/* --- confirmations --- */

void scheduler_guard(struct scheduler *scheduler, struct membership *membership, int64_t lease_ms)
{
    if (membership != NULL && scheduler->membership == NULL) {
        scheduler->membership = membership_ref(membership);
    }
    atomic_store(&scheduler->lease_ms, lease_ms);
}

bool scheduler_is_over(const struct scheduler *scheduler)
{
    int64_t until_ms = run_queues_member_until(scheduler);

    return until_ms != INT64_MAX && clock_now_ms() >= until_ms;
}

struct run_queue *scheduler_take_unconfirmed(struct scheduler *scheduler)
{
    struct run_queue *queue;

    run_queues_lock(scheduler);
    queue = TAILQ_FIRST(&scheduler->state.unconfirmed);
    if (queue != NULL) {
        run_queue_enter(scheduler, queue, RUN_ASKED);
    }
    run_queues_unlock(scheduler);
    return queue;
}

void scheduler_set_confirmed(struct scheduler *scheduler, struct run_queue *queue)
{
    run_queues_lock(scheduler);
    if (queue->place != RUN_QUEUED) {
        run_queue_withdraw(scheduler, queue);
    }
    run_queue_offer(scheduler, queue);
    run_queues_unlock(scheduler);
}

/* --- answers --- */

bool scheduler_answer(struct scheduler *scheduler, struct delivery_list *list)
{
    bool taken, post;

    run_queues_lock(scheduler);
    taken = run_queues_answer(scheduler, list, &post);
    if (post) {
        run_queues_post(scheduler);
    }
    run_queues_unlock(scheduler);
    return taken;
}

void scheduler_refuse(struct scheduler *scheduler, smq_delivery *delivery, smq_status status)
{
    run_queues_lock(scheduler);
    run_call_keep(delivery);
    flush_note_refused(&scheduler->state.flushes, status);
    run_queues_unlock(scheduler);
}

/* --- smq:io --- */

void scheduler_add(struct scheduler *scheduler, struct run_queue *queue, struct delivery_list *list)
{
    run_keys_prepare(list);
    run_queues_lock(scheduler);
    run_keys_add(&scheduler->state.keys, queue, list);
    run_queue_offer(scheduler, queue);
    scheduler->state.added += scheduler->state.offered ? 1 : 0;
    scheduler->state.offered = false;
    run_queues_unlock(scheduler);
}

void scheduler_wake_threads(struct scheduler *scheduler)
{
    size_t added;

    run_queues_lock(scheduler);
    added = scheduler->state.added;
    scheduler->state.added = 0;
    run_queues_unlock(scheduler);
    for (; added > 0; added--) { /* after unlocking, so that a woken thread finds the lock free */
        pthread_cond_signal(&scheduler->state.ready);
    }
}

void scheduler_take_answers(struct scheduler *scheduler, struct delivery_list *out)
{
    run_queues_lock(scheduler);
    STAILQ_CONCAT(out, &scheduler->state.answers);
    run_queues_unlock(scheduler);
}

void scheduler_recall(struct scheduler *scheduler, struct run_queue *queue,
                      struct delivery_list *out)
{
    run_queues_lock(scheduler);
    run_queue_recall(scheduler, queue, out);
    run_queues_unlock(scheduler);
}

void scheduler_recall_held(struct scheduler *scheduler, smq_delivery *delivery,
                           struct delivery_list *out)
{
    run_queues_lock(scheduler);
    if (delivery->holds) {
        run_key_recall(&scheduler->state.keys, delivery->key, out);
    }
    run_queues_unlock(scheduler);
}

void scheduler_hold(struct scheduler *scheduler, struct run_queue *queue, smq_delivery *delivery)
{
    run_queues_lock(scheduler);
    if (scheduler->state.strict && !delivery->holds) {
        run_key_hold(&scheduler->state.keys, queue, delivery);
        run_queue_withdraw_empty(scheduler, queue);
    }
    run_queues_unlock(scheduler);
}

bool scheduler_is_held(struct scheduler *scheduler, struct run_queue *queue,
                       const smq_delivery *delivery)
{
    const struct run_key *key;
    bool held;

    run_queues_lock(scheduler);
    key = run_key_look_up(&scheduler->state.keys, queue, delivery);
    held = key != NULL && key->held > 0;
    run_queues_unlock(scheduler);
    return held;
}

void scheduler_set_strict(struct scheduler *scheduler, bool strict)
{
    run_queues_lock(scheduler);
    scheduler->state.strict = strict;
    run_queues_unlock(scheduler);
}

int32_t scheduler_hung(struct scheduler *scheduler)
{
    int32_t hung;

    run_queues_lock(scheduler);
    hung = scheduler->state.hung;
    run_queues_unlock(scheduler);
    return hung;
}

int64_t scheduler_overdue(struct scheduler *scheduler, int64_t begun_ms, struct delivery_list *out)
{
    smq_delivery *delivery, *next;
    int64_t first_ms;

    run_queues_lock(scheduler);
    for (delivery = TAILQ_FIRST(&scheduler->state.begun);
         delivery != NULL && delivery->begun_us / 1000 <= begun_ms; delivery = next) {
        int open = DELIVERY_OPEN;

        next = TAILQ_NEXT(delivery, begun_link);
        if (atomic_compare_exchange_strong(&delivery->answered, &open, DELIVERY_OVERDUE)) {
            STAILQ_INSERT_TAIL(out, delivery, link);
            delivery_set_validity(delivery, SMQ_LEASE_LOST);
            run_queue_detach(scheduler, delivery);
            run_queue_answered(scheduler, delivery, STORE_HUNG);
        } /* else it is being answered just now */
    }
    delivery = TAILQ_FIRST(&scheduler->state.begun);
    first_ms = delivery != NULL ? delivery->begun_us / 1000 : -1;
    run_queues_unlock(scheduler);
    return first_ms;
}

bool scheduler_forget(struct scheduler *scheduler, smq_delivery *delivery)
{
    struct run_queue *queue;
    bool unbegun = false;

    run_queues_lock(scheduler);
    queue = delivery->queue;
    flush_untrack(&scheduler->state.flushes, delivery);
    if (delivery->begun) {
        run_queue_settle(scheduler, delivery);
    } else if (queue != NULL && !atomic_load(&delivery->answered)) {
        unbegun = run_queue_remove(scheduler, queue, delivery);
    }
    if (queue != NULL) { /* its answer will not be looked at any more */
        run_queue_end_hold(scheduler, delivery);
    }
    delivery->queue = NULL;
    run_queues_unlock(scheduler);
    return unbegun;
}

void scheduler_forget_answered(struct scheduler *scheduler, smq_delivery **deliveries, size_t count)
{
    run_queues_lock(scheduler);
    for (size_t i = 0; i < count; i++) {
        flush_untrack(&scheduler->state.flushes, deliveries[i]);
        if (deliveries[i]->begun) {
            run_queue_settle(scheduler, deliveries[i]);
        }
        run_queue_end_hold(scheduler, deliveries[i]);
        deliveries[i]->queue = NULL;
    }
    run_queues_unlock(scheduler);
}

bool scheduler_is_quiet(struct scheduler *scheduler, const struct run_queue *queue)
{
    bool quiet;

    run_queues_lock(scheduler);
    quiet = queue->calls == 0 && queue->begun == 0;
    run_queues_unlock(scheduler);
    return quiet;
}

bool scheduler_lacks_keys(struct scheduler *scheduler, struct run_queue *queue, size_t most)
{
    bool few;

    run_queues_lock(scheduler);
    few = queue->key_count > 0 && queue->key_count < most;
    queue->awaited = few && scheduler->polled && !TAILQ_EMPTY(&queue->ready);
    few = few && !queue->awaited;
    run_queues_unlock(scheduler);
    return few;
}

bool scheduler_take_emptied(struct scheduler *scheduler)
{
    bool emptied;

    run_queues_lock(scheduler);
    emptied = scheduler->state.emptied;
    scheduler->state.emptied = false;
    run_queues_unlock(scheduler);
    return emptied;
}

void scheduler_append_blocked(struct scheduler *scheduler, const struct run_queue *queue,
                              struct buf *out)
{
    run_queues_lock(scheduler);
    run_keys_append_blocked(queue, out);
    run_queues_unlock(scheduler);
}

void scheduler_watch(struct scheduler *scheduler, bool watch)
{
    run_queues_lock(scheduler);
    scheduler->state.watched = watch;
    run_queues_unlock(scheduler);
}

void scheduler_close(struct scheduler *scheduler)
{
    run_queues_lock(scheduler);
    scheduler->state.closed = true;
    pthread_cond_broadcast(&scheduler->state.ready);
    run_queues_unlock(scheduler);
    extensions_close(&scheduler->extensions);
}

void scheduler_end(struct scheduler *scheduler)
{
    struct run_deads dead = STAILQ_HEAD_INITIALIZER(dead);
    struct run_dead *first;

    run_queues_lock(scheduler);
    scheduler->state.ended = true;
    pthread_cond_broadcast(&scheduler->state.ready);
    STAILQ_CONCAT(&dead, &scheduler->state.dead);
    run_queues_unlock(scheduler);
    while ((first = STAILQ_FIRST(&dead)) != NULL) {
        STAILQ_REMOVE_HEAD(&dead, link);
        delivery_unref(first->delivery);
        free(first);
    }
}
