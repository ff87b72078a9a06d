/* run_queues.h - the locked state of a scheduler, and the functions that change its queues.
 *
 * Thread: any.  The lock of the scheduler is held, except where a function says otherwise. */
#ifndef CONSUME_RUN_RUN_QUEUES_H
#define CONSUME_RUN_RUN_QUEUES_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/ready.h"
#include "consume/run/flushes.h"
#include "consume/run/scheduler.h"

TAILQ_HEAD(run_queues, run_queue);

/* A dead letter whose callback has to be called; holds a reference of its delivery. */
struct run_dead {
    STAILQ_ENTRY(run_dead) link;
    smq_delivery *delivery;
    smq_message_info info; /* points into the delivery */
};
STAILQ_HEAD(run_deads, run_dead);

/* One call of the handler by a thread. */
struct run_call {
    struct run_queue
        *queue; /* guarded by the scheduler's lock; NULL: the queue does not wait for this call */
    smq_delivery *
        *deliveries; /* room for `most`; an element is NULL once the verdict has answered it */
    struct run_key **keys; /* of the deliveries; valid while the queue waits for this call */
    size_t most, count;
    int64_t until_ms;             /* the call may begin until then */
    struct delivery_list answers; /* given by the handler's verdict */
    bool post;                    /* post the task to smq:io after unlocking */
};

/* After scheduler_new() only `state` changes, and before the first delivery the fields that
 * scheduler_guard() sets. */
struct scheduler {
    struct delivery_origin origin; /* holds the reference count */
    smq_handler_fn *handler;       /* either `handler` or `batch` is set */
    smq_batch_fn *batch;
    smq_dead_fn *dead;
    void *user;
    int32_t turn;
    bool timed;
    size_t threads;  /* threads that may run handlers at once, without hung ones; 0: no limit */
    size_t per_slot; /* deliveries of a queue that may be begun at once; with handlers: no limit */
    bool polled;
    struct events *events;
    smq_hooks hooks;
    struct loop *call;    /* for hooks */
    atomic_flag mistaken; /* a handler has returned a wrong verdict, and an event has said so */
    struct loop *io;
    struct loop_task *task, *back;
    struct extensions extensions;
    struct membership *membership; /* NULL: the topic is shared */
    _Atomic int64_t lease_ms;      /* INT64_MAX: queues need no confirmation */
    struct {
        pthread_mutex_t lock;
        pthread_cond_t ready;
        struct run_queues queues, unconfirmed;
        struct run_key_table keys;
        struct delivery_begun begun; /* if `timed`: in the order in which they were begun */
        bool strict;
        struct run_deads dead;
        int deads;    /* in the list, or in their callback */
        size_t busy;  /* threads that run a handler */
        int32_t hung; /* threads whose queue continues without them */
        struct delivery_list answers;
        bool offered; /* a queue was queued, and no thread was woken for it yet */
        size_t added; /* queues that were queued and wait for scheduler_wake_threads() */
        bool watched;
        bool closed; /* answers are refused */
        bool ended;  /* no handler is called any more */

        /* only of a polled scheduler: */
        int pollers;
        int64_t polled_ms;  /* when the last poll ended */
        bool suspended;     /* the next poll posts `back` */
        bool emptied;       /* polls have taken all of a queue that was awaited */
        bool poller_woken;  /* the descriptor stays readable until the next poll */
        struct ready shown; /* of the descriptor */
        struct flushes flushes;
    } state;
};

/* Lock and unlock the scheduler. */
void run_queues_lock(struct scheduler *scheduler);
void run_queues_unlock(struct scheduler *scheduler);

/* Like run_queues_unlock(), but signals after unlocking, so that a woken thread does not block on
 * the lock.  The caller holds a reference of the scheduler. */
void run_queues_unlock_first(struct scheduler *scheduler);

/* Called before the lock is released: makes the descriptor readable or not, and wakes a thread for
 * a queue that was queued. */
