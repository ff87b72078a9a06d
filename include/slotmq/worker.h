/* worker.h - a worker: it calls the handler of the application on its own threads.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_WORKER_H
#define SLOTMQ_WORKER_H

#include <slotmq/client.h>
#include <slotmq/delivery.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct smq_worker smq_worker;

/* Thread: smq:work-N.  In an exclusive topic at most one handler runs for a key at a time, or with
 * SMQ_ORDER_SLOT for a slot.  The return value answers the delivery.  A handler that has answered
 * it by a call returns SMQ_ANSWERED. */
typedef smq_verdict smq_handler_fn(smq_delivery *delivery, void *user);

/* A handler of 1 .. batch_size deliveries of one slot.  Those of one key stand together, in their
 * order, and no other call has that key; with SMQ_ORDER_SLOT all are in the order of the slot, and
 * no other call has the slot.  The return value answers all of them that no call has answered, and
 * these answers are stored at once; SMQ_ANSWERED says that there are none of these.  The array is
 * valid only during the call.  Deliveries for which the handler returns SMQ_LATER stay valid until
 * they are answered. */
typedef smq_verdict smq_batch_fn(smq_delivery *const *deliveries, size_t count, void *user);

/* Thread: smq:work-N.  Called after an answer or a handler time-out of this worker made the
 * message a dead letter.  If the process ends between the two it is not called;
 * smq_message_each() shows all dead letters.  A stop waits until it returns.  `message` is valid
 * only during the callback. */
typedef void smq_dead_fn(const smq_message_info *message, void *user);

typedef struct smq_worker_options {
    size_t struct_size;
    const char *topic;       /* required; of a topic with groups "TOPIC/GROUP" */
    smq_handler_fn *handler; /* either `handler` */
    smq_batch_fn *batch;     /* or `batch` is required */
    smq_dead_fn *dead;       /* default: none */
    void *user;              /* passed to all three */
    /* Handlers that run at once; also the weight of this member, by which the fleet shares out
     * slots.  1 .. 1024; default: the number of cores. */
    int32_t threads;
    int32_t batch_size;    /* messages claimed at once from a slot, 1 .. 1000; default 100 */
    int32_t max_in_flight; /* unanswered deliveries; default 10 * threads * batch_size */
    smq_order order;       /* which messages of a slot are handled at once; default SMQ_ORDER_KEY */
    int64_t rate_per_s;    /* messages per second that this worker claims; default no limit */
    /* Time from the call of the handler to the answer.  When it has passed the lease ends and the
     * slot or key continues with other messages.  A handler that still runs is replaced by a new
     * thread, at most `threads` of them.  Default none: the slot waits for the answer. */
    int64_t handler_timeout_ms;
    /* The worker claims no more than this many messages, and stops by itself when they are
     * answered; default no limit. */
    int64_t max_messages;
    int64_t drain_timeout_ms; /* time for handlers to end when the worker stops or a slot moves;
                                 default 30000 */
    /* A slot that has nothing to deliver may be open for pushes: the next send into it claims its
     * message for this worker and publishes it, so that it arrives earlier and costs Redis less.
     * This is the number of slots that may be open at once, 1 .. 65536; default 64.  SMQ_NONE: no
     * slot is.  When this process stops or is cut off, one pushed message of each open slot may
     * count as failed without having been seen. */
    int32_t push_slots;
    /* The upper bound for delaying claims and answers so that several go to Redis together.
     * Nothing is delayed while messages are rare.  The delay grows with the response time of Redis,
     * up to half this time, because the send may have been delayed as long.  Answers of a slot in
     * which no message waits may be delayed for up to twice this time.  0 .. 60000 or SMQ_NONE,
     * which means 0; default 1. */
    int64_t linger_ms;
} smq_worker_options;
#define SMQ_WORKER_OPTIONS_INIT SMQ_INIT(smq_worker_options)
#define SMQ_WORKER_OPTIONS(...) SMQ_WITH(smq_worker_options, __VA_ARGS__)

/* Check topic and options, and make a worker that does nothing yet.  A client can have one worker
 * or consumer per topic; all of them share its connections. Blocks: request_timeout_ms; the first
 * one of an exclusive topic also up to 8 s for ZooKeeper. Fails: NO_TOPIC, UNAVAILABLE, UNKNOWN
 * (Redis did not answer in time; call it again), OTHER_FLEET (the topic belongs to a fleet that
 * uses another ZooKeeper, or none). */
SMQ_API smq_status smq_worker_new(smq_worker **out, smq_client *client,
                                  const smq_worker_options *options, smq_error *err);

/* Start the threads of the worker.  The handler may be called before this function returns. */
SMQ_API smq_status smq_worker_start(smq_worker *worker, smq_error *err);

/* Begin a graceful stop: the worker claims no more, requeues messages that no handler has begun
 * without using a retry, lets handlers end, stores their answers, and hands over its slots.  The
 * call returns at once; smq_worker_wait() waits for the end.  Async-signal-safe; handlers may call
 * it. */
SMQ_API void smq_worker_stop(smq_worker *worker);

/* Wait for the end of the worker.  The call returns SMQ_OK after a clean stop, else the error that
 * ended the worker (NAME_TAKEN, NO_TOPIC, DENIED, ...).  Servers that are down do not end a worker.
 * Blocks: timeout_ms; after a stop drain_timeout_ms at most.
 * Fails: INVALID (the worker was neither started nor stopped), TIMED_OUT (the worker still runs;
 * after a stop: handlers still run, and their messages are delivered again elsewhere, as
 * suspects). */
SMQ_API smq_status smq_worker_wait(smq_worker *worker, int64_t timeout_ms, smq_error *err);

/* Stop the worker and free it.  It must not be called from a handler of this worker.
 * Blocks: until running handlers have returned, because threads cannot be killed. */
SMQ_API void smq_worker_free(smq_worker *worker);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_WORKER_H */
