/* delivery.c - public entry points: answering deliveries.
 *
 * Thread: any. */
#include "consume/run/answer.h"

#include <inttypes.h>

#include "base/status.h"

/* The end of a rest must stay far below 2^44, where scores of rests would leave their range. */
#define DELAY_MAX_MS (INT64_C(1) << 40)

#define LEASE_MAX_MS INT64_C(86400000)

static smq_status delivery_check(const smq_delivery *delivery, smq_error *err)
{
    if (delivery == NULL) {
        return status_set(err, SMQ_INVALID, "the delivery is NULL");
    }
    return delivery_check_process(delivery, err);
}

/* An answer always ends the delivery: if the delay is out of range, `instead` is used. */
static smq_status delivery_answer(smq_delivery *delivery, enum store_answer_op op, int64_t delay_ms,
                                  int64_t least_ms, int64_t instead, const char *reason,
                                  smq_error *err)
{
    smq_status status = delivery_check(delivery, err);
    bool valid = delay_ms >= least_ms && delay_ms <= DELAY_MAX_MS;

    if (status != SMQ_OK) {
        return status;
    }
    status = answer_give(delivery, op, valid ? delay_ms : instead, reason, err);
    if (status == SMQ_OK && !valid) {
        return status_set(err, SMQ_INVALID,
                          "delay_ms is %" PRId64 ", not within 0 .. %" PRId64 "; the delivery was "
                          "answered with the default",
                          delay_ms, DELAY_MAX_MS);
    }
    return status;
}

SMQ_API smq_status smq_done(smq_delivery *delivery, smq_error *err)
{
    return delivery_answer(delivery, STORE_DONE, 0, 0, 0, NULL, err);
}

SMQ_API smq_status smq_retry(smq_delivery *delivery, int64_t delay_ms, const char *reason,
                             smq_error *err)
{
    return delivery_answer(delivery, STORE_RETRY, delay_ms, SMQ_BACKOFF, SMQ_BACKOFF, reason, err);
}

SMQ_API smq_status smq_reject(smq_delivery *delivery, const char *reason, smq_error *err)
{
    return delivery_answer(delivery, STORE_REJECT, 0, 0, 0, reason, err);
}

SMQ_API smq_status smq_release(smq_delivery *delivery, int64_t delay_ms, smq_error *err)
{
    return delivery_answer(delivery, STORE_RELEASE, delay_ms, 0, 0, NULL, err);
}

SMQ_API smq_status smq_extend(smq_delivery *delivery, int64_t lease_ms, smq_error *err)
{
    smq_status status = delivery_check(delivery, err);

    if (status == SMQ_OK && (lease_ms < 1 || lease_ms > LEASE_MAX_MS)) {
        return status_set(err, SMQ_INVALID,
                          "lease_ms is %" PRId64 ", not within 1 .. %" PRId64 "; nothing was done",
                          lease_ms, LEASE_MAX_MS);
    }
    return status == SMQ_OK ? answer_extend(delivery, lease_ms, err) : status;
}

SMQ_API const smq_message_info *smq_delivery_info(const smq_delivery *delivery)
{
    return delivery != NULL ? &delivery->info : NULL;
}

SMQ_API smq_status smq_delivery_check(const smq_delivery *delivery)
{
    smq_status status = delivery_check(delivery, NULL);

    return status == SMQ_OK ? answer_check(delivery) : status;
}
