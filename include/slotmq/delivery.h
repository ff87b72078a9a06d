/* delivery.h - a claimed message, and how to answer it.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_DELIVERY_H
#define SLOTMQ_DELIVERY_H

#include <slotmq/message.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct smq_delivery smq_delivery; /* a claimed message to answer */

/* === Answering ========================================================== */

/* A delivery is yours until you answer it, once, from any thread; its lease is
 * renewed meanwhile.  The answer ends it, whatever is returned: do not touch
 * the delivery again.  Answers do not wait for Redis: SMQ_OK means accepted,
 * LEASE_LOST, FENCED or CLOSED that it is known to be too late.  An answer that
 * comes too late changes nothing in Redis, and the message is delivered again,
 * so handlers must stand being run twice.  A delivery outlives its worker. */

/* What a handler returns. */
typedef enum smq_verdict {
    SMQ_RETRY = 0,   /* again after back-off; any unknown value means this   */
    SMQ_DONE = 1,    /* gone                                                 */
    SMQ_REJECT = 2,  /* dead at once: it can never succeed                   */
    SMQ_RELEASE = 3, /* back, as if never claimed; no retry used             */
    SMQ_LATER = 4    /* I answer by a call; the slot waits for it            */
} smq_verdict;

SMQ_API smq_status smq_done(smq_delivery *delivery, smq_error *err);

/* One retry used; after the last the message is dead.  `delay_ms` from now, or
 * SMQ_BACKOFF.  `reason` (or NULL: none; its first SMQ_REASON_MAX bytes count, without a part of a
 * UTF-8 character) is shown with the message, in whatever state, until it fails again or is done.
 */
SMQ_API smq_status smq_retry(smq_delivery *delivery, int64_t delay_ms, const char *reason,
                             smq_error *err);

/* Dead at once; the dead letter keeps `reason`, which is as for smq_retry(). */
SMQ_API smq_status smq_reject(smq_delivery *delivery, const char *reason, smq_error *err);

/* Back in `delay_ms`, or at once with 0; no retry used.  Give a delay when the reason is that
 * others are overloaded, or the message comes straight back. */
SMQ_API smq_status smq_release(smq_delivery *delivery, int64_t delay_ms, smq_error *err);

/* Let the lease last at least `lease_ms` (1 .. 1 day) from now, also if this
 * process stalls: others then wait so long for the message.  In an exclusive
 * topic that goes for takeover strict; with fast a new owner of the slot has it
 * at once.  Not needed against slow handlers: leases are renewed.  Does not
 * answer.  Blocks: request_timeout_ms.  Fails: LEASE_LOST, FENCED, CLOSED;
 * UNAVAILABLE (not done), UNKNOWN (done or not). */
SMQ_API smq_status smq_extend(smq_delivery *delivery, int64_t lease_ms, smq_error *err);

/* What was delivered; valid until the delivery is answered. */
SMQ_API const smq_message_info *smq_delivery_info(const smq_delivery *delivery);

/* SMQ_OK while the message is yours; LEASE_LOST or FENCED: stop, somebody else
 * may have it; CLOSED: still yours, but the worker stops, so hurry or release.
 * With on_zk_loss STOP it is LEASE_LOST also while the membership is over by the
 * clock of this process; SMQ_OK may come back, and an answer is tried all the same.
 * Cheap enough for inner loops. */
SMQ_API smq_status smq_delivery_check(const smq_delivery *delivery);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_DELIVERY_H */
