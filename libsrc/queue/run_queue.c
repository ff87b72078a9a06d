/* run_queue.c - between smq:io and the handler threads.
 *
 * Thread: as each function of run_queue.h says. */
#include "queue/run_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"

TAILQ_HEAD(run_lanes, run_lane);

/* A dead letter that somebody wants to know of; holds a reference of its delivery. */
struct run_dead {
    STAILQ_ENTRY(run_dead) link;
    smq_delivery *delivery;
    smq_message_info info; /* points into the delivery */
};
STAILQ_HEAD(run_deads, run_dead);

/* What a thread has the handler do, one call after another. */
struct run_call {
    struct run_lane *lane;     /* guarded by the queue's lock; NULL: it goes on without the call */
    smq_delivery **deliveries; /* room for `most` */
    size_t most, count;
    struct delivery_list answers; /* by its verdict */
};

/* Only `state` changes after run_queue_new(). */
struct run_queue {
    atomic_int references;
    pid_t pid;
    char *topic;
    smq_handler_fn *handler; /* or `batch` */
    smq_batch_fn *batch;
    smq_dead_fn *dead;
    void *user;
    int32_t turn;
    bool timed;
    size_t per_slot; /* deliveries of a lane that are begun at once */
    bool polled;
    struct loop *io;
    struct loop_task *task, *back;
    struct extensions extensions;
    struct {
        pthread_mutex_t lock;
        pthread_cond_t ready;
        struct run_lanes lanes;
        struct delivery_begun begun; /* if `timed`: the first begun first */
        bool strict;
        struct run_deads dead;
        int deads; /* in the list, or being told */
        struct delivery_list answers;
        bool watched;
        bool closed; /* no answer is taken */
        bool ended;  /* no handler is begun */

        /* polled */
        int pollers;
        int64_t polled_ms;         /* when the last poll ended */
        bool resting;              /* the next poll posts `back` */
        bool nudged;               /* readable until the next poll */
        bool readable;             /* the descriptor, if it is shown */
        int descriptor;            /* -1: none */
        struct delivery_hand open; /* answered, not stored yet; in the order of their numbers */
        uint64_t answer_count;
        smq_status late;
        pthread_cond_t stored;
    } state;
};

static _Thread_local const struct run_queue *inside;

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
    queue->io = options->io;
    queue->task = options->task;
    queue->back = options->back;
    queue->polled = options->per_slot > 0;
    queue->per_slot = queue->polled ? (size_t) options->per_slot : 1;
    extensions_init(&queue->extensions, options->io, options->extended);
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

static void queue_lock(struct run_queue *queue)
{
    pthread_mutex_lock(&queue->state.lock);
}

/* The lock is held.  Only the first and the last reason to poll cost a call. */
static void update_descriptor(struct run_queue *queue)
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

static void queue_unlock(struct run_queue *queue)
{
    update_descriptor(queue);
    pthread_mutex_unlock(&queue->state.lock);
}

/* The lock is held.  The loop is there until run_queue_close(). */
static void queue_post(struct run_queue *queue)
{
    if (!queue->state.closed) {
        loop_post(queue->io, queue->task);
    }
}

/* The lock is held.  Queue the lane if something of it can be run. */
static void lane_offer(struct run_queue *queue, struct run_lane *lane)
{
    if (lane->queued || lane->held || lane->call != NULL || lane->begun >= queue->per_slot ||
        STAILQ_EMPTY(&lane->ready)) {
        return;
    }
    lane->queued = true;
    TAILQ_INSERT_TAIL(&queue->state.lanes, lane, link);
    pthread_cond_signal(&queue->state.ready);
}

/* The lock is held.  Nobody has to answer this delivery any more. */
static void lane_settle(struct run_queue *queue, smq_delivery *delivery)
{
    struct run_lane *lane = delivery->lane;

    if (delivery->begun) {
        delivery->begun = false;
        lane->begun--;
        if (queue->timed) {
            TAILQ_REMOVE(&queue->state.begun, delivery, begun_link);
        }
        lane_offer(queue, lane);
    }
}