void run_queues_before_unlock(struct scheduler *scheduler);

/* Wake a thread for a queue that was queued, if none was woken for it yet. */
void run_queues_wake(struct scheduler *scheduler);

/* Post the task by which smq:io takes the answers and sees that handlers have returned. */
void run_queues_post(struct scheduler *scheduler);

/* Accept the answers in the list, with the answerers' references; false: the scheduler is closed,
 * and the list is unchanged.  If *post is set the caller has to call run_queues_post(). */
bool run_queues_answer(struct scheduler *scheduler, struct delivery_list *answers, bool *post);

/* When the membership of this process expires by its own clock; INT64_MAX: never.  The lock need
 * not be held. */
int64_t run_queues_member_until(const struct scheduler *scheduler);

/* Whether a queue that may be begun until `until_ms` may be begun at `now_ms`.  The lock need not
 * be held. */
enum confirmation run_queues_confirmation(const struct scheduler *scheduler, int64_t until_ms,
                                          int64_t now_ms);

/* --- one queue --- */

/* May a queue go from `from` to `to`?  Pure. */
bool run_queue_may(enum run_queue_place from, enum run_queue_place to);

/* The one place where `place` changes. */
void run_queue_enter(struct scheduler *scheduler, struct run_queue *queue,
                     enum run_queue_place place);

/* Does the queue have a delivery that may be begun, and room for it? */
bool run_queue_can_begin(const struct scheduler *scheduler, const struct run_queue *queue);

/* Queue the queue if a delivery of it can be run; remove it from whatever list it is in. */
void run_queue_offer(struct scheduler *scheduler, struct run_queue *queue);
void run_queue_withdraw(struct scheduler *scheduler, struct run_queue *queue);

/* Withdraw the queue if no key of it is ready. */
void run_queue_withdraw_empty(struct scheduler *scheduler, struct run_queue *queue);

/* Until when this delivery may be begun. */
int64_t run_queue_until(const struct scheduler *scheduler, const smq_delivery *delivery);

/* Begin no more deliveries of the queue until scheduler_set_confirmed(). */
void run_queue_await_confirmation(struct scheduler *scheduler, struct run_queue *queue);

/* Take the first delivery of this key, which has one, for a handler or poll. */
smq_delivery *run_queue_begin(struct scheduler *scheduler, struct run_key *key, int64_t now_us);

/* The delivery is no longer begun. */
void run_queue_unbegin(struct scheduler *scheduler, smq_delivery *delivery);

/* If the delivery is begun: it is no longer, needs no answer any more, and the queue continues. */
void run_queue_settle(struct scheduler *scheduler, smq_delivery *delivery);

/* The delivery was answered with `op`: as run_queue_settle(), but a strict scheduler holds the key
 * of a message that is requeued. */
void run_queue_answered(struct scheduler *scheduler, smq_delivery *delivery,
                        enum store_answer_op op);

/* The answer of this delivery, which has a queue, no longer holds its key. */
void run_queue_end_hold(struct scheduler *scheduler, smq_delivery *delivery);

/* If the queue waits for this call: let it and the keys of the call's deliveries continue without
 * the call. */
void run_call_leave_queue(struct scheduler *scheduler, struct run_call *call);

/* Let the queue continue without the handler that has this delivery, and allow another thread to
 * run in place of the hung one. */
void run_queue_detach(struct scheduler *scheduler, smq_delivery *delivery);

/* Remove a delivery that is not begun from its queue; false: it is begun. */
bool run_queue_remove(struct scheduler *scheduler, struct run_queue *queue, smq_delivery *delivery);

/* Move the deliveries of the queue that are not begun to the end of `out`. */
void run_queue_recall(struct scheduler *scheduler, struct run_queue *queue,
                      struct delivery_list *out);

/* Another thread answers a delivery that a handler call has: the call gets a reference. */
void run_call_keep(smq_delivery *delivery);

#endif
