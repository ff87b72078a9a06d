/* answer.h - answering a delivery: who may do it, and the answer's way into the scheduler.
 *
 * Thread: as each function says. */
#ifndef CONSUME_RUN_ANSWER_H
#define CONSUME_RUN_ANSWER_H

#include "consume/run/delivery.h"

/* What smq_delivery_check() returns: delivery_validity(), and LEASE_LOST also if the membership of
 * the process has expired by its own clock and nothing has reported that yet.  Thread: any. */
smq_status answer_check(const smq_delivery *delivery);

/* Answer a delivery.  `delay_ms` is SMQ_BACKOFF or more.  The call ends the caller's reference
 * unless it returns INVALID, which means that the delivery was answered before.  Fails: INVALID,
 * LEASE_LOST, FENCED, CLOSED.  Thread: any. */
smq_status answer_give(smq_delivery *delivery, enum store_answer_op op, int64_t delay_ms,
                       const char *reason, smq_error *err);

/* As answer_give(), but an answer that can be given waits at the end of the list, for
 * answer_pass(). The list is of one scheduler.  Thread: any. */
smq_status answer_prepare(struct delivery_list *list, smq_delivery *delivery,
                          enum store_answer_op op, int64_t delay_ms, const char *reason,
                          smq_error *err);

/* Give the answers that wait; the list is empty afterwards.  Fails: CLOSED, for all of them.
 * Thread: any. */
smq_status answer_pass(struct delivery_list *list, smq_error *err);

/* Extend the lease of a delivery so that it lasts at least `lease_ms` from now.  Blocks:
 * request_timeout_ms.  Fails: LEASE_LOST, FENCED, CLOSED, UNKNOWN, UNAVAILABLE and others.  Thread:
 * any but smq:io. */
smq_status answer_extend(smq_delivery *delivery, int64_t lease_ms, smq_error *err);

/* The answer that a verdict stands for.  false: for none, so *out is that of RETRY.  Pure. */
bool answer_op(enum store_answer_op *out, smq_verdict verdict);

/* Is it one of the enumerators?  Pure. */
bool answer_is_verdict(smq_verdict verdict);

/* Answer a delivery with the verdict that its handler returned; what is no verdict, and ANSWERED
 * for a delivery that was not, mean RETRY.  Thread: smq:work-N. */
enum answer_verdict {
    ANSWER_GIVEN,    /* the delivery holds the answer, for scheduler_answer() */
    ANSWER_TOO_LATE, /* the caller ends the answerer's reference */
    ANSWER_LEFT      /* it was answered before, or will be later (SMQ_LATER) */
};
enum answer_verdict answer_by_verdict(smq_delivery *delivery, smq_verdict verdict);

#endif
