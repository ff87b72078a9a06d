/* lanes.h - the locked state of a run queue, and what changes its lanes.
 *
 * Thread: any; but where a function says otherwise the queue's lock is held. */
#ifndef CONSUME_RUN_LANES_H
#define CONSUME_RUN_LANES_H

#include <pthread.h>
#include <stdatomic.h>

#include "consume/run/flushes.h"
#include "consume/run/run_queue.h"

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
    smq_delivery **deliveries; /* room for `most`; NULL: its verdict has ended it for the call */
    size_t most, count;
    int64_t until_ms;             /* it may begin until then */
    struct delivery_list answers; /* by its verdict */
    bool post;                    /* smq:io is to be told, when the lock is given back */
};

/* Only `state` changes after run_queue_new(), and what run_queue_guard() says before the first
 * delivery. */
struct run_queue {
    struct delivery_origin origin; /* counts the references */
    smq_handler_fn *handler;       /* or `batch` */
    smq_batch_fn *batch;
    smq_dead_fn *dead;
    void *user;
    int32_t turn;
    bool timed;
    size_t threads;  /* that run something at once, not counting those that hang; 0: no limit */
    size_t per_slot; /* deliveries of a lane that are begun at once */
    bool polled;
    struct loop *io;
    struct loop_task *task, *back;
    struct extensions extensions;
    struct membership *membership; /* NULL: the topic is shared */
    _Atomic int64_t lease_ms;      /* INT64_MAX: nothing has to be confirmed */
    struct {
        pthread_mutex_t lock;
        pthread_cond_t ready;
        struct run_lanes lanes, doubted;
        struct delivery_begun begun; /* if `timed`: the first begun first */
        bool strict;
        struct run_deads dead;
        int deads;    /* in the list, or being told */
        size_t busy;  /* threads that run something */
        int32_t hung; /* threads whose lane goes on without them */
        struct delivery_list answers;
        bool offered; /* a lane was queued, and nobody is woken for it yet */
        size_t added; /* lanes that were, and wait for run_queue_rouse() */
        bool watched;
        bool closed; /* no answer is taken */
        bool ended;  /* no handler is begun */

        /* polled */
        int pollers;
        int64_t polled_ms; /* when the last poll ended */
        bool resting;      /* the next poll posts `back` */
        bool nudged;       /* readable until the next poll */
        bool readable;     /* the descriptor, if it is shown */
        int descriptor;    /* -1: none */
        struct flushes flushes;
    } state;
};

/* Take and give back the lock, which is not held before and after. */
void run_lanes_lock(struct run_queue *queue);
void run_lanes_unlock(struct run_queue *queue);

/* Like run_lanes_unlock(), but signals after unlocking, so that a woken thread does not block on
 * the lock.  The caller holds a reference of the queue. */
void run_lanes_unlock_first(struct run_queue *queue);

/* Do what precedes every end of holding the lock: make the descriptor readable or not, and wake a
 * thread for a lane that was offered. */
void run_lanes_settle(struct run_queue *queue);

/* Wake a thread for a lane that was offered, if none was woken for it yet. */
void run_lanes_wake(struct run_queue *queue);

/* Have smq:io look at the answers, and at handlers that have returned. */
void run_lanes_post(struct run_queue *queue);

/* Take answers, with the references of those who answer, out of the list; false: the queue is
 * closed, and they stay.  `*post`: run_lanes_post() is due. */
bool run_lanes_answer(struct run_queue *queue, struct delivery_list *answers, bool *post);

/* Until when does the membership of this process last by our clock?  INT64_MAX: for ever.  The lock
 * need not be held. */
int64_t run_lanes_member_until(const struct run_queue *queue);

/* What follows at `now_ms` for a lane that may be begun until `until_ms`.  The lock need not be
 * held. */
enum confirmation run_lanes_judge(const struct run_queue *queue, int64_t until_ms, int64_t now_ms);

/* --- one lane --- */

/* Queue the lane if something of it can be run; take it out of the queue. */
void run_lane_offer(struct run_queue *queue, struct run_lane *lane);
void run_lane_withdraw(struct run_queue *queue, struct run_lane *lane);

/* Until when may this delivery be begun? */
int64_t run_lane_until(const struct run_queue *queue, const smq_delivery *delivery);

/* Nothing more of the lane is begun until run_lane_trust(). */
void run_lane_doubt(struct run_queue *queue, struct run_lane *lane);
void run_lane_trust(struct run_queue *queue, struct run_lane *lane);

/* A handler or a poll is given this delivery, which was the lane's first. */
void run_lane_begin(struct run_queue *queue, smq_delivery *delivery, int64_t now_ms);

/* The delivery is begun no longer. */
void run_lane_unbegin(struct run_queue *queue, smq_delivery *delivery);

/* The same, if it is begun, and the lane continues: nobody has to answer the delivery any more. */
void run_lane_settle(struct run_queue *queue, smq_delivery *delivery);

/* The delivery is answered by `op`: the same, and a strict queue holds the lane of a message that
 * is requeued. */
void run_lane_answered(struct run_queue *queue, smq_delivery *delivery, enum store_answer_op op);

/* The answer of this delivery holds its lane no longer. */
void run_lane_end_hold(struct run_lane *lane, smq_delivery *delivery);

/* Let the lane continue without the handler that has its delivery, and another thread run in the
 * place of that one. */
void run_lane_detach(struct run_queue *queue, struct run_lane *lane);

/* Remove an un-begun delivery from its lane; false: it is begun. */
bool run_lane_remove(struct run_queue *queue, struct run_lane *lane, smq_delivery *delivery);

/* Move the un-begun deliveries of the lane to the end of `out`. */
void run_lane_recall(struct run_queue *queue, struct run_lane *lane, struct delivery_list *out);

/* Somebody else answers what a call has: the call gets a reference. */
void run_call_keep(smq_delivery *delivery);

#endif
