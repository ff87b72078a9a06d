/* answer.h - who may answer a delivery, and the way of the answer into its queue.
 *
 * Thread: as each function says. */
#ifndef CONSUME_RUN_ANSWER_H
#define CONSUME_RUN_ANSWER_H

#include "consume/run/delivery.h"

/* How a delivery stands for its user: as delivery_standing() says, and LEASE_LOST also while the
 * membership of the process has ended by our clock, and nothing has reported that yet.
 * Thread: any. */
smq_status answer_check(const smq_delivery *delivery);

/* Answer a delivery, unless it is answered already: INVALID.  `delay_ms`: SMQ_BACKOFF or more. Ends
 * the caller's reference, whatever is returned but INVALID.  Fails: LEASE_LOST, FENCED, CLOSED.
 * Thread: any. */
smq_status answer_give(smq_delivery *delivery, enum store_answer_op op, int64_t delay_ms,
                       const char *reason, smq_error *err);

/* Let the lease of a delivery last at least `lease_ms` from now.  Blocks: request_timeout_ms.
 * Fails: LEASE_LOST, FENCED, CLOSED, UNKNOWN, UNAVAILABLE, ...  Thread: any but smq:io. */
smq_status answer_extend(smq_delivery *delivery, int64_t lease_ms, smq_error *err);

/* Answer a delivery by what a handler returned.  Thread: smq:work-N. */
enum answer_verdict {
    ANSWER_TAKEN,    /* the answer is in the delivery, for run_queue_answer() */
    ANSWER_TOO_LATE, /* the reference of the one who answers is the caller's to end */
    ANSWER_LEFT      /* the delivery was answered already, or will be: the handler said LATER */
};
enum answer_verdict answer_take_verdict(smq_delivery *delivery, smq_verdict verdict);

#endif
