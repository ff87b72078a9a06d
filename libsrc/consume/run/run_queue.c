/* run_queue.c - lanes of deliveries, and their answers on the way back.
 *
 * Thread: as each function of run_queue.h says. */
#include "consume/run/run_queue_internal.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"

static void init_state(struct run_queue *queue)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&queue->state.lock, NULL);
    pthread_cond_init(&queue->state.ready, &attributes);
    pthread_cond_init(&queue->state.stored, &attributes);
    pthread_condattr_destroy(&attributes);
    TAILQ_INIT(&queue->state.lanes);
    TAILQ_INIT(&queue->state.doubted);
    TAILQ_INIT(&queue->state.begun);
    STAILQ_INIT(&queue->state.dead);
    STAILQ_INIT(&queue->state.answers);
    TAILQ_INIT(&queue->state.open);
    queue->state.descriptor = -1;
    queue->state.polled_ms = clock_now_ms();
}

struct run_queue *run_queue_new(const struct run_queue_options *options)
{
    struct run_queue *queue = memory_new(sizeof(*queue));

    atomic_init(&queue->references, 1);
    queue->pid = getpid();
    queue->topic = memory_string(options->topic);
    queue->handler = options->handler;
    queue->batch = options->batch;
    queue->dead = options->dead;
    queue->user = options->user;
    queue->turn = options->turn;
    queue->timed = options->timed;
    queue->threads = (size_t) options->threads;
    queue->io = options->io;
    queue->task = options->task;
    queue->back = options->back;
    queue->polled = options->per_slot > 0;
    queue->per_slot = queue->polled ? (size_t) options->per_slot : 1;
    extensions_init(&queue->extensions, options->io, options->extended);
    atomic_init(&queue->lease_ms, INT64_MAX);
    init_state(queue);
    return queue;
}

struct run_queue *run_queue_ref(struct run_queue *queue)
{
    atomic_fetch_add_explicit(&queue->references, 1, memory_order_relaxed);
    return queue;
}

void run_queue_unref(struct run_queue *queue)
{
    if (atomic_fetch_sub(&queue->references, 1) != 1) {
        return;
    }
    pthread_mutex_destroy(&queue->state.lock);
    pthread_cond_destroy(&queue->state.ready);
    extensions_fini(&queue->extensions);
    pthread_cond_destroy(&queue->state.stored);
    membership_unref(queue->membership);
    free(queue->topic);
    free(queue);
}

const char *run_queue_topic(const struct run_queue *queue)
{
    return queue->topic;
}

struct extensions *run_queue_extensions(struct run_queue *queue)
{
    return &queue->extensions;
}

smq_status run_queue_check_process(const struct run_queue *queue, smq_error *err)
{
    if (queue->pid != getpid()) {
        return status_set(err, SMQ_FORKED, "what consumes the topic was made before fork()");
    }
    return SMQ_OK;
}

void run_queue_lock(struct run_queue *queue)
{
    pthread_mutex_lock(&queue->state.lock);
}

void run_queue_wake(struct run_queue *queue)
{
    if (queue->state.offered) {
        queue->state.offered = false;
        pthread_cond_signal(&queue->state.ready);
    }
}

void run_queue_unlock(struct run_queue *queue)
{
    run_queue_update(queue);
    run_queue_wake(queue);
    pthread_mutex_unlock(&queue->state.lock);
}

void run_queue_unlock_first(struct run_queue *queue)
{
    bool offered = queue->state.offered;

    queue->state.offered = false;
    run_queue_update(queue);
    pthread_mutex_unlock(&queue->state.lock);
    if (offered) {
        pthread_cond_signal(&queue->state.ready);
    }
}

/* The loop is there until run_queue_close(). */
void run_queue_post(struct run_queue *queue)
{
    if (!queue->state.closed) {
        loop_post(queue->io, queue->task);
    }
}

void run_lane_offer(struct run_queue *queue, struct run_lane *lane)
{
    if (lane->queued || lane->doubted || lane->held || lane->call != NULL ||
        lane->begun >= queue->per_slot || STAILQ_EMPTY(&lane->ready)) {
        return;
    }
    lane->queued = true;
    TAILQ_INSERT_TAIL(&queue->state.lanes, lane, link);
    run_queue_wake(queue); /* one for each */
    queue->state.offered = true;
}

