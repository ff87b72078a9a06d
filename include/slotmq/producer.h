/* producer.h - send messages.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_PRODUCER_H
#define SLOTMQ_PRODUCER_H

#include <slotmq/client.h>
#include <slotmq/message.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct smq_producer smq_producer;

/* The result of one send.  The layout of this struct never changes. */
typedef struct smq_receipt {
    smq_status status;
    int32_t slot;         /* -1 if the send was refused before its slot was known */
    bool merged;          /* the send merged with a message that was waiting */
    char id[SMQ_ID_SIZE]; /* the id that the library made, also on failure; "" if it made none */
    /* Why an asynchronous send failed, in one line; valid during the callback, or until the next
     * poll of the producer.  NULL if it did not fail, and of calls that wait: these have an
     * smq_error. */
    const char *text;
    void *user; /* that of the asynchronous send; else NULL */
} smq_receipt;

/* Thread: smq:call.  Called exactly once for each smq_send_async() that returned SMQ_OK, in any
 * order.  The receipt is valid only during the callback. */
typedef void smq_sent_fn(const smq_receipt *receipt, void *user);

/* Thread: smq:call.  Called once after smq_send_async() has returned FULL, when there is room for
 * the message that was refused, or for the smallest one of several. */
typedef void smq_room_fn(void *user);

typedef struct smq_producer_options {
    size_t struct_size;
    int32_t replicas;          /* also wait for this many replicas, 0 .. 16; default 0 */
    int64_t send_timeout_ms;   /* time for a send with all its repeats; default 10000 */
    bool no_repeat;            /* do not repeat a send whose reply was lost */
    int64_t max_pending;       /* sends that have no receipt yet; default 100000 */
    int64_t max_pending_bytes; /* bytes of bodies, headers, keys, ids; default 64 MiB */
    /* Time that smq_send_async() waits when max_pending or max_pending_bytes is reached, or
     * SMQ_FOREVER; default 0: it fails with FULL at once. */
    int64_t full_timeout_ms;
    /* No asynchronous send waits longer than this for others that go to Redis together with it.
     * None waits while sends are rare.  A wait ends with the next reply of Redis, and after a
     * quarter of this time at the latest, because a message waits again to be claimed and to be
     * answered.  Apart from this, while Redis is busy sends wait for earlier requests of the
     * producer to the same server; not with 0.  0 .. 120000 or SMQ_NONE, which means 0;
     * default 2. */
    int64_t linger_ms;
    /* The receipts of asynchronous sends without a callback are kept until smq_producer_poll()
     * takes them.  A send whose receipt is kept counts as pending. */
    bool poll_receipts;
    smq_room_fn *room; /* default: none; not with poll_receipts, whose poll says it */
    void *room_user;   /* passed to it */
} smq_producer_options;
#define SMQ_PRODUCER_OPTIONS_INIT SMQ_INIT(smq_producer_options)
#define SMQ_PRODUCER_OPTIONS(...) SMQ_WITH(smq_producer_options, __VA_ARGS__)

/* Make a producer.  One producer can serve all topics and all threads.  If `options` is NULL all
 * options have their defaults.
 *
 * With the option `replicas` a send is done when that many replicas of the message's node have it
 * too.  Then the message survives the loss of the node if one of these replicas takes over.  Such
 * sends use a connection of their own, so other sends do not wait for them.  While a node has fewer
 * replicas in sync nothing is sent to it, and sends fail with UNAVAILABLE in the end.  A message
 * that was stored, and was not acknowledged by enough replicas in time, fails with UNKNOWN: it is
 * stored on its node and may be handled. */
SMQ_API smq_status smq_producer_new(smq_producer **out, smq_client *client,
                                    const smq_producer_options *options, smq_error *err);

