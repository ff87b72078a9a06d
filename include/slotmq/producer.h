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

/* What became of one send.  Its layout is fixed. */
typedef struct smq_receipt {
    smq_status status;
    int32_t slot;         /* -1 when refused before it had one                 */
    bool merged;          /* joined a message that was waiting                 */
    char id[SMQ_ID_SIZE]; /* the id the library made, whatever the status; ""
                           if it made none                                   */
    bool merge_unknown;   /* it was repeated after a lost reply, and a
                             repeat found it waiting: added by the first
                             try, or merged.  Never with an id that the
                             library made; `merged` is false then        */
    uint8_t reserved[7];
} smq_receipt;

/* Thread: smq:call.  Exactly once for every smq_send_async() that returned
 * SMQ_OK, in no promised order.  The receipt is valid only during the callback. */
typedef void smq_sent_fn(const smq_receipt *receipt, void *user);

typedef struct smq_producer_options {
    size_t struct_size;
    int32_t replicas;          /* acknowledged by so many replicas too; 0    */
    int64_t send_timeout_ms;   /* with all repeats; default 10000            */
    bool no_repeat;            /* do not repeat a send whose reply was lost  */
    int64_t max_pending;       /* sends without a receipt; default 100000    */
    int64_t max_pending_bytes; /* of bodies, keys, ids; default 64 MiB     */
    int64_t full_timeout_ms;   /* smq_send_async() waits so long for room;
                                  default 0: FULL at once                    */
} smq_producer_options;
#define SMQ_PRODUCER_OPTIONS_INIT SMQ_INIT(smq_producer_options)
#define SMQ_PRODUCER_OPTIONS(...) SMQ_WITH(smq_producer_options, __VA_ARGS__)

/* One producer serves all topics and threads.  NULL options: all defaults.
 *
 * `replicas` (up to 16): a send is done when so many replicas of its node have
 * the message, too, so that it outlives the loss of the node if one of them
 * takes over.  Such sends go over a connection of their own, which others do
 * not wait for.  While a node has fewer replicas in step nothing is sent to it
 * (UNAVAILABLE in the end).  What was stored, but not acknowledged by enough of
 * them in time, is UNKNOWN: it stands on its node, and may be handled. */
SMQ_API smq_status smq_producer_new(smq_producer **out, smq_client *client,
                                    const smq_producer_options *options, smq_error *err);

/* Send one message and wait until it is stored.  Concurrent calls share round
 * trips.  What was not done, or whose reply was lost, is repeated in time: the
 * repeat merges, or is one more delivery if the first was claimed meanwhile.
 * `out` may be NULL; else it is filled whatever is returned.
 * Blocks: send_timeout_ms.  Fails: UNKNOWN (stored or not, or on too few
 * replicas), FULL (Redis, or the topic's max_waiting). */
SMQ_API smq_status smq_send(smq_producer *producer, const char *topic, const smq_message *message,
                            smq_receipt *out, smq_error *err);

/* Send without waiting; `sent` (may be NULL) gets the receipt.  Anything but
 * SMQ_OK means: refused now, `sent` will not be called.
 * Blocks: full_timeout_ms (0 on smq:call).  Fails: FULL (max_pending). */
SMQ_API smq_status smq_send_async(smq_producer *producer, const char *topic,
                                  const smq_message *message, smq_sent_fn *sent, void *user,
                                  smq_error *err);

/* Send many and wait for all.  One atomic step per slot, not over the batch:
 * receipts[i] (may be NULL) is filled for every message; the first status that
 * is not SMQ_OK is returned.  Blocks: send_timeout_ms. */
SMQ_API smq_status smq_send_batch(smq_producer *producer, const char *topic,
                                  const smq_message *messages, size_t count, smq_receipt *receipts,
                                  smq_error *err);

/* Wait until every send so far has its receipt and its callback returned.
 * Blocks: timeout_ms.  Fails: TIMED_OUT. */
SMQ_API smq_status smq_producer_flush(smq_producer *producer, int64_t timeout_ms, smq_error *err);

/* Pending sends end as SMQ_CLOSED if they were not sent to Redis yet, else SMQ_UNKNOWN;
 * their callbacks run before this returns.  Flush first. */
SMQ_API void smq_producer_free(smq_producer *producer);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_PRODUCER_H */
