/* run_queue.h - hands deliveries from smq:io to handler threads or polls, and their answers back.
 *
 * The files call each other in this order, lowest first: delivery, flushes, keys, lanes,
 * run_queue, then answer, polls and handlers, which calls answer.  A delivery refers to its queue
 * as its origin only.
 *
 * A lane is what the threads see of a slot: deliveries that are not begun yet, by their keys. Those
 * of one key are handed to one call of the handler after another, never to two at once.  Those of
 * different keys may run at once if the queue is by key; else a lane has one key for all of them.
 * If a handler returns SMQ_LATER the keys of its deliveries wait until these are answered.  If a
 * handler holds a delivery longer than the handler time-out, the delivery is overdue: its key
 * continues without that handler, on another thread.
 *
 * In a strict queue (fifo) an answer that requeues its message holds the key of the message until
 * the answer is stored: no delivery of the key is begun, and smq:io recalls those that wait.
 *
 * Deliveries of a lane are begun only while its last confirmation is recent enough
 * (confirmation.h).  Otherwise the lane is unconfirmed, and waits until smq:io has asked Redis
 * about it.
 *
 * Thread: any, except where a function says otherwise. */
#ifndef CONSUME_RUN_RUN_QUEUE_H
#define CONSUME_RUN_RUN_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include <slotmq/worker.h>

#include "base/loop.h"
#include "consume/run/delivery.h"
#include "consume/run/extension.h"
#include "consume/run/keys.h"
#include "core/confirmation.h"

struct run_queue;
struct run_call;

/* OUT: in no list of the queue.  QUEUED: in the list of lanes that can be run.  UNCONFIRMED: in the
 * list of that name.  ASKED: smq:io has taken it out of that list, and asks Redis about it. */
enum run_lane_place { LANE_OUT, LANE_QUEUED, LANE_UNCONFIRMED, LANE_ASKED, LANE_PLACES };

/* Guarded by the queue's lock.  Invariants: `place` changes in run_lane_enter() alone.  A QUEUED
 * lane has a ready key and room for one more delivery.  `begun` is the sum of those
 * of its keys. */
struct run_lane {
    struct run_key whole;  /* the key of all deliveries, if the queue is not by key */
    struct run_keys keys;  /* in the order in which they came; `whole` is one of them */
    size_t key_count;      /* of the keys but `whole` */
    struct run_keys ready; /* keys of which a delivery may be begun; first the one added first */
    uint64_t added;        /* by key: deliveries that were ever added */
    size_t calls;          /* handler calls that the lane waits for */
    size_t begun;          /* deliveries that a handler or poll has, and that are not answered */
    bool awaited; /* run_queue_lacks_keys() waits until polls have taken all that is ready */
    enum run_lane_place place;
    _Atomic int64_t confirmed_ms; /* when the last call was sent in which Redis accepted the slot's
                                     token; 0: never. Not used in shared topics */
    TAILQ_ENTRY(run_lane) link;
};

struct run_queue_options {
    const char *topic;
    smq_handler_fn *handler; /* either `handler` */
    smq_batch_fn *batch;     /* or `batch` */
    smq_dead_fn *dead;       /* NULL: none */
    void *user;
    bool by_key;  /* deliveries of a lane with different keys may run at once */
    int32_t turn; /* deliveries of a lane that a thread runs before it looks for another lane; for
                     `batch`, those of one call */
    int32_t per_slot; /* without handlers: deliveries of a lane that polls may have begun at once;
                         0: with handlers */
    bool timed;       /* handlers have a time-out */
    int32_t threads;  /* threads that may run handlers at once, without hung ones; 0: no limit */
    struct events *events; /* told when a handler returns what is no verdict */
    struct loop *io;
    /* posted to `io` when there are answers, or a watched handler has returned */
    struct loop_task *task;
    struct loop_task *extended; /* posted to `io` when there are extensions */
    struct loop_task *back;     /* polled: posted to `io` by the first poll of a suspended queue */
};

/* The maker of the queue holds one reference, and each delivery another. */
struct run_queue *run_queue_new(const struct run_queue_options *options);
void run_queue_unref(struct run_queue *queue);

/* The origin that the deliveries refer to, and the queue of a delivery. */
struct delivery_origin *run_queue_origin(struct run_queue *queue);
struct run_queue *run_queue_of(const smq_delivery *delivery);

struct extensions *run_queue_extensions(struct run_queue *queue);

/* --- smq:work-N --- */

/* Run handlers until run_queue_end(). */
void run_queue_work(struct run_queue *queue);

/* Is the caller inside a handler of this queue? */
bool run_queue_inside(const struct run_queue *queue);

/* --- polls --- */

/* Begin up to `capacity` deliveries and store them in out[], their number in *count.  Waits up
 * to `timeout_ms` for the first one.  Returns false if the queue is closed; then *count is
 * unchanged. */
bool run_queue_poll(struct run_queue *queue, smq_delivery **out, size_t *count, size_t capacity,
                    int64_t timeout_ms);

/* Wait until each answer so far is stored or known to be too late.  *late is the status of the last
 * late answer since the last flush, else UNKNOWN if the outcome of an answer is unknown, else
 * SMQ_OK.  Returns false when the time has passed. */
bool run_queue_flush(struct run_queue *queue, smq_status *late, int64_t timeout_ms);

/* Does a flush wait?  Thread: smq:io. */
bool run_queue_is_flushed(struct run_queue *queue);

/* Keep this eventfd readable from now on while a poll would not wait; -1: none. */
void run_queue_set_descriptor(struct run_queue *queue, int descriptor);

/* --- answers --- */

/* Has the membership of this process expired by its own clock?  Cheap. */
bool run_queue_is_over(const struct run_queue *queue);

