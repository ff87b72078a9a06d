/* consumer.h - a consumer: the application polls it on its own threads, or waits on a descriptor.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_CONSUMER_H
#define SLOTMQ_CONSUMER_H

#include <slotmq/client.h>
#include <slotmq/delivery.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct smq_consumer smq_consumer;

typedef struct smq_consumer_options {
    size_t struct_size;
    const char *topic; /* required; of a topic with groups "TOPIC/GROUP" */
    int32_t weight;    /* weight by which the fleet shares out slots, 1 .. 1024; default 1 */
    smq_order order;   /* which messages of a slot are handled at once; default SMQ_ORDER_KEY */
    /* Deliveries of one slot that may be polled and not yet answered, 1 .. 1000; default 1000, with
     * SMQ_ORDER_SLOT 1.  Each of them has another key, so messages of one key are always handled
     * one at a time.  With SMQ_ORDER_SLOT they may share keys: with more than 1 the application
     * must handle the deliveries of a slot in their order, also when one of them fails. */
    int32_t per_slot;
    int32_t max_in_flight; /* unanswered deliveries, also those not yet polled; default 1000 */
    int64_t rate_per_s;    /* messages per second that this consumer claims; default no limit */
    /* Time from the poll of a delivery to its answer.  When it has passed the lease of the delivery
     * ends and its slot continues with other messages.  Default none: the slot waits for the
     * answer. */
    int64_t handler_timeout_ms;
    /* Time to answer polled deliveries when the consumer stops or a slot moves; default 30000. */
    int64_t drain_timeout_ms;
    /* The slots move to other members when no poll came for this long, 100 .. 86400000; default
     * 300000. */
    int64_t max_poll_gap_ms;
    /* A slot that has nothing to deliver may be open for pushes: the next send into it claims its
     * message for this consumer and publishes it, so that it arrives earlier and costs Redis less.
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
} smq_consumer_options;
#define SMQ_CONSUMER_OPTIONS_INIT SMQ_INIT(smq_consumer_options)
#define SMQ_CONSUMER_OPTIONS(...) SMQ_WITH(smq_consumer_options, __VA_ARGS__)

/* Check topic and options, and begin to consume.  A client can have one consumer or worker per
 * topic; all of them share its connections.
 * Blocks: request_timeout_ms; the first one of an exclusive topic also up to 8 s for ZooKeeper.
 * Fails: NO_TOPIC, UNAVAILABLE, UNKNOWN (Redis did not answer in time; call it again), OTHER_FLEET
 * (the topic belongs to a fleet that uses another ZooKeeper, or none). */
SMQ_API smq_status smq_consumer_new(smq_consumer **out, smq_client *client,
                                    const smq_consumer_options *options, smq_error *err);

/* Fetch up to `capacity` deliveries into out[], and set *count to their number.  If none comes in
 * time the call returns SMQ_OK, and *count is 0.  Several threads may poll at once.  The caller
 * answers each delivery once (delivery.h).
 * When no thread has polled for max_poll_gap_ms, deliveries that were not polled are requeued, and
 * the slots move to other members; the next poll joins again.
 * Blocks: timeout_ms; 0 does not block.
 * Fails: CLOSED (the consumer was stopped, and all answers are stored or drain_timeout_ms has
 * passed: leave the loop), or with the error that ended the consumer, as smq_worker_wait(). */
SMQ_API smq_status smq_consumer_poll(smq_consumer *consumer, smq_delivery **out, size_t capacity,
                                     size_t *count, int64_t timeout_ms, smq_error *err);

/* A descriptor that is readable (level-triggered) while a poll would return deliveries or fail.  It
 * is also readable when no poll came for half of max_poll_gap_ms, so an event loop that waits for
 * it without a time-out keeps its slots.  The application may only wait for it; it must not read,
 * write or close it.  smq_consumer_free() closes it.
 * Returns -1 if the consumer is NULL or was made before fork(). */
SMQ_API int smq_consumer_fd(const smq_consumer *consumer);

/* Wait until every answer given so far is stored or was refused.
 * Blocks: timeout_ms.  Fails: TIMED_OUT; LEASE_LOST or FENCED if an answer since the last flush
 * came too late and changed nothing; UNKNOWN if for an answer since the last flush it is not known
 * whether it was stored, and none certainly came too late. */
SMQ_API smq_status smq_consumer_flush(smq_consumer *consumer, int64_t timeout_ms, smq_error *err);

/* Begin a graceful stop: the consumer claims no more, and requeues deliveries that were not polled
 * without using a retry.  Answer the deliveries that were polled, and continue to poll until the
 * poll returns CLOSED.  Async-signal-safe. */
SMQ_API void smq_consumer_stop(smq_consumer *consumer);

/* Free the consumer.  No other thread may be in a call with it.  Deliveries that are not answered
 * yet stay valid, but answering them returns CLOSED, and their messages are delivered again.
 * Blocks: request_timeout_ms, to store the answers so far and to requeue other messages. */
SMQ_API void smq_consumer_free(smq_consumer *consumer);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_CONSUMER_H */
