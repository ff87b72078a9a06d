/* consumer.c - public entry points: consumers.
 *
 * Thread: any. */
#include "consume/consumer/consumer.h"

#include <inttypes.h>

#include "base/status.h"
#include "client/client.h"

static smq_status consumer_check(const smq_consumer *consumer, smq_error *err)
{
    if (consumer == NULL) {
        return status_set(err, SMQ_INVALID, "the consumer is NULL");
    }
    return consumer_check_process(consumer, err);
}

/* As consumer_check(), for a call that waits. */
static smq_status consumer_check_wait(const smq_consumer *consumer, int64_t timeout_ms,
                                      smq_error *err)
{
    smq_status status = consumer_check(consumer, err);

    return status == SMQ_OK ? client_check_timeout(timeout_ms, err) : status;
}

/* As consumer_check_wait(), for a call that only a consumer without a handler has. */
static smq_status consumer_check_call(const smq_consumer *consumer, const char *call,
                                      int64_t timeout_ms, smq_error *err)
{
    smq_status status = consumer_check_wait(consumer, timeout_ms, err);

    return status == SMQ_OK ? consumer_check_polled(consumer, call, err) : status;
}

/* Do the callbacks belong to one form?  Fields with a name were checked by it. */
static smq_status consumer_check_callbacks(const smq_consumer_options *options, smq_error *err)
{
    if (options->handler != NULL && options->batch != NULL) {
        return status_set(err, SMQ_INVALID,
                          "the consumer has two kinds of handler; give either handler or batch");
    }
    if (options->handler == NULL && options->batch == NULL &&
        (options->dead != NULL || options->user != NULL)) {
        return status_set(err, SMQ_INVALID, "%s is only for consumers with handler or batch",
                          options->dead != NULL ? "dead" : "user");
    }
    return SMQ_OK;
}

SMQ_API smq_status smq_consumer_new(smq_consumer **out, smq_client *client,
                                    const smq_consumer_options *options, smq_error *err)
{
    smq_consumer_options known;
    smq_status status;

    if (out == NULL) {
        return status_set(err, SMQ_INVALID, "there is no place for the new consumer: out is NULL");
    }
    *out = NULL;
    status = client_complete(&known, SMQ_OPTION_SET_CONSUMER, client, options, err);
    if (status != SMQ_OK) {
        return status;
    }
    if (known.limit != NULL && known.limit->core != client->core) {
        return status_set(err, SMQ_INVALID,
                          "the limit belongs to another client; make one with smq_limit_new() of "
                          "this client");
    }
    status = consumer_check_callbacks(&known, err);
    return status == SMQ_OK ? consumer_new(out, client->core, &known, err) : status;
}

SMQ_API smq_status smq_consumer_start(smq_consumer *consumer, smq_error *err)
{
    smq_status status = consumer_check(consumer, err);

    return status == SMQ_OK ? consumer_start(consumer, err) : status;
}

SMQ_API smq_status smq_consumer_poll(smq_consumer *consumer, smq_delivery **out, size_t capacity,
                                     size_t *count, int64_t timeout_ms, smq_error *err)
{
    smq_status status = consumer_check_call(consumer, "smq_consumer_poll()", timeout_ms, err);

    if (status == SMQ_OK && (count == NULL || (out == NULL && capacity > 0))) {
        return status_set(err, SMQ_INVALID,
                          "there is no place for deliveries: out or count is NULL");
    }
    return status == SMQ_OK ? consumer_poll(out, count, consumer, capacity, timeout_ms, err)
                            : status;
}

SMQ_API smq_status smq_consumer_set_max_in_flight(smq_consumer *consumer, int32_t most,
                                                  smq_error *err)
{
    smq_status status = consumer_check(consumer, err);

    if (status != SMQ_OK) {
        return status;
    }
    if (most < 0) {
        return status_set(err, SMQ_INVALID, "max_in_flight must be 0 or more, not %" PRId32, most);
    }
    consumer_set_max_in_flight(consumer, most);
    return SMQ_OK;
}

SMQ_API int smq_consumer_fd(const smq_consumer *consumer)
{
    return consumer_check_call(consumer, "smq_consumer_fd()", 0, NULL) == SMQ_OK
               ? consumer_fd(consumer)
               : -1;
}

SMQ_API smq_status smq_consumer_flush(smq_consumer *consumer, int64_t timeout_ms, smq_error *err)
{
    smq_status status = consumer_check_call(consumer, "smq_consumer_flush()", timeout_ms, err);

    return status == SMQ_OK ? consumer_flush(consumer, timeout_ms, err) : status;
}

SMQ_API void smq_consumer_stop(smq_consumer *consumer)
{
    if (consumer != NULL) {
        consumer_stop(consumer);
    }
}

SMQ_API smq_status smq_consumer_wait(smq_consumer *consumer, int64_t timeout_ms, smq_error *err)
{
    smq_status status = consumer_check_wait(consumer, timeout_ms, err);

    return status == SMQ_OK ? consumer_wait(consumer, timeout_ms, err) : status;
}

SMQ_API void smq_consumer_free(smq_consumer *consumer)
{
    if (consumer != NULL && consumer_check(consumer, NULL) == SMQ_OK) {
        consumer_free(consumer);
    }
}