/* Accept the answers that the deliveries of a list hold, with the answerer's references.  The list
 * is empty afterwards; false: the queue is closed, and it is as before. */
bool run_queue_answer(struct run_queue *queue, struct delivery_list *list);

/* An answer of this delivery was refused; the next flush reports it.  Called before the answerer's
 * reference is dropped. */
void run_queue_refuse(struct run_queue *queue, smq_delivery *delivery, smq_status status);

/* --- smq:io --- */

void run_lane_init(struct run_lane *lane);

/* Require confirmations for claimed messages from now on: within `lease_ms`, and by the rules of
 * this membership, of which the queue takes a reference the first time.  NULL: the topic is shared,
 * and only the lease of each claim counts. */
void run_queue_guard(struct run_queue *queue, struct membership *membership, int64_t lease_ms);

/* Redis has accepted the token of the lane's slot in a call that was sent at `asked_ms`. */
void run_lane_confirm(struct run_lane *lane, int64_t asked_ms);

/* Take one unconfirmed lane; NULL: none is left.  The caller then calls run_queue_set_confirmed()
 * or recalls the lane. */
struct run_lane *run_queue_take_unconfirmed(struct run_queue *queue);

/* The lane was confirmed: deliveries of it may be begun again. */
void run_queue_set_confirmed(struct run_queue *queue, struct run_lane *lane);

/* Pass claimed messages to the handlers; the list is empty afterwards.  No thread is woken
 * before run_queue_wake_threads(), so that several claims in one turn of the loop wake the
 * threads once. */
void run_queue_add(struct run_queue *queue, struct run_lane *lane, struct delivery_list *list);
void run_queue_wake_threads(struct run_queue *queue);

/* Move all answers to `out`. */
void run_queue_take_answers(struct run_queue *queue, struct delivery_list *out);

/* Move the deliveries of a lane that are not begun to `out`, in their order. */
void run_queue_recall(struct run_queue *queue, struct run_lane *lane, struct delivery_list *out);

/* If the answer of this delivery holds its key: move the deliveries that wait for it to `out`. */
void run_queue_recall_held(struct run_queue *queue, smq_delivery *delivery,
                           struct delivery_list *out);

/* The delivery, which is not begun, is requeued: if the queue is strict, that holds its key. */
void run_queue_hold(struct run_queue *queue, struct run_lane *lane, smq_delivery *delivery);

/* Does an answer hold the key of this new delivery? */
bool run_queue_is_held(struct run_queue *queue, struct run_lane *lane,
                       const smq_delivery *delivery);

/* Whether an answer that requeues its message holds the key. */
void run_queue_set_strict(struct run_queue *queue, bool strict);

/* Move deliveries that were begun at `begun_ms` or before and are not answered to `out`.  They are
 * LEASE_LOST for their handlers, and their lanes continue.  Returns when the first of the other
 * begun deliveries was begun; -1: there is none. */
int64_t run_queue_overdue(struct run_queue *queue, int64_t begun_ms, struct delivery_list *out);

/* How many threads are in handlers that are overdue. */
int32_t run_queue_hung(struct run_queue *queue);

/* The slot has dropped a delivery: the lane no longer refers to it, and continues if it has
 * waited for it.  Returns true if no handler had begun it; then the caller owns the answerer's
 * reference. */
bool run_queue_forget(struct run_queue *queue, smq_delivery *delivery);

/* The same for several deliveries that are answered. */
void run_queue_forget_answered(struct run_queue *queue, smq_delivery **deliveries, size_t count);

/* The delivery's message is a dead letter since `at_ms`: a handler thread calls the callback. */
void run_queue_notify_dead(struct run_queue *queue, smq_delivery *delivery, const char *reason,
                           int64_t at_ms);

/* Are callbacks of dead letters pending or running? */
bool run_queue_has_dead(struct run_queue *queue);

/* Does no handler of this lane run, and is no answer expected? */
bool run_queue_is_quiet(struct run_queue *queue, const struct run_lane *lane);

/* Does the lane wait for an answer that was left for later?  Never in a queue that is polled or by
 * key. */
bool run_queue_is_waiting(struct run_queue *queue, const struct run_lane *lane);

/* By key: has the lane fewer keys than `most`, which run or wait for a handler?  In a polled queue
 * also: is none of them left for a poll?  If one is, the task is posted when polls have taken all.
 */
bool run_queue_lacks_keys(struct run_queue *queue, struct run_lane *lane, size_t most);

/* Have polls taken all of a lane of which run_queue_lacks_keys() has said that it has some?  Once.
 */
bool run_queue_take_emptied(struct run_queue *queue);

/* By key: append the keys of which deliveries wait for others of their key, each as LEN:KEY. */
void run_queue_append_blocked(struct run_queue *queue, const struct run_lane *lane,
                              struct buf *out);

/* Also post the task each time a handler returns, because the worker waits for that. */
void run_queue_watch(struct run_queue *queue, bool watch);

/* For how long no thread has polled; 0: one does now. */
int64_t run_queue_idle_ms(struct run_queue *queue);

/* Make the descriptor readable until the next poll, so that a waiting application polls. */
void run_queue_wake_poller(struct run_queue *queue);

/* Let the next poll post `back`, and make the descriptor readable until then.  Returns false if a
 * thread has polled within `gap_ms`. */
bool run_queue_suspend(struct run_queue *queue, int64_t gap_ms);

/* Refuse answers and extensions from now on, and post no task any more. */
void run_queue_close(struct run_queue *queue);

/* Let the threads leave run_queue_work().  Pending callbacks of dead letters are not called. */
void run_queue_end(struct run_queue *queue);

#endif