/* The lock is held.  The answer is `op`. */
static void lane_answered(struct run_queue *queue, smq_delivery *delivery, enum store_answer_op op)
{
    if (delivery->lane != NULL && queue->state.strict && !delivery_is_over(op)) {
        delivery->lane->held = true;
    }
    lane_settle(queue, delivery);
}

/* The lock is held.  Take it out of the queue. */
static void lane_withdraw(struct run_queue *queue, struct run_lane *lane)
{
    if (lane->queued) {
        lane->queued = false;
        TAILQ_REMOVE(&queue->state.lanes, lane, link);
    }
}

/* --- answers --- */

static bool is_late(smq_status status)
{
    return status == SMQ_LEASE_LOST || status == SMQ_FENCED;
}

/* The lock is held.  A flush waits for what is open. */
static void open_add(struct run_queue *queue, smq_delivery *delivery)
{
    smq_status standing = delivery_standing(delivery);

    if (delivery->lane == NULL) { /* its strand has dropped it since it was looked at */
        queue->state.late = is_late(standing) ? standing : SMQ_LEASE_LOST;
        return;
    }
    delivery->open_number = ++queue->state.answer_count;
    TAILQ_INSERT_TAIL(&queue->state.open, delivery, open_link);
}

/* The lock is held. */
static void open_remove(struct run_queue *queue, smq_delivery *delivery)
{
    smq_status standing = delivery_standing(delivery);

    if (delivery->open_number == 0) {
        return;
    }
    delivery->open_number = 0;
    TAILQ_REMOVE(&queue->state.open, delivery, open_link);
    if (is_late(standing)) {
        queue->state.late = standing;
    }
    pthread_cond_broadcast(&queue->state.stored);
}

/* The lock is held.  Take answers, with the references of those who answer, out of the list; false:
 * the queue is closed, and they stay. */
static bool take_answers(struct run_queue *queue, struct delivery_list *answers)
{
    smq_delivery *delivery;

    STAILQ_FOREACH(delivery, answers, link)
    {
        lane_answered(queue, delivery, delivery->answer.op);
        if (queue->polled && !queue->state.closed) {
            open_add(queue, delivery);
        }
    }
    if (queue->state.closed) {
        return false;
    }
    if (!STAILQ_EMPTY(answers)) {
        STAILQ_CONCAT(&queue->state.answers, answers);
        queue_post(queue);
    }
    return true;
}

bool run_queue_answer(struct run_queue *queue, smq_delivery *delivery)
{
    struct delivery_list answers = STAILQ_HEAD_INITIALIZER(answers);
    bool taken;

    STAILQ_INSERT_TAIL(&answers, delivery, link);
    queue_lock(queue);
    taken = take_answers(queue, &answers);
    queue_unlock(queue);
    return taken;
}

/* --- handler threads --- */

/* The lock is held. */
static void delivery_begin(struct run_queue *queue, smq_delivery *delivery, int64_t now_ms)
{
    delivery->begun = true;
    delivery->lane->begun++;
    if (queue->timed) {
        delivery->begun_ms = now_ms;
        TAILQ_INSERT_TAIL(&queue->state.begun, delivery, begun_link);
    }
}

/* The lock is held. */
static void call_begin(struct run_queue *queue, struct run_call *call, struct run_lane *lane)
{
    int64_t now_ms = queue->timed ? clock_now_ms() : 0;
    smq_delivery *delivery;

    call->count = 0;
    while (call->count < call->most && (delivery = STAILQ_FIRST(&lane->ready)) != NULL) {
        STAILQ_REMOVE_HEAD(&lane->ready, link);
        delivery_begin(queue, delivery, now_ms);
        delivery_ref(delivery);
        call->deliveries[call->count++] = delivery;
    }
    call->lane = lane;
    lane->call = call;
}

static void call_run(struct run_queue *queue, struct run_call *call)
{
    size_t group = 0;
    smq_verdict verdict = queue->batch != NULL
                              ? queue->batch(call->deliveries, call->count, queue->user)
                              : queue->handler(call->deliveries[0], queue->user);

    STAILQ_INIT(&call->answers);
    for (size_t i = 0; i < call->count; i++) {
        if (delivery_take_verdict(call->deliveries[i], verdict)) {
            STAILQ_INSERT_TAIL(&call->answers, call->deliveries[i], link);
            group++;
        }
    }
    if (group > 0) {
        STAILQ_FIRST(&call->answers)->answer.group = group;
    }
}

