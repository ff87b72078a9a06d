/* worker.h - it calls your handler on its own threads.
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

/* Thread: smq:work-N.  Never two at once for one slot of an exclusive topic.
 * The return value answers each delivery that no call has answered. */
typedef smq_verdict smq_handler_fn(smq_delivery *delivery, void *user);

/* The same for 1 .. batch_size deliveries of one slot, in their order; what it
 * answers for all of them is stored at once.  The array is valid until it returns;
 * deliveries left SMQ_LATER do not. */
typedef smq_verdict smq_batch_fn(smq_delivery *const *deliveries, size_t count, void *user);

/* Thread: smq:work-N, after the message was stored as dead because of an answer
 * or a handler time-out of this worker.  A process that dies then does not call
 * it: smq_message_each() sees all dead letters.  A stop waits for it. */
typedef void smq_dead_fn(const smq_message_info *message, void *user);

typedef struct smq_worker_options {
    size_t struct_size;
    const char *topic;          /* required                                  */
    smq_handler_fn *handler;    /* this                                      */
    smq_batch_fn *batch;        /* or this                                   */
    smq_dead_fn *dead;          /* optional                                  */
    void *user;                 /* passed to all three                       */
    int32_t threads;            /* also this member's weight; default: cores */
    int32_t batch_size;         /* claimed at once from a slot, 1 .. 1000;
                                   default 100                               */
    int32_t max_in_flight;      /* unanswered deliveries; default 10 * threads
                                 * batch_size                              */
    int64_t rate_per_s;         /* claimed by this worker; default no limit  */
    int64_t handler_timeout_ms; /* until answered; then the lease ends and the
                                   slot goes on, although the handler may
                                   still run (up to `threads` that do are
                                   replaced).  Default none: the slot waits  */
    int64_t max_messages;       /* stop by itself when so many are answered,
                                   and never claim more; default no limit    */
    int64_t drain_timeout_ms;   /* for handlers to end when the worker stops or
                                   a slot moves; default 30000               */
} smq_worker_options;
#define SMQ_WORKER_OPTIONS_INIT SMQ_INIT(smq_worker_options)
#define SMQ_WORKER_OPTIONS(...) SMQ_WITH(smq_worker_options, __VA_ARGS__)

/* Check topic and options, and make a worker that does nothing yet.  Several
 * workers of a client, one a topic, share its connections.
 * Blocks: request_timeout_ms; the first one of an exclusive topic also up to
 * 8 s for ZooKeeper.  Fails: NO_TOPIC, UNAVAILABLE, OTHER_FLEET (the topic is
 * owned by a fleet with another, or without, ZooKeeper). */
SMQ_API smq_status smq_worker_new(smq_worker **out, smq_client *client,
                                  const smq_worker_options *options, smq_error *err);

/* Start the threads; the handler may be called before this returns. */
SMQ_API smq_status smq_worker_start(smq_worker *worker, smq_error *err);

/* Begin a graceful stop: claim no more, give back what no handler has begun
 * without using a retry, let handlers end, store their answers, hand over the
 * slots.  Async-signal-safe; also from a handler.  smq_worker_wait() waits. */
SMQ_API void smq_worker_stop(smq_worker *worker);

/* Wait for the end: SMQ_OK after a clean stop, or what ended it for good
 * (NAME_TAKEN, NO_TOPIC, DENIED, ...); servers that are down do not.
 * Blocks: timeout_ms, and after a stop no longer than drain_timeout_ms.
 * Fails: TIMED_OUT (it still works, or after a stop: handlers still run; what
 * they hold is delivered again elsewhere, as a suspect). */
SMQ_API smq_status smq_worker_wait(smq_worker *worker, int64_t timeout_ms, smq_error *err);

/* Stop, and free.  Not from its own handler.
 * Blocks: until running handlers have returned; threads cannot be killed. */
SMQ_API void smq_worker_free(smq_worker *worker);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_WORKER_H */
