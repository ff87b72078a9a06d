/* delivery.c - public entry points: answering deliveries.
 *
 * Thread: any. */
#include "consume/run/answer.h"

#include <inttypes.h>

#include "base/status.h"
#include "consume/run/scheduler.h"
#include "model/headers.h"

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

static smq_status delivery_fail_delay(int64_t delay_ms, smq_error *err)
{
    return status_set(err, SMQ_INVALID,
                      "delay_ms is %" PRId64 ", not within 0 .. %" PRId64 "; the delivery was "
                      "answered with the default",
                      delay_ms, DELAY_MAX_MS);
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
    return status == SMQ_OK && !valid ? delivery_fail_delay(delay_ms, err) : status;
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

/* --- several --- */

/* Answers of one scheduler that wait to be passed on together. */
struct delivery_batch {
    struct delivery_list list;
    const struct scheduler *scheduler;
    smq_answer *from;
    smq_status first; /* that is not SMQ_OK */
    smq_error *err;
};

static smq_status delivery_note(struct delivery_batch *batch, smq_status status,
                                const smq_error *why)
{
    if (status != SMQ_OK && batch->first == SMQ_OK) {
        batch->first = status_copy(batch->err, why);
    }
    return status;
}

/* `to` is behind the last answer of the batch. */
static void delivery_pass(struct delivery_batch *batch, smq_answer *to)
{
    smq_error why;

    if (answer_pass(&batch->list, &why) == SMQ_OK) {
        return;
    }
    for (smq_answer *answer = batch->from; answer < to; answer++) {
        if (answer->status == SMQ_OK) {
            answer->status = delivery_note(batch, SMQ_CLOSED, &why);
        }
    }
}

/* An answer always ends the delivery, as delivery_answer() says. */
static smq_status delivery_take(struct delivery_list *list, const smq_answer *answer,
                                smq_error *err)
{
    enum store_answer_op op;
    bool named = answer_op(&op, answer->verdict), timed;
    int64_t least_ms = op == STORE_RETRY ? SMQ_BACKOFF : 0;
    int64_t delay_ms = op == STORE_RETRY || op == STORE_RELEASE ? answer->delay_ms : 0;
    const char *reason = op == STORE_RETRY || op == STORE_REJECT ? answer->reason : NULL;
    smq_status status = delivery_check(answer->delivery, err);

    if (status != SMQ_OK) {
        return status;
    }
    timed = named && delay_ms >= least_ms && delay_ms <= DELAY_MAX_MS;
    status = answer_prepare(list, answer->delivery, op, timed ? delay_ms : least_ms, reason, err);
    if (status == SMQ_OK && !named) {
        return status_set(err, SMQ_INVALID, "verdict %d is no answer: the message is retried",
                          (int) answer->verdict);
    }
    return status == SMQ_OK && !timed ? delivery_fail_delay(delay_ms, err) : status;
}

SMQ_API smq_status smq_answer_all(smq_answer *answers, size_t count, smq_error *err)
{
    struct delivery_batch batch = {
        .list = STAILQ_HEAD_INITIALIZER(batch.list), .from = answers, .err = err};
    smq_error why;

    if (answers == NULL && count > 0) {
        return status_set(err, SMQ_INVALID, "there are no answers: answers is NULL");
    }
    for (smq_answer *answer = answers; answer < answers + count; answer++) {
        const struct scheduler *scheduler =
            answer->delivery != NULL ? scheduler_of(answer->delivery) : NULL;

        if (scheduler != batch.scheduler) {
            delivery_pass(&batch, answer);
            batch.scheduler = scheduler;
            batch.from = answer;
        }
        answer->status = delivery_note(&batch, delivery_take(&batch.list, answer, &why), &why);
    }
    delivery_pass(&batch, answers + count);
    return batch.first;
}

SMQ_API smq_status smq_done_all(smq_delivery *const *deliveries, size_t count, smq_error *err)
{
    enum { AT_ONCE = 128 };
    smq_answer answers[AT_ONCE];
    smq_status first = SMQ_OK;
    smq_error why;

    if (deliveries == NULL && count > 0) {
        return status_set(err, SMQ_INVALID, "there are no deliveries: deliveries is NULL");
    }
    while (count > 0) {
        size_t some = count < AT_ONCE ? count : AT_ONCE;

        for (size_t i = 0; i < some; i++) {
            answers[i] = (smq_answer){.delivery = deliveries[i], .verdict = SMQ_DONE};
        }
        if (smq_answer_all(answers, some, &why) != SMQ_OK && first == SMQ_OK) {
            first = status_copy(err, &why);
        }
        deliveries += some;
        count -= some;
    }
    return first;
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

SMQ_API const smq_header *smq_header_get(const smq_message_info *info, const char *name)
{
    return info != NULL && name != NULL ? headers_find(info->headers, info->header_count, name)
                                        : NULL;
}

SMQ_API smq_status smq_delivery_check(const smq_delivery *delivery)
{
    smq_status status = delivery_check(delivery, NULL);

    return status == SMQ_OK ? answer_check(delivery) : status;
}
