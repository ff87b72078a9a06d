/* producer.h - a producer: it collects sends per slot, has one request per slot in flight, and
 * repeats requests until they are done.
 *
 * Thread: any.  Requests are made on smq:io (produce/outboxes.h), receipts are given on
 * smq:call. */
#ifndef PRODUCE_PRODUCER_H
#define PRODUCE_PRODUCER_H

#include <slotmq/producer.h>

#include "core/core.h"
#include "model/send.h"

/* The struct smq_producer of the public header; the options are complete. */
smq_status producer_new(smq_producer **out, struct core *core, const smq_producer_options *options,
                        smq_error *err);

/* Pending sends end with CLOSED or UNKNOWN; their callbacks have run when this returns.  If it is
 * called on smq:call the callbacks run inside this call. */
void producer_free(smq_producer *producer);

struct core *producer_core(const smq_producer *producer);

/* The calls of the public header. */
smq_status producer_send(smq_receipt *out, smq_producer *producer, const char *topic,
                         const struct message *message, smq_error *err);
smq_status producer_send_async(smq_producer *producer, const char *topic,
                               const struct message *message, smq_sent_fn *sent, void *user,
                               smq_error *err);
smq_status producer_send_batch(smq_receipt *receipts, smq_producer *producer, const char *topic,
                               const struct message *messages, size_t count, smq_error *err);
smq_status producer_poll(smq_receipt *receipts, size_t *count, bool *room, smq_producer *producer,
                         size_t capacity, int64_t timeout_ms, smq_error *err);
int producer_fd(const smq_producer *producer); /* -1: its receipts are not polled */
smq_status producer_flush(smq_producer *producer, int64_t timeout_ms, smq_error *err);

#endif
