/* lanes.h - the locked state of a run queue, and the functions that change its lanes.
 *
 * Thread: any.  The lock of the queue is held, except where a function says otherwise. */
#ifndef CONSUME_RUN_LANES_H
#define CONSUME_RUN_LANES_H

#include <pthread.h>
#include <stdatomic.h>

#include "consume/run/flushes.h"
#include "consume/run/run_queue.h"

TAILQ_HEAD(run_lanes, run_lane);

/* A dead letter whose callback has to be called; holds a reference of its delivery. */
struct run_dead {
    STAILQ_ENTRY(run_dead) link;
    smq_delivery *delivery;
    smq_message_info info; /* points into the delivery */
};
STAILQ_HEAD(run_deads, run_dead);

/* One call of the handler by a thread. */
struct run_call {
    struct run_lane
        *lane; /* guarded by the queue's lock; NULL: the lane does not wait for this call */
    smq_delivery *
        *deliveries; /* room for `most`; an element is NULL once the verdict has answered it */
    struct run_key **keys; /* of the deliveries; valid while the lane waits for this call */
    size_t most, count;
    int64_t until_ms;             /* the call may begin until then */
    struct delivery_list answers; /* given by the handler's verdict */
    bool post;                    /* post the task to smq:io after unlocking */
};

/* After run_queue_new() only `state` changes, and before the first delivery the fields that
 * run_queue_guard() sets. */
struct run_queue {
    struct delivery_origin origin; /* holds the reference count */
    smq_handler_fn *handler;       /* either `handler` or `batch` is set */
    smq_batch_fn *batch;
    smq_dead_fn *dead;
    void *user;
    int32_t turn;
    bool timed;
    size_t threads;  /* threads that may run handlers at once, without hung ones; 0: no limit */
    size_t per_slot; /* deliveries of a lane that may be begun at once; with handlers: no limit */
    bool polled;
    struct events *events;
    atomic_flag mistaken; /* a handler has returned a wrong verdict, and an event has said so */
    struct loop *io;
    struct loop_task *task, *back;
    struct extensions extensions;
    struct membership *membership; /* NULL: the topic is shared */
    _Atomic int64_t lease_ms;      /* INT64_MAX: lanes need no confirmation */
    struct {
        pthread_mutex_t lock;
        pthread_cond_t ready;
        struct run_lanes lanes, unconfirmed;
        struct run_key_table keys;
        struct delivery_begun begun; /* if `timed`: in the order in which they were begun */
        bool strict;
        struct run_deads dead;
        int deads;    /* in the list, or in their callback */
        size_t busy;  /* threads that run a handler */
        int32_t hung; /* threads whose lane continues without them */
        struct delivery_list answers;
        bool offered; /* a lane was queued, and no thread was woken for it yet */
        size_t added; /* lanes that were queued and wait for run_queue_wake_threads() */
        bool watched;
        bool closed; /* answers are refused */
        bool ended;  /* no handler is called any more */

        /* only of a polled queue: */
        int pollers;
        int64_t polled_ms; /* when the last poll ended */
        bool suspended;    /* the next poll posts `back` */
        bool emptied;      /* polls have taken all of a lane that was awaited */
        bool poller_woken; /* the descriptor stays readable until the next poll */
        bool readable;     /* the descriptor is readable */
        int descriptor;    /* -1: none */
        struct flushes flushes;
    } state;
};

/* Lock and unlock the queue. */
void run_lanes_lock(struct run_queue *queue);
void run_lanes_unlock(struct run_queue *queue);

/* Like run_lanes_unlock(), but signals after unlocking, so that a woken thread does not block on
 * the lock.  The caller holds a reference of the queue. */
void run_lanes_unlock_first(struct run_queue *queue);

/* Called before the lock is released: makes the descriptor readable or not, and wakes a thread for
 * a lane that was queued. */
void run_lanes_before_unlock(struct run_queue *queue);

/* Wake a thread for a lane that was queued, if none was woken for it yet. */
void run_lanes_wake(struct run_queue *queue);

/* Post the task by which smq:io takes the answers and sees that handlers have returned. */
void run_lanes_post(struct run_queue *queue);

/* Accept the answers in the list, with the answerers' references; false: the queue is closed, and
 * the list is unchanged.  If *post is set the caller has to call run_lanes_post(). */
bool run_lanes_answer(struct run_queue *queue, struct delivery_list *answers, bool *post);

/* When the membership of this process expires by its own clock; INT64_MAX: never.  The lock need
 * not be held. */
int64_t run_lanes_member_until(const struct run_queue *queue);

/* Whether a lane that may be begun until `until_ms` may be begun at `now_ms`.  The lock need not be
 * held. */
enum confirmation run_lanes_confirmation(const struct run_queue *queue, int64_t until_ms,
                                         int64_t now_ms);

/* --- one lane --- */

/* May a lane go from `from` to `to`?  Pure. */
bool run_lane_may(enum run_lane_place from, enum run_lane_place to);

/* The one place where `place` changes. */
void run_lane_enter(struct run_queue *queue, struct run_lane *lane, enum run_lane_place place);

/* Does the lane have a delivery that may be begun, and room for it? */
bool run_lane_can_begin(const struct run_queue *queue, const struct run_lane *lane);

/* Queue the lane if a delivery of it can be run; remove it from whatever list it is in. */
void run_lane_offer(struct run_queue *queue, struct run_lane *lane);
void run_lane_withdraw(struct run_queue *queue, struct run_lane *lane);

/* Withdraw the lane if no key of it is ready. */
void run_lane_withdraw_empty(struct run_queue *queue, struct run_lane *lane);

/* Until when this delivery may be begun. */
int64_t run_lane_until(const struct run_queue *queue, const smq_delivery *delivery);

/* Begin no more deliveries of the lane until run_queue_set_confirmed(). */
void run_lane_await_confirmation(struct run_queue *queue, struct run_lane *lane);

/* Take the first delivery of this key, which has one, for a handler or poll. */
smq_delivery *run_lane_begin(struct run_queue *queue, struct run_key *key, int64_t now_ms);

/* The delivery is no longer begun. */
void run_lane_unbegin(struct run_queue *queue, smq_delivery *delivery);

/* If the delivery is begun: it is no longer, needs no answer any more, and the lane continues. */
void run_lane_settle(struct run_queue *queue, smq_delivery *delivery);

/* The delivery was answered with `op`: as run_lane_settle(), but a strict queue holds the key of a
 * message that is requeued. */
void run_lane_answered(struct run_queue *queue, smq_delivery *delivery, enum store_answer_op op);

/* The answer of this delivery, which has a lane, no longer holds its key. */
void run_lane_end_hold(struct run_queue *queue, smq_delivery *delivery);

/* If the lane waits for this call: let it and the keys of the call's deliveries continue without
 * the call. */
void run_call_leave_lane(struct run_queue *queue, struct run_call *call);

/* Let the lane continue without the handler that has this delivery, and allow another thread to run
 * in place of the hung one. */
void run_lane_detach(struct run_queue *queue, smq_delivery *delivery);

/* Remove a delivery that is not begun from its lane; false: it is begun. */
bool run_lane_remove(struct run_queue *queue, struct run_lane *lane, smq_delivery *delivery);

/* Move the deliveries of the lane that are not begun to the end of `out`. */
void run_lane_recall(struct run_queue *queue, struct run_lane *lane, struct delivery_list *out);

/* Another thread answers a delivery that a handler call has: the call gets a reference. */
void run_call_keep(smq_delivery *delivery);

#endif
