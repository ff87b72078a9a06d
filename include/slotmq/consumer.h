/* consumer.h - you poll it for messages, on threads of your own; it has a descriptor to wait on.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_CONSUMER_H
#define SLOTMQ_CONSUMER_H

#include <slotmq/client.h>
#include <slotmq/delivery.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct smq_consumer smq_consumer; /* you poll it */

typedef struct smq_consumer_options {
    size_t struct_size;
    const char *topic;          /* required                                  */
    int32_t weight;             /* share of the slots, 1 .. 1024; default 1  */
    int32_t per_slot;           /* unanswered deliveries of one slot that you
                                   hold, 1 .. 1000.  Default 1: keys are serial
                                   whatever you do.  More: you handle those of
                                   a slot in order, also when one fails      */
    int32_t max_in_flight;      /* unanswered deliveries, also those not yet
                                   polled; default 1000                      */
    int64_t rate_per_s;         /* claimed by this consumer; default no limit */
    int64_t handler_timeout_ms; /* from the poll until the answer; then the
                                   lease ends, and the slot goes on although
                                   you still hold it.  Default none: the slot
                                   waits                                     */
    int64_t drain_timeout_ms;   /* to answer what you hold when the consumer
                                   stops or a slot moves; default 30000      */
    int64_t max_poll_gap_ms;    /* without a poll the slots move to others,
                                   100 .. 86400000; default 300000           */
} smq_consumer_options;
#define SMQ_CONSUMER_OPTIONS_INIT SMQ_INIT(smq_consumer_options)
#define SMQ_CONSUMER_OPTIONS(...) SMQ_WITH(smq_consumer_options, __VA_ARGS__)

/* Check topic and options, and begin to consume.  A client has one consumer or
 * worker a topic; all share its connections.
 * Blocks: request_timeout_ms; the first one of an exclusive topic also up to
 * 8 s for ZooKeeper.  Fails: NO_TOPIC, UNAVAILABLE, OTHER_FLEET (the topic is
 * owned by a fleet with another, or without, ZooKeeper). */
SMQ_API smq_status smq_consumer_new(smq_consumer **out, smq_client *client,
                                    const smq_consumer_options *options, smq_error *err);

/* Take up to `capacity` deliveries into out[], their number into *count.  None
 * in time is SMQ_OK and 0.  Several threads may poll at once.  When nobody has
 * polled for max_poll_gap_ms what was not polled is given back, and the slots
 * move to others; the next poll joins again.
 * Blocks: timeout_ms, 0 for not at all.
 * Fails: CLOSED (stopped, and all is answered and stored or drain_timeout_ms
 * over: the end of your loop), or what ended it for good: smq_worker_wait(). */
SMQ_API smq_status smq_consumer_poll(smq_consumer *consumer, smq_delivery **out, size_t capacity,
                                     size_t *count, int64_t timeout_ms, smq_error *err);

/* A descriptor, readable (level-triggered) while a poll would give something
 * or fail; also when half of max_poll_gap_ms is over without a poll, so a loop
 * that waits on it without a time-out keeps its slots.  Only wait on it: never
 * read, write or close it.  It is gone after smq_consumer_free().  -1: the
 * consumer is NULL, or was made before fork(). */
SMQ_API int smq_consumer_fd(const smq_consumer *consumer);

/* Wait until every answer so far is stored or known to be too late.
 * Blocks: timeout_ms.  Fails: TIMED_OUT; LEASE_LOST or FENCED when an answer
 * since the last flush changed nothing; UNKNOWN when none did that, but one
 * may have changed nothing. */
SMQ_API smq_status smq_consumer_flush(smq_consumer *consumer, int64_t timeout_ms, smq_error *err);

/* Begin a graceful stop: claim no more, give back what was not polled without
 * using a retry.  Answer what you hold, and go on polling until CLOSED.
 * Async-signal-safe. */
SMQ_API void smq_consumer_stop(smq_consumer *consumer);

/* What you still hold stays valid; answering it then gives CLOSED, and it is
 * delivered again.  No other call may be inside the consumer.
 * Blocks: request_timeout_ms, to store the answers so far and to give the rest
 * back. */
SMQ_API void smq_consumer_free(smq_consumer *consumer);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_CONSUMER_H */
