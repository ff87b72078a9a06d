/* producer.c - public entry points: sending.
 *
 * Thread: any. */
#include "produce/producer.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "client/client.h"
#include "client/options.h"
#include "produce/send_hooks.h"

static smq_status producer_check(const smq_producer *producer, smq_error *err)
{
    if (producer == NULL) {
        return status_set(err, SMQ_INVALID, "the producer is NULL");
    }
    return core_check(producer_core(producer), err);
}

static smq_status producer_take(struct message *out, const smq_message *message, smq_error *err)
{
    smq_message known;
    smq_status status =
        options_check_and_copy(&known, sizeof(known), message, "SMQ_MESSAGE_INIT", err);

    if (status == SMQ_OK) {
        *out = (struct message){.body = known.body,
                                .key = known.key,
                                .id = known.id,
                                .priority = known.priority,
                                .delay_ms = known.delay_ms,
                                .due_at_ms = known.due_at_ms,
                                .ttl_ms = known.ttl_ms,
                                .max_retries = known.max_retries,
                                .headers = known.headers,
                                .header_count = known.header_count};
    }
    return status;
}

/* Checks the producer, too. */
static smq_status producer_begin(struct message *out, const smq_producer *producer,
                                 const smq_message *message, smq_error *err)
{
    const smq_status status = producer_check(producer, err);

    return status == SMQ_OK ? producer_take(out, message, err) : status;
}

/* The same for a message that is restored. */
static smq_status producer_begin_copy(struct message *out, const smq_producer *producer,
                                      const smq_message_copy *copy, smq_error *err)
{
    smq_message_copy known;
    smq_status status = producer_check(producer, err);

    if (status == SMQ_OK) {
        status = options_check_and_copy(&known, sizeof(known), copy, "SMQ_MESSAGE_COPY_INIT", err);
    }
    if (status == SMQ_OK) {
        *out = (struct message){.body = known.body,
                                .key = known.key,
                                .id = known.id,
                                .priority = known.priority,
                                .due_at_ms = known.due_at_ms,
                                .max_retries = known.max_retries,
                                .headers = known.headers,
                                .header_count = known.header_count,
                                .restored = true,
                                .attempt = known.attempt,
                                .sent_at_ms = known.sent_at_ms,
                                .expires_at_ms = known.expires_at_ms};
    }
    return status;
}

SMQ_API smq_status smq_producer_new(smq_producer **out, smq_client *client,
                                    const smq_producer_options *options, smq_error *err)
{
    const smq_producer_options defaults = SMQ_PRODUCER_OPTIONS_INIT;
    smq_producer_options known;
    smq_status status;

    if (out == NULL) {
        return status_set(err, SMQ_INVALID, "there is no place for the new producer: out is NULL");
    }
    *out = NULL;
    status = client_complete(&known, SMQ_OPTION_SET_PRODUCER, client,
                             options != NULL ? options : &defaults, err);
    if (status == SMQ_OK && known.poll_receipts && known.room != NULL) {
        return status_set(err, SMQ_INVALID,
                          "room is only for producers without poll_receipts: smq_producer_poll() "
                          "says when there is room");
    }
    return status == SMQ_OK ? producer_new(out, client->core, &known, err) : status;
}

/* `status` is that of a check before the message was sent. */
static smq_status producer_refuse(smq_receipt *out, smq_status status)
{
    if (out != NULL) {
        *out = (smq_receipt){.status = status, .slot = -1};
    }
    return status;
}

SMQ_API smq_status smq_send(smq_producer *producer, const char *topic, const smq_message *message,
                            smq_receipt *out, smq_error *err)
{
    struct message known;
    const smq_status status = producer_begin(&known, producer, message, err);

    if (status != SMQ_OK) {
        return producer_refuse(out, status);
    }
    return producer_send(out, producer, topic, &known, err);
}

SMQ_API smq_status smq_restore(smq_producer *producer, const char *topic,
                               const smq_message_copy *copy, smq_receipt *out, smq_error *err)
{
    struct message known;
    const smq_status status = producer_begin_copy(&known, producer, copy, err);

    if (status != SMQ_OK) {
        return producer_refuse(out, status);
    }
    return producer_send(out, producer, topic, &known, err);
}

SMQ_API smq_status smq_send_async(smq_producer *producer, const char *topic,
                                  const smq_message *message, smq_sent_fn *sent, void *user,
                                  smq_error *err)
{
    struct message known;
    const smq_status status = producer_begin(&known, producer, message, err);

    if (status != SMQ_OK) {
        return status;
    }
    return producer_send_async(producer, topic, &known, sent, user, err);
}

