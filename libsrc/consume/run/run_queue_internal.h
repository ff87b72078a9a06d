/* run_queue_internal.h - what run_queue.c (lanes and answers), handlers.c (handlers) and
 * polls.c (polls and flushes) share.
 *
 * Thread: any; but where a function says otherwise the queue's lock is held. */
#ifndef CONSUME_RUN_RUN_QUEUE_INTERNAL_H
#define CONSUME_RUN_RUN_QUEUE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

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
    atomic_int references;
    pid_t pid;
    char *topic;
    smq_handler_fn *handler; /* or `batch` */
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
        struct delivery_in_flight
            open; /* answered, not stored yet; in the order of their numbers */
        uint64_t answer_count;
        smq_status late;
        pthread_cond_t stored;
    } state;
};

/* Take and give back the lock, which is not held before and after. */
void run_queue_lock(struct run_queue *queue);
void run_queue_unlock(struct run_queue *queue);

/* The same for one who knows that the queue stays: who is woken then runs at once where he can, and
 * finds the lock free. */
void run_queue_unlock_first(struct run_queue *queue);

/* Wake who is to be woken and not woken yet: before the lock is given back in another way. */
void run_queue_wake(struct run_queue *queue);

/* Have smq:io look at the answers, and at handlers that are back. */
void run_queue_post(struct run_queue *queue);

/* Queue the lane if something of it can be run; take it out of the queue. */
void run_lane_offer(struct run_queue *queue, struct run_lane *lane);
void run_lane_withdraw(struct run_queue *queue, struct run_lane *lane);

/* Until when may this delivery be begun? */
int64_t run_lane_until(const struct run_queue *queue, const smq_delivery *delivery);

/* What follows from that at `now_ms`.  The lock need not be held. */
enum confirmation run_queue_judge(const struct run_queue *queue, int64_t until_ms, int64_t now_ms);

/* Nothing more of the lane is begun until smq:io knows more. */
void run_lane_doubt(struct run_queue *queue, struct run_lane *lane);

/* Somebody is given this delivery, which was the lane's first. */
void run_lane_begin(struct run_queue *queue, smq_delivery *delivery, int64_t now_ms);

/* It is begun no longer. */
void run_lane_unbegin(struct run_queue *queue, smq_delivery *delivery);

/* Somebody else answers what a call has: the call gets a reference. */
void run_call_keep(smq_delivery *delivery);

/* Take answers, with the references of those who answer, out of the list; false: the queue is
 * closed, and they stay.  `*post`: smq:io is to be told. */
bool run_queue_take(struct run_queue *queue, struct delivery_list *answers, bool *post);

/* --- polls.c --- */

/* Make the descriptor readable, or not: before the lock is given back. */
void run_queue_update(struct run_queue *queue);

/* A polled delivery is answered: flushes wait from now on; it is stored, or was dropped. */
void run_queue_open(struct run_queue *queue, smq_delivery *delivery);
void run_queue_stored(struct run_queue *queue, smq_delivery *delivery);

#endif
