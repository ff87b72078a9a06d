/* scheduler.h - hands deliveries from smq:io to handler threads or polls, and their answers back.
 *
 * The files call each other in this order, lowest first: delivery, flushes, keys, run_queues,
 * scheduler, hooks, then answer, polls and handlers, which calls answer.  A delivery refers to its
 * scheduler as its origin only.
 *
 * A run queue, or queue for short, is what the threads see of a slot: deliveries that are not begun
 * yet, by their keys. Those of one key are handed to one call of the handler after another, never
 * to two at once. Those of different keys may run at once.  If a handler returns SMQ_LATER the keys
 * of its deliveries wait until these are answered. If a handler holds a delivery longer than the
 * handler time-out, the delivery is overdue: its key continues without that handler, on another
 * thread.
 *
 * In a strict scheduler (fifo) an answer that requeues its message holds the key of the message
 * until the answer is stored: no delivery of the key is begun, and smq:io recalls those that wait.
 *
 * Deliveries of a queue are begun only while its last confirmation is recent enough
 * (confirmation.h).  Otherwise the queue is unconfirmed, and waits until smq:io has asked Redis
 * about it.
 *
 * Thread: any, except where a function says otherwise. */
#ifndef CONSUME_RUN_SCHEDULER_H
#define CONSUME_RUN_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>

#include <slotmq/consumer.h>
#include <slotmq/hooks.h>

#include "base/loop.h"
#include "consume/run/delivery.h"
#include "consume/run/extension.h"
#include "consume/run/keys.h"
#include "core/confirmation.h"

struct scheduler;
struct run_call;

/* OUT: in no list of the scheduler.  QUEUED: in the list of queues that can be run.  UNCONFIRMED:
 * in the list of that name.  ASKED: smq:io has taken it out of that list, and asks Redis about it.
 */
enum run_queue_place { RUN_OUT, RUN_QUEUED, RUN_UNCONFIRMED, RUN_ASKED, RUN_PLACES };

/* Guarded by the scheduler's lock.  Invariants: `place` changes in run_queue_enter() alone.  A
 * QUEUED queue has a ready key and room for one more delivery.  `begun` is the sum of those of its
 * keys. */
struct run_queue {
    struct run_keys keys; /* in the order in which they came */
    size_t key_count;
    struct run_keys ready; /* keys of which a delivery may be begun; first the one added first */
    uint64_t added;        /* deliveries that were ever added */
    size_t calls;          /* handler calls that the queue waits for */
    size_t begun;          /* deliveries that a handler or poll has, and that are not answered */
    bool awaited; /* scheduler_lacks_keys() waits until polls have taken all that is ready */
    enum run_queue_place place;
    _Atomic int64_t confirmed_ms; /* when the last call was sent in which Redis accepted the slot's
                                     token; 0: never. Not used in shared topics */
    TAILQ_ENTRY(run_queue) link;
};

struct scheduler_options {
    const char *topic;
    smq_handler_fn *handler; /* either `handler` */
    smq_batch_fn *batch;     /* or `batch` */
    smq_dead_fn *dead;       /* NULL: none */
    void *user;
    int32_t turn; /* deliveries of a queue that a thread runs before it looks for another queue; for
                     `batch`, those of one call */
    int32_t per_slot; /* without handlers: deliveries of a queue that polls may have begun at once;
                         0: with handlers */
    bool timed;       /* handlers have a time-out */
    int32_t threads;  /* threads that may run handlers at once, without hung ones; 0: no limit */
    struct events *events;  /* told when a handler returns what is no verdict */
    const smq_hooks *hooks; /* NULL: none */
    struct loop *io;
    struct loop *call; /* with hooks */
    /* posted to `io` when there are answers, or a watched handler has returned */
    struct loop_task *task;
    struct loop_task *extended; /* posted to `io` when there are extensions */
    struct loop_task *back; /* polled: posted to `io` by the first poll of a suspended scheduler */
};

/* The maker of the scheduler holds one reference, and each delivery another. */
struct scheduler *scheduler_new(const struct scheduler_options *options);
void scheduler_unref(struct scheduler *scheduler);

/* The origin that the deliveries refer to, and the scheduler of a delivery. */
struct delivery_origin *scheduler_origin(struct scheduler *scheduler);
struct scheduler *scheduler_of(const smq_delivery *delivery);

struct extensions *scheduler_extensions(struct scheduler *scheduler);

/* --- smq:work-N --- */

/* Run handlers until scheduler_end(). */
void scheduler_work(struct scheduler *scheduler);

/* Is the caller inside a handler of this scheduler? */
bool scheduler_inside(const struct scheduler *scheduler);

/* --- polls --- */

/* Begin up to `capacity` deliveries and store them in out[], their number in *count.  Waits up
 * to `timeout_ms` for the first one, with a capacity of 0 not at all.  Returns false if the
 * scheduler is closed; then *count is unchanged. */
bool scheduler_poll(struct scheduler *scheduler, smq_delivery **out, size_t *count, size_t capacity,
                    int64_t timeout_ms);

/* Wait until each answer so far is stored or known to be too late.  *late is the status of the last
 * late answer since the last flush, else UNKNOWN if the outcome of an answer is unknown, else
 * SMQ_OK.  Returns false when the time has passed. */
bool scheduler_flush(struct scheduler *scheduler, smq_status *late, int64_t timeout_ms);

/* Does a flush wait?  Thread: smq:io. */
bool scheduler_is_flushed(struct scheduler *scheduler);

/* Keep this eventfd readable from now on while a poll would not wait; -1: none. */
void scheduler_set_descriptor(struct scheduler *scheduler, int descriptor);

/* --- answers --- */

/* Has the membership of this process expired by its own clock?  Cheap. */
bool scheduler_is_over(const struct scheduler *scheduler);