/* The lock is held.  What nobody has answered is left for later.  Answers the lane, if that has
 * waited for the call. */
static struct run_lane *call_end(struct run_queue *queue, struct run_call *call)
{
    struct run_lane *lane = call->lane;
    smq_delivery *delivery;

    if (!take_answers(queue, &call->answers)) {
        while ((delivery = STAILQ_FIRST(&call->answers)) != NULL) {
            STAILQ_REMOVE_HEAD(&call->answers, link);
            delivery_unref(delivery); /* its answerer's */
        }
    }
    if (lane != NULL) {
        lane->call = NULL;
    }
    if (queue->state.watched) {
        queue_post(queue);
    }
    for (size_t i = 0; i < call->count; i++) {
        delivery_unref(call->deliveries[i]);
    }
    return lane;
}

/* The lock is held, but not while the handler runs. */
static void lane_run(struct run_queue *queue, struct run_lane *lane, struct run_call *call)
{
    for (size_t run = 0; run < (size_t) queue->turn && !queue->state.ended; run += call->count) {
        call_begin(queue, call, lane);
        queue_unlock(queue);
        call_run(queue, call);
        queue_lock(queue);
        if (call_end(queue, call) == NULL || lane->held || lane->begun > 0 ||
            STAILQ_EMPTY(&lane->ready)) {
            return;
        }
    }
    lane_offer(queue, lane);
}

/* The lock is held, but not while somebody is told. */
static void dead_tell(struct run_queue *queue, struct run_dead *dead)
{
    STAILQ_REMOVE_HEAD(&queue->state.dead, link);
    queue_unlock(queue);
    queue->dead(&dead->info, queue->user);
    queue_lock(queue);
    queue->state.deads--;
    queue_post(queue);
    delivery_unref(dead->delivery);
    free(dead);
}

void run_queue_work(struct run_queue *queue)
{
    struct run_call call = {.most = queue->batch != NULL ? (size_t) queue->turn : 1};
    struct run_dead *dead;
    struct run_lane *lane;

    call.deliveries = memory_new(call.most * sizeof(*call.deliveries));
    inside = queue;
    queue_lock(queue);
    while (!queue->state.ended) {
        dead = STAILQ_FIRST(&queue->state.dead);
        if (dead != NULL) {
            dead_tell(queue, dead);
            continue;
        }
        lane = TAILQ_FIRST(&queue->state.lanes);
        if (lane == NULL) {
            pthread_cond_wait(&queue->state.ready, &queue->state.lock);
            continue;
        }
        lane_withdraw(queue, lane);
        lane_run(queue, lane, &call);
    }
    queue_unlock(queue);
    inside = NULL;
    free(call.deliveries);
}

bool run_queue_inside(const struct run_queue *queue)
{
    return inside == queue;
}

/* --- polls --- */