void run_lane_unbegin(struct run_queue *queue, smq_delivery *delivery)
{
    delivery->begun = false;
    delivery->lane->begun--;
    if (queue->timed) {
        TAILQ_REMOVE(&queue->state.begun, delivery, begun_link);
    }
}

/* The lock is held.  Nobody has to answer this delivery any more. */
static void lane_settle(struct run_queue *queue, smq_delivery *delivery)
{
    if (delivery->begun) {
        run_lane_unbegin(queue, delivery);
        run_lane_offer(queue, delivery->lane);
    }
}

/* The lock is held.  The answer is `op`. */
static void lane_answered(struct run_queue *queue, smq_delivery *delivery, enum store_answer_op op)
{
    struct run_lane *lane = delivery->lane;

    if (lane == NULL) {
        return; /* its slot has dropped it */
    }
    if (queue->state.strict && !delivery_is_over(op)) {
        delivery->holds = true;
        lane->held++;
    }
    lane_settle(queue, delivery);
}

void run_lane_begin(struct run_queue *queue, smq_delivery *delivery, int64_t now_ms)
{
    delivery->begun = true;
    delivery->lane->begun++;
    if (queue->timed) {
        delivery->begun_ms = now_ms;
        TAILQ_INSERT_TAIL(&queue->state.begun, delivery, begun_link);
    }
}

void run_lane_withdraw(struct run_queue *queue, struct run_lane *lane)
{
    if (lane->queued) {
        lane->queued = false;
        TAILQ_REMOVE(&queue->state.lanes, lane, link);
    }
}

/* --- confirmations --- */

void run_queue_guard(struct run_queue *queue, struct membership *membership, int64_t lease_ms)
{
    if (membership != NULL && queue->membership == NULL) {
        queue->membership = membership_ref(membership);
    }
    atomic_store(&queue->lease_ms, lease_ms);
}

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
        atomic_load_explicit(&membership->trust_ms, memory_order_relaxed),
        atomic_load_explicit(&membership->doubted_ms, memory_order_relaxed));
}

static int64_t member_until(const struct run_queue *queue)
{
    return queue->membership != NULL
               ? atomic_load_explicit(&queue->membership->until_ms, memory_order_relaxed)
               : INT64_MAX;
}

enum confirmation run_queue_judge(const struct run_queue *queue, int64_t until_ms, int64_t now_ms)
{
    return confirmation_judge(now_ms, until_ms, member_until(queue));
}

bool run_queue_is_over(const struct run_queue *queue)
{
    int64_t until_ms = member_until(queue);

    return until_ms != INT64_MAX && clock_now_ms() >= until_ms;
}

void run_lane_doubt(struct run_queue *queue, struct run_lane *lane)
{
    if (!lane->doubted && !STAILQ_EMPTY(&lane->ready)) {
        run_lane_withdraw(queue, lane);
        lane->doubted = true;
        TAILQ_INSERT_TAIL(&queue->state.doubted, lane, link);
    }
}

struct run_lane *run_queue_take_doubted(struct run_queue *queue)
{
    struct run_lane *lane;

    run_queue_lock(queue);
    lane = TAILQ_FIRST(&queue->state.doubted);
    if (lane != NULL) {
        TAILQ_REMOVE(&queue->state.doubted, lane, link);
        lane->doubt_told = true;
    }
    run_queue_unlock(queue);
    return lane;
}

/* The lock is held. */
static void lane_trust(struct run_queue *queue, struct run_lane *lane)
{
    if (lane->doubted && !lane->doubt_told) {
        TAILQ_REMOVE(&queue->state.doubted, lane, link);
    }
    lane->doubted = lane->doubt_told = false;
}

void run_queue_trust(struct run_queue *queue, struct run_lane *lane)
{
    run_queue_lock(queue);
    lane_trust(queue, lane);
    run_lane_offer(queue, lane);
    run_queue_unlock(queue);
}

/* --- answers --- */

void run_call_keep(smq_delivery *delivery)
{
    if (delivery->called) {
        delivery->called = false;
        delivery_ref(delivery);
    }
}