/* Send one message and wait until it is stored.  Concurrent calls share round trips.  Within
 * send_timeout_ms a send that was not done, or whose reply was lost, is repeated.  Each request has
 * a send id, so Redis stores a message once however often its request comes, and answers a repeat
 * as the first try; only a failover that loses the first try makes Redis store the repeat.  A send
 * whose reply was lost is repeated for half an hour at most, whatever send_timeout_ms says, because
 * Redis keeps send ids for an hour.  `out` may be NULL; else it is filled on success and on
 * failure. Blocks: send_timeout_ms.  Fails: UNKNOWN (it may be stored, or is on too few replicas),
 * FULL (Redis is out of memory, or max_waiting of the topic is reached), DUPLICATE (nothing was
 * stored: the id is in flight, rests, or was done within the topic's dedup_window_ms). */
SMQ_API smq_status smq_send(smq_producer *producer, const char *topic, const smq_message *message,
                            smq_receipt *out, smq_error *err);

/* Send without waiting for Redis; `sent` gets the receipt.  If `sent` is NULL
 * smq_producer_poll() gives it, in a producer with poll_receipts, or else nobody.  If the call does
 * not return SMQ_OK the send was refused, and there is no receipt.
 * Blocks: full_timeout_ms; on smq:call it never blocks.  Fails: FULL (max_pending or
 * max_pending_bytes is reached). */
SMQ_API smq_status smq_send_async(smq_producer *producer, const char *topic,
                                  const smq_message *message, smq_sent_fn *sent, void *user,
                                  smq_error *err);

/* Send several messages and wait for all of them.  Redis stores those of one slot in one
 * atomic step; the batch as a whole is not atomic.  receipts[i] is filled for every message;
 * `receipts` may be NULL.  The call returns the first status that is not SMQ_OK. Blocks:
 * send_timeout_ms. */
SMQ_API smq_status smq_send_batch(smq_producer *producer, const char *topic,
                                  const smq_message *messages, size_t count, smq_receipt *receipts,
                                  smq_error *err);

/* Store a message again as it was, and wait until it is stored.  If the message waits already it
 * merges with it as a send does; its deliveries stay.  All else is as with smq_send() and
 * smq_send_async(). */
SMQ_API smq_status smq_restore(smq_producer *producer, const char *topic,
                               const smq_message_copy *copy, smq_receipt *out, smq_error *err);
SMQ_API smq_status smq_restore_async(smq_producer *producer, const char *topic,
                                     const smq_message_copy *copy, smq_sent_fn *sent, void *user,
                                     smq_error *err);

/* Of a producer with poll_receipts: take up to `capacity` receipts of asynchronous sends that have
 * ended, in any order, and set *count to their number.  *room (may be NULL) becomes true, once, if
 * a send was refused with FULL since it was true last, and now there is room for its message;
 * receipts that are taken make room.  If there is neither in time the call returns SMQ_OK, and
 * *count is 0.  Texts of the receipts are valid until the next poll, so one thread polls at a time,
 * or copies none.
 * Blocks: timeout_ms; 0 does not block.  Fails: INVALID (the producer has no poll_receipts), CLOSED
 * (it is being freed). */
SMQ_API smq_status smq_producer_poll(smq_producer *producer, smq_receipt *receipts, size_t capacity,
                                     size_t *count, bool *room, int64_t timeout_ms, smq_error *err);

/* A descriptor that is readable (level-triggered) while a poll would return receipts, or say that
 * there is room.  The application may only wait for it; it must not read, write or close it.
 * smq_producer_free() closes it.
 * Returns -1 if the producer is NULL, has no poll_receipts, or was made before fork(). */
SMQ_API int smq_producer_fd(const smq_producer *producer);

/* Wait until every send so far has its receipt, and its callback has returned, or its receipt can
 * be polled.  None of them waits for others any more.
 * Blocks: timeout_ms.  Fails: TIMED_OUT. */
SMQ_API smq_status smq_producer_flush(smq_producer *producer, int64_t timeout_ms, smq_error *err);

/* Free the producer.  Call smq_producer_flush() before it: pending sends end with SMQ_CLOSED if
 * they were not sent to Redis yet, else with SMQ_UNKNOWN.  Their callbacks run before the call
 * returns; receipts that were not polled are dropped. */
SMQ_API void smq_producer_free(smq_producer *producer);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_PRODUCER_H */
