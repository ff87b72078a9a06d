/* run_queue.h - between smq:io and the handler threads: slots with something to run, and answers
 * on their way back.
 *
 * Which file calls which, lowest first: delivery, flushes, lanes, run_queue, then answer, polls and
 * handlers, which calls answer.  A delivery knows its queue as its origin only.
 *
 * A lane is what the threads see of a slot: its un-begun deliveries, handed to one call of the
 * handler after another, never to two at once.  A lane whose handler said "later" waits until
 * those deliveries are answered.  What a handler holds beyond its time is overdue: the lane goes on
 * without that handler, on another thread.
 *
 * A strict queue (fifo) holds a lane whose delivery comes back, until smq:io has recalled the rest.
 *
 * Nothing of a lane is begun whose last confirmation is too old (confirmation.h): such a lane is
 * doubted until smq:io has had an answer about it.
 *
 * Thread: any, but where a function says otherwise. */
#ifndef CONSUME_RUN_RUN_QUEUE_H
#define CONSUME_RUN_RUN_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include <slotmq/worker.h>

#include "base/loop.h"
#include "consume/run/delivery.h"
#include "consume/run/extension.h"
#include "core/confirmation.h"

struct run_queue;
struct run_call;

/* Guarded by the queue's lock.  Invariant: in the queue's list (`queued`) only while it has
 * un-begun deliveries, no call, nothing begun, and is neither held nor doubted.  `doubted` is true
 * from when the lane enters the list of that name until run_queue_trust(). */
struct run_lane {
    struct delivery_list ready;
    struct run_call *call; /* a handler that has not returned; NULL: none that it waits for */
    size_t begun;          /* deliveries that a handler was given, and that nobody has answered */
    bool queued, doubted;
    bool doubt_told;              /* it was taken out of the list of the doubted */
    _Atomic int64_t confirmed_ms; /* when the last question was sent whose answer accepted the
                                     slot's token; 0: none.  Not for shared topics */
    size_t held;                  /* by so many answers, until the rest of it is recalled */
    TAILQ_ENTRY(run_lane) link;
};

struct run_queue_options {
    const char *topic;
    smq_handler_fn *handler; /* this */
    smq_batch_fn *batch;     /* or this */
    smq_dead_fn *dead;       /* NULL: nobody is told of dead letters */
    void *user;
    int32_t turn; /* deliveries of a lane that a thread runs before it looks for another, and that
                     one call of `batch` gets */
    int32_t per_slot; /* polled, without handlers: so many of a lane are begun at once; 0: it has
                         handlers */
    bool timed;       /* handlers have a time-out */
    int32_t threads;  /* that run something at once, not counting those that hang; 0: no limit */
    struct loop *io;
    struct loop_task
        *task; /* posted to `io` when there are answers, or a watched handler is back */
    struct loop_task *extended; /* the same when there are extensions */
    struct loop_task *back;     /* polled: posted to `io` by the first poll of a queue at rest */
};

/* The queue has one reference of its maker, and one of each delivery. */
struct run_queue *run_queue_new(const struct run_queue_options *options);
void run_queue_unref(struct run_queue *queue);

/* The queue as its deliveries know it, and the queue of a delivery. */
struct delivery_origin *run_queue_origin(struct run_queue *queue);
struct run_queue *run_queue_of(const smq_delivery *delivery);

struct extensions *run_queue_extensions(struct run_queue *queue);

/* --- smq:work-N --- */

/* Run handlers until run_queue_end(). */
void run_queue_work(struct run_queue *queue);

/* Is the caller inside a handler of this queue? */
bool run_queue_inside(const struct run_queue *queue);

/* --- polls --- */

/* Begin deliveries: take up to `capacity` into out[], their number into *count; wait for the first
 * one for `timeout_ms`.  false: the queue is closed, *count stays. */
bool run_queue_poll(struct run_queue *queue, smq_delivery **out, size_t *count, size_t capacity,
                    int64_t timeout_ms);

/* Wait until each answer taken so far is stored, or known to be too late: *late gets the status of
 * the last such one since the last flush; else UNKNOWN if there was one of those, or SMQ_OK.
 * false: the time passed first. */
bool run_queue_flush(struct run_queue *queue, smq_status *late, int64_t timeout_ms);

/* From now on keep an eventfd readable while a poll would not wait; -1: none. */
void run_queue_set_descriptor(struct run_queue *queue, int descriptor);

/* --- answers --- */