bool run_queue_take(struct run_queue *queue, struct delivery_list *answers, bool *post)
{
    smq_delivery *delivery;

    *post = false;
    STAILQ_FOREACH(delivery, answers, link)
    {
        run_call_keep(delivery);
        lane_answered(queue, delivery, delivery->answer.op);
        if (queue->polled && !queue->state.closed) {
            run_queue_open(queue, delivery);
        }
    }
    if (queue->state.closed) {
        return false;
    }
    if (!STAILQ_EMPTY(answers)) {
        *post = STAILQ_EMPTY(&queue->state.answers); /* else it is told already */
        STAILQ_CONCAT(&queue->state.answers, answers);
    }
    return true;
}

bool run_queue_answer(struct run_queue *queue, smq_delivery *delivery)
{
    struct delivery_list answers = STAILQ_HEAD_INITIALIZER(answers);
    bool taken, post;

    STAILQ_INSERT_TAIL(&answers, delivery, link);
    run_queue_lock(queue);
    taken = run_queue_take(queue, &answers, &post);
    if (post) {
        run_queue_post(queue);
    }
    run_queue_unlock(queue);
    return taken;
}

/* --- smq:io --- */

void run_lane_init(struct run_lane *lane)
{
    *lane = (struct run_lane){.queued = false};
    STAILQ_INIT(&lane->ready);
}

void run_queue_add(struct run_queue *queue, struct run_lane *lane, struct delivery_list *list)
{
    run_queue_lock(queue);
    STAILQ_CONCAT(&lane->ready, list);
    run_lane_offer(queue, lane);
    queue->state.added += queue->state.offered ? 1 : 0;
    queue->state.offered = false;
    run_queue_unlock(queue);
}

void run_queue_rouse(struct run_queue *queue)
{
    size_t added;

    run_queue_lock(queue);
    added = queue->state.added;
    queue->state.added = 0;
    run_queue_unlock(queue);
    for (; added > 0; added--) { /* outside: who is woken finds the lock free */
        pthread_cond_signal(&queue->state.ready);
    }
}

void run_queue_take_answers(struct run_queue *queue, struct delivery_list *out)
{
    run_queue_lock(queue);
    STAILQ_CONCAT(out, &queue->state.answers);
    run_queue_unlock(queue);
}

/* The lock is held. */
static void lane_recall(struct run_queue *queue, struct run_lane *lane, struct delivery_list *out)
{
    run_lane_withdraw(queue, lane);
    lane_trust(queue, lane);
    STAILQ_CONCAT(out, &lane->ready);
}

/* The lock is held. */
static void lane_let_go(struct run_lane *lane, smq_delivery *delivery)
{
    if (delivery->holds) {
        delivery->holds = false;
        lane->held -= lane->held > 0 ? 1 : 0;
    }
}

void run_queue_recall(struct run_queue *queue, struct run_lane *lane, struct delivery_list *out)
{
    run_queue_lock(queue);
    lane_recall(queue, lane, out);
    lane->held = 0;
    run_queue_unlock(queue);
}

void run_queue_recall_held(struct run_queue *queue, smq_delivery *delivery,
                           struct delivery_list *out)
{
    run_queue_lock(queue);
    if (delivery->holds) {
        lane_recall(queue, delivery->lane, out);
        lane_let_go(delivery->lane, delivery);
    }
    run_queue_unlock(queue);
}

void run_queue_set_strict(struct run_queue *queue, bool strict)
{
    run_queue_lock(queue);
    queue->state.strict = strict;
    run_queue_unlock(queue);
}

/* The lock is held.  Let the lane go on without the handler that holds this delivery, and another
 * thread run in the place of that one. */
static void lane_detach(struct run_queue *queue, struct run_lane *lane)
{
    if (lane->call != NULL) {
        lane->call->lane = NULL;
        lane->call = NULL;
        queue->state.busy--;
        queue->state.hung++;
        pthread_cond_signal(&queue->state.ready);
    }
}

int32_t run_queue_hung(struct run_queue *queue)
{
    int32_t hung;

    run_queue_lock(queue);
    hung = queue->state.hung;
    run_queue_unlock(queue);
    return hung;
}