static struct timespec deadline_in(int64_t timeout_ms)
{
    struct timespec at = {0};

    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += timeout_ms / 1000;
    at.tv_nsec += timeout_ms % 1000 * 1000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

/* The lock is held.  false: the time is over. */
static bool wait_for(struct run_queue *queue, pthread_cond_t *changed, int64_t timeout_ms,
                     const struct timespec *deadline)
{
    update_descriptor(queue);
    return (timeout_ms < 0
                ? pthread_cond_wait(changed, &queue->state.lock)
                : pthread_cond_timedwait(changed, &queue->state.lock, deadline)) != ETIMEDOUT;
}

/* The lock is held. */
static size_t take_ready(struct run_queue *queue, smq_delivery **out, size_t capacity)
{
    int64_t now_ms = queue->timed ? clock_now_ms() : 0;
    struct run_lane *lane;
    smq_delivery *delivery;
    size_t count = 0;

    while (count < capacity && (lane = TAILQ_FIRST(&queue->state.lanes)) != NULL) {
        lane_withdraw(queue, lane);
        while (count < capacity && lane->begun < queue->per_slot &&
               (delivery = STAILQ_FIRST(&lane->ready)) != NULL) {
            STAILQ_REMOVE_HEAD(&lane->ready, link);
            delivery_begin(queue, delivery, now_ms);
            out[count++] = delivery;
        }
        lane_offer(queue, lane);
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
    struct timespec deadline = deadline_in(timeout_ms);
    size_t taken = 0;
    bool closed, again = true;

    queue_lock(queue);
    poll_begin(queue);
    while (!queue->state.closed && (taken = take_ready(queue, out, capacity)) == 0 && again) {
        again = wait_for(queue, &queue->state.ready, timeout_ms, &deadline);
    }
    closed = queue->state.closed && taken == 0;
    queue->state.pollers--;
    queue->state.polled_ms = clock_now_ms();
    queue_unlock(queue);
    if (!closed) {
        *count = taken;
    }
    return !closed;
}

/* The lock is held.  Is an answer up to this number not stored yet? */
static bool is_open(struct run_queue *queue, uint64_t number)
{
    smq_delivery *first = TAILQ_FIRST(&queue->state.open);

    return first != NULL && first->open_number <= number;
}

bool run_queue_flush(struct run_queue *queue, smq_status *late, int64_t timeout_ms)
{
    struct timespec deadline = deadline_in(timeout_ms);
    bool again = true, stored;
    uint64_t number;

    queue_lock(queue);
    number = queue->state.answer_count;
    while (is_open(queue, number) && again) {
        again = wait_for(queue, &queue->state.stored, timeout_ms, &deadline);
    }
    stored = !is_open(queue, number);
    if (stored) {
        *late = queue->state.late;
        queue->state.late = SMQ_OK;
    }
    queue_unlock(queue);
    return stored;
}

void run_queue_tell_late(struct run_queue *queue, smq_status status)
{
    queue_lock(queue);
    queue->state.late = status;
    queue_unlock(queue);
}

void run_queue_show(struct run_queue *queue, int descriptor)
{
    queue_lock(queue);
    queue->state.descriptor = descriptor;
    queue_unlock(queue);
}

int64_t run_queue_idle_ms(struct run_queue *queue)
{
    int64_t idle;

    queue_lock(queue);
    idle = queue->state.pollers > 0 ? 0 : clock_now_ms() - queue->state.polled_ms;
    queue_unlock(queue);
    return idle;
}

void run_queue_nudge(struct run_queue *queue)
{
    queue_lock(queue);
    queue->state.nudged = true;
    queue_unlock(queue);
}

bool run_queue_rest(struct run_queue *queue, int64_t gap_ms)
{
    bool rest;

    queue_lock(queue);
    rest = queue->state.pollers == 0 && clock_now_ms() - queue->state.polled_ms >= gap_ms;
    queue->state.resting = queue->state.nudged = rest;
    queue_unlock(queue);
    return rest;
}

/* --- smq:io --- */

void run_lane_init(struct run_lane *lane)
{
    *lane = (struct run_lane){.queued = false};
    STAILQ_INIT(&lane->ready);
}

void run_queue_add(struct run_queue *queue, struct run_lane *lane, struct delivery_list *list)
{
    queue_lock(queue);
    STAILQ_CONCAT(&lane->ready, list);
    lane_offer(queue, lane);
    queue_unlock(queue);
}

void run_queue_take_answers(struct run_queue *queue, struct delivery_list *out)
{
    queue_lock(queue);
    STAILQ_CONCAT(out, &queue->state.answers);
    queue_unlock(queue);
}

/* The lock is held. */
static void lane_recall(struct run_queue *queue, struct run_lane *lane, struct delivery_list *out)
{
    lane_withdraw(queue, lane);
    lane->held = false;
    STAILQ_CONCAT(out, &lane->ready);
}

void run_queue_recall(struct run_queue *queue, struct run_lane *lane, struct delivery_list *out)
{
    queue_lock(queue);
    lane_recall(queue, lane, out);
    queue_unlock(queue);
}

void run_queue_recall_held(struct run_queue *queue, struct run_lane *lane,
                           struct delivery_list *out)
{
    queue_lock(queue);
    if (lane->held) {
        lane_recall(queue, lane, out);
    }
    queue_unlock(queue);
}

void run_queue_set_strict(struct run_queue *queue, bool strict)
{
    queue_lock(queue);
    queue->state.strict = strict;
    queue_unlock(queue);
}

/* The lock is held.  Let the lane go on without the handler that holds this delivery. */
static void lane_detach(struct run_lane *lane)
{
    if (lane->call != NULL) {
        lane->call->lane = NULL;
        lane->call = NULL;
    }
}

int64_t run_queue_overdue(struct run_queue *queue, int64_t begun_ms, struct delivery_list *out)
{
    smq_delivery *delivery, *next;
    int64_t first_ms;

    queue_lock(queue);
    for (delivery = TAILQ_FIRST(&queue->state.begun);
         delivery != NULL && delivery->begun_ms <= begun_ms; delivery = next) {
        int open = DELIVERY_OPEN;

        next = TAILQ_NEXT(delivery, begun_link);
        if (atomic_compare_exchange_strong(&delivery->answered, &open, DELIVERY_OVERDUE)) {
            STAILQ_INSERT_TAIL(out, delivery, link);
            lane_detach(delivery->lane);
            lane_answered(queue, delivery, STORE_HUNG);
        } /* else its answer is about to come */
    }
    delivery = TAILQ_FIRST(&queue->state.begun);
    first_ms = delivery != NULL ? delivery->begun_ms : -1;
    queue_unlock(queue);
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
                lane_withdraw(queue, lane);
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

    queue_lock(queue);
    lane = delivery->lane;
    open_remove(queue, delivery);
    if (delivery->begun) {
        lane_settle(queue, delivery);
    } else if (lane != NULL && !atomic_load(&delivery->answered)) {
        unbegun = lane_remove(queue, lane, delivery);
    }
    delivery->lane = NULL;
    queue_unlock(queue);
    return unbegun;
}

void run_queue_bury(struct run_queue *queue, smq_delivery *delivery, const char *reason,
                    int64_t at_ms)
{
    struct run_dead *dead;

    if (queue->dead == NULL) {
        return;
    }
    dead = memory_new(sizeof(*dead));
    dead->delivery = delivery;
    dead->info = delivery->info;
    dead->info.state = SMQ_DEAD;
    dead->info.dead_at_ms = at_ms;
    dead->info.retries_left = 0;
    dead->info.reason = reason;
    delivery_ref(delivery);
    queue_lock(queue);
    queue->state.deads++;
    STAILQ_INSERT_TAIL(&queue->state.dead, dead, link);
    pthread_cond_signal(&queue->state.ready);
    queue_unlock(queue);
}

bool run_queue_has_dead(struct run_queue *queue)
{
    bool has;

    queue_lock(queue);
    has = queue->state.deads > 0;
    queue_unlock(queue);
    return has;
}

bool run_queue_is_quiet(struct run_queue *queue, const struct run_lane *lane)
{
    bool quiet;

    queue_lock(queue);
    quiet = lane->call == NULL && lane->begun == 0;
    queue_unlock(queue);
    return quiet;
}

bool run_queue_is_waiting(struct run_queue *queue, const struct run_lane *lane)
{
    bool waiting;

    queue_lock(queue);
    waiting = !queue->polled && lane->call == NULL && lane->begun > 0;
    queue_unlock(queue);
    return waiting;
}

void run_queue_watch(struct run_queue *queue, bool watch)
{
    queue_lock(queue);
    queue->state.watched = watch;
    queue_unlock(queue);
}

void run_queue_close(struct run_queue *queue)
{
    queue_lock(queue);
    queue->state.closed = true;
    pthread_cond_broadcast(&queue->state.ready);
    queue_unlock(queue);
    extensions_close(&queue->extensions);
}

void run_queue_end(struct run_queue *queue)
{
    struct run_deads dead = STAILQ_HEAD_INITIALIZER(dead);
    struct run_dead *first;

    queue_lock(queue);
    queue->state.ended = true;
    pthread_cond_broadcast(&queue->state.ready);
    STAILQ_CONCAT(&dead, &queue->state.dead);
    queue_unlock(queue);
    while ((first = STAILQ_FIRST(&dead)) != NULL) {
        STAILQ_REMOVE_HEAD(&dead, link);
        delivery_unref(first->delivery);
        free(first);
    }
}