SMQ_API smq_status smq_restore_async(smq_producer *producer, const char *topic,
                                     const smq_message_copy *copy, smq_sent_fn *sent, void *user,
                                     smq_error *err)
{
    struct message known;
    const smq_status status = producer_begin_copy(&known, producer, copy, err);

    if (status != SMQ_OK) {
        return status;
    }
    return producer_send_async(producer, topic, &known, sent, user, err);
}

static void producer_refuse_all(smq_receipt *receipts, size_t count, smq_status status)
{
    for (size_t i = 0; receipts != NULL && i < count; i++) {
        receipts[i] = (smq_receipt){.status = status, .slot = -1};
    }
}

/* In a program with an older header the messages are smaller, and so are the steps between them;
 * all have the size of the first one. */
static smq_status producer_take_all(struct message **out, const smq_message *messages, size_t count,
                                    smq_error *err)
{
    const char *from = (const char *) messages;
    struct message first;
    size_t step;
    smq_status status = producer_take(&first, messages, err);

    if (status != SMQ_OK) {
        return status;
    }
    memcpy(&step, messages, sizeof(step));
    *out = calloc(count, sizeof(**out));
    if (*out == NULL) {
        return status_set(err, SMQ_NO_MEMORY, "no memory for %zu messages", count);
    }
    for (size_t i = 0; i < count && status == SMQ_OK; i++) {
        status = producer_take(&(*out)[i], (const smq_message *) (from + i * step), err);
    }
    return status;
}

SMQ_API smq_status smq_send_batch(smq_producer *producer, const char *topic,
                                  const smq_message *messages, size_t count, smq_receipt *receipts,
                                  smq_error *err)
{
    struct message *known = NULL;
    smq_status status = producer_check(producer, err);

    if (status == SMQ_OK && count == 0) {
        return SMQ_OK;
    }
    if (status == SMQ_OK) {
        status = producer_take_all(&known, messages, count, err);
    }
    if (status != SMQ_OK) {
        producer_refuse_all(receipts, count, status);
        goto out;
    }
    status = producer_send_batch(receipts, producer, topic, known, count, err);
out:
    free(known);
    return status;
}

SMQ_API smq_status smq_hook_headers_add(smq_hook_headers *headers, const char *name,
                                        smq_bytes value, smq_error *err)
{
    return headers == NULL ? status_set(err, SMQ_INVALID, "the headers are NULL")
                           : send_hooks_add(headers, name, value, err);
}

static smq_status producer_check_poll(const smq_producer *producer, const smq_receipt *receipts,
                                      size_t capacity, const size_t *count, int64_t timeout_ms,
                                      smq_error *err)
{
    smq_status status = producer_check(producer, err);

    if (status != SMQ_OK) {
        return status;
    }
    if (producer_fd(producer) < 0) {
        return status_set(err, SMQ_INVALID,
                          "smq_producer_poll() is only for producers with poll_receipts");
    }
    if (receipts == NULL || count == NULL || capacity == 0) {
        return status_set(
            err, SMQ_INVALID,
            "there is no place for receipts: receipts or count is NULL, or capacity is 0");
    }
    return client_check_timeout(timeout_ms, err);
}

SMQ_API smq_status smq_producer_poll(smq_producer *producer, smq_receipt *receipts, size_t capacity,
                                     size_t *count, bool *room, int64_t timeout_ms, smq_error *err)
{
    smq_status status = producer_check_poll(producer, receipts, capacity, count, timeout_ms, err);

    return status == SMQ_OK
               ? producer_poll(receipts, count, room, producer, capacity, timeout_ms, err)
               : status;
}

SMQ_API int smq_producer_fd(const smq_producer *producer)
{
    return producer_check(producer, NULL) == SMQ_OK ? producer_fd(producer) : -1;
}

SMQ_API smq_status smq_producer_flush(smq_producer *producer, int64_t timeout_ms, smq_error *err)
{
    smq_status status = producer_check(producer, err);

    if (status != SMQ_OK) {
        return status;
    }
    status = client_check_timeout(timeout_ms, err);
    return status == SMQ_OK ? producer_flush(producer, timeout_ms, err) : status;
}

SMQ_API void smq_producer_free(smq_producer *producer)
{
    if (producer != NULL && producer_check(producer, NULL) == SMQ_OK) {
        producer_free(producer);
    }
}