/* Is the membership of this process over by our clock?  Cheap. */
bool run_queue_is_over(const struct run_queue *queue);

/* Take the answer that stands in the delivery, with the reference of the one who answers; false:
 * the queue is closed. */
bool run_queue_answer(struct run_queue *queue, smq_delivery *delivery);

/* An answer of this delivery is refused, before its answerer's reference ends: a flush says so. */
void run_queue_refuse(struct run_queue *queue, smq_delivery *delivery, smq_status status);

/* --- smq:io --- */

void run_lane_init(struct run_lane *lane);

/* From now on what is claimed has to be confirmed: within `lease_ms`, and in the way of this
 * membership, of which the queue takes a reference the first time; NULL: the topic is shared, and
 * each claim's own lease is what counts. */
void run_queue_guard(struct run_queue *queue, struct membership *membership, int64_t lease_ms);

/* Redis has accepted the token of the lane's slot in a call that was sent at `asked_ms`. */
void run_lane_confirm(struct run_lane *lane, int64_t asked_ms);

/* Take one lane that is doubted; NULL: none is left.  run_queue_trust() or a recall follows. */
struct run_lane *run_queue_take_doubted(struct run_queue *queue);

/* The lane may be looked at again. */
void run_queue_trust(struct run_queue *queue, struct run_lane *lane);

/* Give claimed messages to the handlers; the list is empty afterwards.  Nobody is woken for them
 * before run_queue_rouse(): what several claims have brought in one turn of the loop wakes once. */
void run_queue_add(struct run_queue *queue, struct run_lane *lane, struct delivery_list *list);
void run_queue_rouse(struct run_queue *queue);

/* Take the answers so far. */
void run_queue_take_answers(struct run_queue *queue, struct delivery_list *out);

/* Take the un-begun deliveries of a lane back, in their order; it is not held any more. */
void run_queue_recall(struct run_queue *queue, struct run_lane *lane, struct delivery_list *out);

/* The same, if this delivery's answer holds its lane: that ends. */
void run_queue_recall_held(struct run_queue *queue, smq_delivery *delivery,
                           struct delivery_list *out);

/* Hold lanes whose delivery comes back, or do not. */
void run_queue_set_strict(struct run_queue *queue, bool strict);

/* Take what was begun at `begun_ms` or before and is not answered: it is told LEASE_LOST, and its
 * lane goes on.  Answers when the first of those that stay was begun; -1: none. */
int64_t run_queue_overdue(struct run_queue *queue, int64_t begun_ms, struct delivery_list *out);

/* How many threads are in handlers that are overdue. */
int32_t run_queue_hung(struct run_queue *queue);

/* The slot has dropped one delivery: the lane forgets it, and goes on if it waited for it.
 * true: no handler had begun it, so its answerer's reference is the caller's now. */
bool run_queue_forget(struct run_queue *queue, smq_delivery *delivery);

/* The same for deliveries that are answered. */
void run_queue_forget_answered(struct run_queue *queue, smq_delivery **deliveries, size_t count);

/* The delivery is stored as dead since `at_ms`: have a thread tell it. */
void run_queue_notify_dead(struct run_queue *queue, smq_delivery *delivery, const char *reason,
                           int64_t at_ms);

/* Is somebody yet to be told of a dead letter, or being told? */
bool run_queue_has_dead(struct run_queue *queue);

/* Is no handler of this lane running, and none awaited? */
bool run_queue_is_quiet(struct run_queue *queue, const struct run_lane *lane);

/* Does the lane wait for a late answer?  Not if it is polled: there none is late. */
bool run_queue_is_waiting(struct run_queue *queue, const struct run_lane *lane);

/* From now on post the task also each time a handler returns: somebody waits for it. */
void run_queue_watch(struct run_queue *queue, bool watch);

/* For how long has nobody polled?  0: somebody does. */
int64_t run_queue_idle_ms(struct run_queue *queue);

/* Make the descriptor readable until the next poll, to see whether somebody lives. */
void run_queue_wake_poller(struct run_queue *queue);

/* Let the next poll post `back`, and nudge; false: somebody has polled within `gap_ms`. */
bool run_queue_suspend(struct run_queue *queue, int64_t gap_ms);

/* Refuse answers and extensions from now on; no task is posted any more. */
void run_queue_close(struct run_queue *queue);

/* Let the threads leave run_queue_work(); who was not told of dead letters will not be. */
void run_queue_end(struct run_queue *queue);

#endif