/* Accept the answers that the deliveries of a list hold, with the answerer's references.  The list
 * is empty afterwards; false: the scheduler is closed, and it is as before. */
bool scheduler_answer(struct scheduler *scheduler, struct delivery_list *list);

/* An answer of this delivery was refused; the next flush reports it.  Called before the answerer's
 * reference is dropped. */
void scheduler_refuse(struct scheduler *scheduler, smq_delivery *delivery, smq_status status);

/* --- smq:io --- */

void run_queue_init(struct run_queue *queue);

/* Require confirmations for claimed messages from now on: within `lease_ms`, and by the rules of
 * this membership, of which the scheduler takes a reference the first time.  NULL: the topic is
 * shared, and only the lease of each claim counts. */
void scheduler_guard(struct scheduler *scheduler, struct membership *membership, int64_t lease_ms);

/* Redis has accepted the token of the queue's slot in a call that was sent at `asked_ms`. */
void run_queue_confirm(struct run_queue *queue, int64_t asked_ms);

/* Take one unconfirmed queue; NULL: none is left.  The caller then calls scheduler_set_confirmed()
 * or recalls the queue. */
struct run_queue *scheduler_take_unconfirmed(struct scheduler *scheduler);

/* The queue was confirmed: deliveries of it may be begun again. */
void scheduler_set_confirmed(struct scheduler *scheduler, struct run_queue *queue);

/* Pass claimed messages to the handlers; the list is empty afterwards.  No thread is woken
 * before scheduler_wake_threads(), so that several claims in one turn of the loop wake the
 * threads once. */
void scheduler_add(struct scheduler *scheduler, struct run_queue *queue,
                   struct delivery_list *list);
void scheduler_wake_threads(struct scheduler *scheduler);

/* Move all answers to `out`. */
void scheduler_take_answers(struct scheduler *scheduler, struct delivery_list *out);

/* Move the deliveries of a queue that are not begun to `out`, in their order. */
void scheduler_recall(struct scheduler *scheduler, struct run_queue *queue,
                      struct delivery_list *out);

/* If the answer of this delivery holds its key: move the deliveries that wait for it to `out`. */
void scheduler_recall_held(struct scheduler *scheduler, smq_delivery *delivery,
                           struct delivery_list *out);

/* The delivery, which is not begun, is requeued: if the scheduler is strict, that holds its key. */
void scheduler_hold(struct scheduler *scheduler, struct run_queue *queue, smq_delivery *delivery);

/* Does an answer hold the key of this new delivery? */
bool scheduler_is_held(struct scheduler *scheduler, struct run_queue *queue,
                       const smq_delivery *delivery);

/* Whether an answer that requeues its message holds the key. */
void scheduler_set_strict(struct scheduler *scheduler, bool strict);

/* Move deliveries that were begun at `begun_ms` or before and are not answered to `out`.  They are
 * LEASE_LOST for their handlers, and their queues continue.  Returns when the first of the other
 * begun deliveries was begun; -1: there is none. */
int64_t scheduler_overdue(struct scheduler *scheduler, int64_t begun_ms, struct delivery_list *out);

/* How many threads are in handlers that are overdue. */
int32_t scheduler_hung(struct scheduler *scheduler);

/* The slot has dropped a delivery: the queue no longer refers to it, and continues if it has
 * waited for it.  Returns true if no handler had begun it; then the caller owns the answerer's
 * reference. */
bool scheduler_forget(struct scheduler *scheduler, smq_delivery *delivery);

/* The same for several deliveries that are answered. */
void scheduler_forget_answered(struct scheduler *scheduler, smq_delivery **deliveries,
                               size_t count);

/* The delivery's message is a dead letter since `at_ms`: a handler thread calls the callback. */
void scheduler_notify_dead(struct scheduler *scheduler, smq_delivery *delivery, const char *reason,
                           int64_t at_ms);

/* Are callbacks of dead letters pending or running? */
bool scheduler_has_dead(struct scheduler *scheduler);

/* Does no handler of this queue run, and is no answer expected? */
bool scheduler_is_quiet(struct scheduler *scheduler, const struct run_queue *queue);

/* Has the queue fewer keys than `most`, but some, which run or wait for a handler?  If it
 * has none, all its messages were handled, and their answers are on their way to smq:io.  In a
 * polled scheduler also: is none of them left for a poll?  If one is, the task is posted when polls
 * have taken all. */
bool scheduler_lacks_keys(struct scheduler *scheduler, struct run_queue *queue, size_t most);

/* Have polls taken all of a queue of which scheduler_lacks_keys() has said that it has some?  Once.
 */
bool scheduler_take_emptied(struct scheduler *scheduler);

/* Append the keys of which deliveries wait for others of their key, each as LEN:KEY. */
void scheduler_append_blocked(struct scheduler *scheduler, const struct run_queue *queue,
                              struct buf *out);

/* Also post the task each time a handler returns, because the consumer waits for that. */
void scheduler_watch(struct scheduler *scheduler, bool watch);

/* For how long no thread has polled; 0: one does now. */
int64_t scheduler_idle_ms(struct scheduler *scheduler);

/* Make the descriptor readable until the next poll, so that a waiting application polls. */
void scheduler_wake_poller(struct scheduler *scheduler);

/* Let the next poll post `back`, and make the descriptor readable until then.  Returns false if a
 * thread has polled within `gap_ms`. */
bool scheduler_suspend(struct scheduler *scheduler, int64_t gap_ms);

/* Refuse answers and extensions from now on, and post no task any more. */
void scheduler_close(struct scheduler *scheduler);

/* Let the threads leave scheduler_work().  Pending callbacks of dead letters are not called. */
void scheduler_end(struct scheduler *scheduler);

#endif