int64_t run_queue_overdue(struct run_queue *queue, int64_t begun_ms, struct delivery_list *out)
{
    smq_delivery *delivery, *next;
    int64_t first_ms;

    run_queue_lock(queue);
    for (delivery = TAILQ_FIRST(&queue->state.begun);
         delivery != NULL && delivery->begun_ms <= begun_ms; delivery = next) {
        int open = DELIVERY_OPEN;

        next = TAILQ_NEXT(delivery, begun_link);
        if (atomic_compare_exchange_strong(&delivery->answered, &open, DELIVERY_OVERDUE)) {
            STAILQ_INSERT_TAIL(out, delivery, link);
            delivery_tell(delivery, SMQ_LEASE_LOST);
            lane_detach(queue, delivery->lane);
            lane_answered(queue, delivery, STORE_HUNG);
        } /* else its answer is about to come */
    }
    delivery = TAILQ_FIRST(&queue->state.begun);
    first_ms = delivery != NULL ? delivery->begun_ms : -1;
    run_queue_unlock(queue);
    return first_ms;
}

/* The lock is held. */
static bool lane_remove(struct run_queue *queue, struct run_lane *lane, smq_delivery *delivery)
{
    smq_delivery *ready;

    STAILQ_FOREACH(ready, &lane->ready, link)
    {
        if (ready == delivery) {
            STAILQ_REMOVE(&lane->ready, delivery, smq_delivery, link);
            if (STAILQ_EMPTY(&lane->ready)) {
                run_lane_withdraw(queue, lane);
                lane_trust(queue, lane);
            }
            return true;
        }
    }
    return false;
}

bool run_queue_forget(struct run_queue *queue, smq_delivery *delivery)
{
    struct run_lane *lane;
    bool unbegun = false;

    run_queue_lock(queue);
    lane = delivery->lane;
    run_queue_stored(queue, delivery);
    if (delivery->begun) {
        lane_settle(queue, delivery);
    } else if (lane != NULL && !atomic_load(&delivery->answered)) {
        unbegun = lane_remove(queue, lane, delivery);
    }
    if (lane != NULL && delivery->holds) { /* its answer comes too late to be looked at */
        lane_let_go(lane, delivery);
        run_lane_offer(queue, lane);
    }
    delivery->lane = NULL;
    run_queue_unlock(queue);
    return unbegun;
}

void run_queue_forget_answered(struct run_queue *queue, smq_delivery **deliveries, size_t count)
{
    run_queue_lock(queue);
    for (size_t i = 0; i < count; i++) {
        run_queue_stored(queue, deliveries[i]);
        if (deliveries[i]->begun) {
            lane_settle(queue, deliveries[i]);
        }
        deliveries[i]->lane = NULL;
    }
    run_queue_unlock(queue);
}

bool run_queue_is_quiet(struct run_queue *queue, const struct run_lane *lane)
{
    bool quiet;

    run_queue_lock(queue);
    quiet = lane->call == NULL && lane->begun == 0;
    run_queue_unlock(queue);
    return quiet;
}

bool run_queue_is_waiting(struct run_queue *queue, const struct run_lane *lane)
{
    bool waiting;

    run_queue_lock(queue);
    waiting = !queue->polled && lane->call == NULL && lane->begun > 0;
    run_queue_unlock(queue);
    return waiting;
}

void run_queue_watch(struct run_queue *queue, bool watch)
{
    run_queue_lock(queue);
    queue->state.watched = watch;
    run_queue_unlock(queue);
}

void run_queue_close(struct run_queue *queue)
{
    run_queue_lock(queue);
    queue->state.closed = true;
    pthread_cond_broadcast(&queue->state.ready);
    run_queue_unlock(queue);
    extensions_close(&queue->extensions);
}

void run_queue_end(struct run_queue *queue)
{
    struct run_deads dead = STAILQ_HEAD_INITIALIZER(dead);
    struct run_dead *first;

    run_queue_lock(queue);
    queue->state.ended = true;
    pthread_cond_broadcast(&queue->state.ready);
    STAILQ_CONCAT(&dead, &queue->state.dead);
    run_queue_unlock(queue);
    while ((first = STAILQ_FIRST(&dead)) != NULL) {
        STAILQ_REMOVE_HEAD(&dead, link);
        delivery_unref(first->delivery);
        free(first);
    }
}
