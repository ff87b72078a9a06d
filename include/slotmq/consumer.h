/* consumer.h - a consumer: it calls handlers on its own threads, or the application polls it.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_CONSUMER_H
#define SLOTMQ_CONSUMER_H

#include <slotmq/client.h>
#include <slotmq/delivery.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A consumer has one of two forms.  With `handler` or `batch` it calls these on its own threads:
 * smq_consumer_start(), and at the end smq_consumer_stop() and smq_consumer_wait().  Without them
 * the application polls it on threads of its own, or waits for its descriptor:
 * smq_consumer_poll(), smq_consumer_fd() and smq_consumer_flush(). */
typedef struct smq_consumer smq_consumer;

/* Thread: smq:work-N.  In an exclusive topic at most one handler runs for a key at a time; a
 * message without a key has its id as key, in layout inline its body.  The messages of a slot begin
 * in the order of their claims, as far as their keys let them.  The return value answers the
 * delivery.  A handler that has answered it by a call returns SMQ_ANSWERED. */
typedef smq_verdict smq_handler_fn(smq_delivery *delivery, void *user);

/* A handler of 1 .. batch_size deliveries of one slot.  Those of one key stand together, in their
 * order, and no other call has that key.  The return value answers all of them that no call has
 * answered, and these answers are stored at once; SMQ_ANSWERED says that there are none of these.
 * The array is valid only during the call.  Deliveries for which the handler returns SMQ_LATER stay
 * valid until they are answered. */
typedef smq_verdict smq_batch_fn(smq_delivery *const *deliveries, size_t count, void *user);

/* Thread: smq:work-N.  Called after an answer or a handler time-out of this consumer made the
 * message a dead letter.  If the process ends between the two it is not called;
 * smq_message_each() shows all dead letters.  A stop waits until it returns.  `message` is valid
 * only during the callback. */
typedef void smq_dead_fn(const smq_message_info *message, void *user);

/* How many deliveries several consumers of one client may have unanswered together.  Consumers
 * whose messages wait for room claim in turn, each what there is room for, so none of them starves;
 * what is claimed is not given back to make room for others.  max_in_flight of each consumer holds
 * as well. */
typedef struct smq_limit smq_limit;

typedef struct smq_consumer_options {
    size_t struct_size;
    const char *topic; /* required; of a topic with groups "TOPIC/GROUP" */

    /* With handlers; a consumer without them is refused when one of these is set. */
    smq_handler_fn *handler; /* either `handler` */
    smq_batch_fn *batch;     /* or `batch`; none of them: the consumer is polled */
    smq_dead_fn *dead;       /* default: none */
    void *user;              /* passed to all three */
    /* Handlers that run at once; also the weight of this member, by which the fleet shares out
     * slots.  1 .. 1024; default: the number of cores. */
    int32_t threads;
    int32_t batch_size; /* messages claimed at once from a slot, 1 .. 1000; default 100 */
    /* The consumer claims no more than this many messages, and stops by itself when they are
     * answered; default no limit. */
    int64_t max_messages;

    /* Polled; a consumer with handlers is refused when one of these is set. */
    int32_t weight; /* weight by which the fleet shares out slots, 1 .. 1024; default 1 */
    /* Deliveries of one slot that may be polled and not yet answered, 1 .. 1000; default 1000.
     * Each of them has another key. */
    int32_t per_slot;
    /* The slots move to other members when no poll came for this long, 100 .. 86400000; default
     * 300000. */
    int64_t max_poll_gap_ms;

    /* This and all below are for both forms.  Unanswered deliveries, also those that no handler or
     * poll has taken yet; default 1000, with handlers 10 * threads * batch_size.
     * smq_consumer_set_max_in_flight() changes it. */
    int32_t max_in_flight;
    int64_t rate_per_s; /* messages per second that this consumer claims; default no limit */
    /* Time from the call of the handler or the poll to the answer.  When it has passed the lease of
     * the delivery ends, and its key continues with other messages.  A handler that still runs
     * is replaced by a new thread, at most `threads` of them.  Default none: the key waits for
     * the answer. */
    int64_t handler_timeout_ms;
    /* Time for handlers to end, or to answer what was polled, when the consumer stops or a slot
     * moves; default 30000. */
    int64_t drain_timeout_ms;
    /* A slot that has nothing to deliver may be open for pushes: the next send into it claims its
     * message for this consumer and publishes it, so that it arrives earlier and costs Redis less.
     * This is the number of slots that may be open at once, 1 .. 65536; default 64.  SMQ_NONE: no
     * slot is.  When this process stops or is cut off, one pushed message of each open slot may
     * count as failed without having been seen. */
    int32_t push_slots;
    /* No claim and no answer waits longer than this for others that go to Redis together with it.
     * Answers of a slot in which no message waits may take all of it.  Other answers, and claims,
     * wait until the next reply of Redis comes, and a quarter of this time at most; they do not
     * wait while messages are rare.  0 .. 120000 or SMQ_NONE, which means 0; default 2. */
    int64_t linger_ms;
    smq_limit *limit; /* shared with other consumers of the client; default: none */
} smq_consumer_options;
#define SMQ_CONSUMER_OPTIONS_INIT SMQ_INIT(smq_consumer_options)
#define SMQ_CONSUMER_OPTIONS(...) SMQ_WITH(smq_consumer_options, __VA_ARGS__)

