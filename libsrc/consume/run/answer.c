/* answer.c - answering a delivery: who may do it, and the answer's way into the scheduler.
 *
 * Thread: as each function of answer.h says. */
#include "consume/run/answer.h"

#include "base/line.h"
#include "base/memory.h"
#include "base/status.h"
#include "consume/run/hooks.h"
#include "consume/run/scheduler.h"

enum { REASON_MAX = 200 };

smq_status answer_check(const smq_delivery *delivery)
{
    smq_status validity = delivery_validity(delivery);

    if (delivery_is_late(validity) || validity == SMQ_UNKNOWN) {
        return validity;
    }
    return scheduler_is_over(scheduler_of(delivery)) ? SMQ_LEASE_LOST : validity;
}

static smq_status answer_refuse(const smq_delivery *delivery, smq_status status, smq_error *err)
{
    const smq_message_info *info = &delivery->info;

    if (status == SMQ_FENCED) {
        return status_set(err, status, "slot %d of topic %s has a newer owner", info->slot,
                          info->topic);
    }
    if (status == SMQ_LEASE_LOST) {
        return status_set(err, status, "the lease of this message of slot %d of topic %s has ended",
                          info->slot, info->topic);
    }
    return status_set(err, status,
                      "the consumer of topic %s has ended; the message is delivered again",
                      info->topic);
}

/* Claim the right to answer.  Returns INVALID if the delivery was answered already, and LEASE_LOST
 * or FENCED if it is too late.  Only after INVALID the caller still has its reference to the
 * delivery. */
static smq_status answer_claim_right(smq_delivery *delivery)
{
    smq_status validity = delivery_validity(delivery);
    int was = atomic_exchange(&delivery->answered, DELIVERY_ANSWERED);

    if (was == DELIVERY_ANSWERED) {
        return SMQ_INVALID;
    }
    if (was == DELIVERY_OVERDUE && !delivery_is_late(validity)) {
        return SMQ_LEASE_LOST;
    }
    return delivery_is_late(validity) ? validity : SMQ_OK;
}

static char *answer_copy_reason(const char *reason)
{
    return reason != NULL && reason[0] != '\0' ? memory_copy(reason, line_fit(reason, REASON_MAX))
                                               : NULL;
}

smq_status answer_prepare(struct delivery_list *list, smq_delivery *delivery,
                          enum store_answer_op op, int64_t delay_ms, const char *reason,
                          smq_error *err)
{
    struct scheduler *scheduler = scheduler_of(delivery);
    smq_status status = answer_claim_right(delivery);

    if (status == SMQ_INVALID) {
        return status_set(err, status, "the delivery was answered already");
    }
    hooks_answered(scheduler, delivery, op);
    if (status != SMQ_OK) {
        (void) answer_refuse(delivery, status, err);
        scheduler_refuse(scheduler, delivery, status);
        hooks_refused(delivery, op, reason, status);
        delivery_unref(delivery);
        return status;
    }
    delivery->answer.op = op;
    delivery->answer.delay_ms = delay_ms;
    delivery->answer.reason = answer_copy_reason(reason);
    STAILQ_INSERT_TAIL(list, delivery, link);
    return SMQ_OK;
}

smq_status answer_pass(struct delivery_list *list, smq_error *err)
{
    smq_delivery *delivery = STAILQ_FIRST(list);

    if (delivery == NULL || scheduler_answer(scheduler_of(delivery), list)) {
        return SMQ_OK;
    }
    (void) answer_refuse(delivery, SMQ_CLOSED, err);
    while ((delivery = STAILQ_FIRST(list)) != NULL) {
        STAILQ_REMOVE_HEAD(list, link);
        hooks_refused(delivery, delivery->answer.op, delivery->answer.reason, SMQ_CLOSED);
        delivery_unref(delivery);
    }
    return SMQ_CLOSED;
}

smq_status answer_give(smq_delivery *delivery, enum store_answer_op op, int64_t delay_ms,
                       const char *reason, smq_error *err)
{
    struct delivery_list list = STAILQ_HEAD_INITIALIZER(list);
    smq_status status = answer_prepare(&list, delivery, op, delay_ms, reason, err);

    return status == SMQ_OK ? answer_pass(&list, err) : status;
}

smq_status answer_extend(smq_delivery *delivery, int64_t lease_ms, smq_error *err)
{
    smq_status status = delivery_validity(delivery);

    if (delivery_is_late(status)) {
        return answer_refuse(delivery, status, err);
    }
    delivery_ref(delivery);
    status = extension_ask(scheduler_extensions(scheduler_of(delivery)), delivery, lease_ms, err);
    delivery_unref(delivery);
    return status;
}

bool answer_op(enum store_answer_op *out, smq_verdict verdict)
{
    *out = STORE_RETRY;
    switch (verdict) {
    case SMQ_DONE:
        *out = STORE_DONE;
        return true;
    case SMQ_REJECT:
        *out = STORE_REJECT;
        return true;
    case SMQ_RELEASE:
        *out = STORE_RELEASE;
        return true;
    case SMQ_RETRY:
        return true;
    case SMQ_LATER:
    case SMQ_ANSWERED:
        break;
    }
    return false;
}

bool answer_is_verdict(smq_verdict verdict)
{
    return verdict >= SMQ_DONE && verdict <= SMQ_ANSWERED;
}

enum answer_verdict answer_by_verdict(smq_delivery *delivery, smq_verdict verdict)
{
    smq_status status = verdict == SMQ_LATER ? SMQ_INVALID : answer_claim_right(delivery);
    enum store_answer_op op;

    if (status == SMQ_INVALID) {
        return ANSWER_LEFT;
    }
    (void) answer_op(&op, verdict);
    if (status != SMQ_OK) {
        hooks_refused(delivery, op, NULL, status);
        return ANSWER_TOO_LATE;
    }
    delivery->answer.op = op;
    delivery->answer.delay_ms = op == STORE_RETRY ? SMQ_BACKOFF : 0;
    return ANSWER_GIVEN;
}