/* Make a limit of `most` unanswered deliveries, 0 or more, for consumers of this client.
 * Thread: any.  Fails: INVALID (`most` is below 0). */
SMQ_API smq_status smq_limit_new(smq_limit **out, smq_client *client, int32_t most, smq_error *err);

/* Change the limit; 0: its consumers claim no more until it is changed again.  What is unanswered
 * stays so, as after smq_consumer_set_max_in_flight().
 * Thread: any, also a handler.  Blocks: for a turn of the client's thread.
 * Fails: INVALID (`most` is below 0). */
SMQ_API smq_status smq_limit_set(smq_limit *limit, int32_t most, smq_error *err);

/* Free the handle; the limit holds for its consumers until they are freed.  NULL does nothing. */
SMQ_API void smq_limit_free(smq_limit *limit);

/* Check topic and options, and make a consumer.  One that is polled begins to consume; one with
 * handlers begins with smq_consumer_start().  A client can have one consumer per topic; all of them
 * share its connections.
 * Blocks: request_timeout_ms; the first one of an exclusive topic also up to 8 s for ZooKeeper.
 * Fails: NO_TOPIC, DAMAGED (the definition of the topic is lost), UNAVAILABLE, UNKNOWN (Redis did
 * not answer in time; call it again), OTHER_FLEET (the topic belongs to a fleet that uses another
 * ZooKeeper, or none), INVALID (a field has no valid value, or belongs to the other form). */
SMQ_API smq_status smq_consumer_new(smq_consumer **out, smq_client *client,
                                    const smq_consumer_options *options, smq_error *err);

/* Start the threads of a consumer with handlers.  A handler may be called before this function
 * returns.  Fails: INVALID (the consumer is polled, or was started already), CLOSED (it was
 * stopped), NO_MEMORY (a thread could not be started). */
SMQ_API smq_status smq_consumer_start(smq_consumer *consumer, smq_error *err);

/* Fetch up to `capacity` deliveries into out[], and set *count to their number.  If none comes in
 * time the call returns SMQ_OK, and *count is 0.  Several threads may poll at once.  The caller
 * answers each delivery once (delivery.h).
 * With a capacity of 0 the poll is a sign of life: it returns at once, whatever timeout_ms is, and
 * out may be NULL.  A program that has enough to do keeps its slots and leases by it.
 * When no thread has polled for max_poll_gap_ms, deliveries that were not polled are requeued, and
 * the slots move to other members; the next poll joins again.
 * Blocks: timeout_ms; 0 does not block.
 * Fails: CLOSED (the consumer was stopped, and all answers are stored or drain_timeout_ms has
 * passed: leave the loop), INVALID (the consumer has handlers), or with the error that ended the
 * consumer, as smq_consumer_wait(). */
SMQ_API smq_status smq_consumer_poll(smq_consumer *consumer, smq_delivery **out, size_t capacity,
                                     size_t *count, int64_t timeout_ms, smq_error *err);

/* A descriptor that is readable (level-triggered) while a poll would return deliveries or fail.  It
 * is also readable when no poll came for half of max_poll_gap_ms, so an event loop that waits for
 * it without a time-out keeps its slots.  The application may only wait for it; it must not read,
 * write or close it.  smq_consumer_free() closes it.
 * Returns -1 if the consumer is NULL, has handlers, or was made before fork(). */
SMQ_API int smq_consumer_fd(const smq_consumer *consumer);

/* Change max_in_flight of a living consumer of either form; 0: claim no more until it is changed
 * again.  What is unanswered stays so, with its leases, and the slots stay.  When the call has
 * returned, the consumer has no more than `most` unanswered deliveries, or their number only falls
 * until that is so: a message that arrives beside is returned as if it had never been claimed.  The
 * metric in_flight counts it for the moment that this takes.
 * Thread: any, also a handler.  Blocks: for a turn of the client's thread.
 * Fails: INVALID (`most` is below 0). */
SMQ_API smq_status smq_consumer_set_max_in_flight(smq_consumer *consumer, int32_t most,
                                                  smq_error *err);

/* Wait until every answer given so far is stored or was refused.
 * Blocks: timeout_ms.  Fails: TIMED_OUT; LEASE_LOST or FENCED if an answer since the last flush
 * came too late and changed nothing; UNKNOWN if for an answer since the last flush it is not known
 * whether it was stored, and none certainly came too late; INVALID (the consumer has handlers). */
SMQ_API smq_status smq_consumer_flush(smq_consumer *consumer, int64_t timeout_ms, smq_error *err);

/* Begin a graceful stop: the consumer claims no more, requeues messages that no handler and no poll
 * has taken without using a retry, stores the answers of the others, and hands over its slots.  The
 * call returns at once.  With handlers: let them end; smq_consumer_wait() waits for that.  Polled:
 * answer the deliveries that were polled, and continue to poll until the poll returns CLOSED.
 * Async-signal-safe; handlers may call it. */
SMQ_API void smq_consumer_stop(smq_consumer *consumer);

/* Wait for the end of the consumer; of one that is polled, until it was stopped by another thread
 * and what was polled is answered.  The call returns SMQ_OK after a clean stop, else the error that
 * ended the consumer (NAME_TAKEN, NO_TOPIC, DENIED, ...).  Servers that are down do not end a
 * consumer.  Blocks: timeout_ms; after a stop drain_timeout_ms at most.
 * Fails: INVALID (it has handlers, and was neither started nor stopped), TIMED_OUT (the consumer
 * still runs; after a stop: answers are still missing, and these messages are delivered again
 * elsewhere, as suspects), WRONG_THREAD (in one of its handlers). */
SMQ_API smq_status smq_consumer_wait(smq_consumer *consumer, int64_t timeout_ms, smq_error *err);

/* Stop the consumer and free it.  No other thread may be in a call with it, and none of its
 * handlers may call it.  Deliveries that are not answered yet stay valid, but answering them
 * returns CLOSED, and their messages are delivered again.
 * Blocks: with handlers until the running ones have returned, because threads cannot be killed;
 * polled: request_timeout_ms, to store the answers so far and to requeue other messages. */
SMQ_API void smq_consumer_free(smq_consumer *consumer);

/* Two types of 0.1.  A program that still names one of them does not compile, and the error of the
 * compiler says which type replaces it. */
#if defined(__has_attribute)
#if __has_attribute(unavailable)
typedef smq_consumer smq_worker
    __attribute__((unavailable("a worker of 0.1 is an smq_consumer with a handler now: see "
                               "Upgrading in CHANGELOG.md")));
typedef smq_consumer_options smq_worker_options
    __attribute__((unavailable("smq_worker_options of 0.1 is smq_consumer_options now: see "
                               "Upgrading in CHANGELOG.md")));
#endif
#endif

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_CONSUMER_H */
