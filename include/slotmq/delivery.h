/* delivery.h - a claimed message, and how to answer it.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_DELIVERY_H
#define SLOTMQ_DELIVERY_H

#include <slotmq/message.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A claimed message that the application has to answer. */
typedef struct smq_delivery smq_delivery;

/* === Answering ========================================================== */

/* The application holds a delivery until it answers it, once, from any thread; until then the
 * library renews its lease.  The answer frees the delivery, whatever status it returns.
 *
 * Answers do not wait for Redis.  SMQ_OK means that the answer was accepted and will be stored;
 * LEASE_LOST, FENCED and CLOSED mean that it came too late.  An answer that comes too late changes
 * nothing in Redis, and the message is delivered again, so handlers must be idempotent.
 *
 * A delivery may be answered after its consumer was freed; that returns CLOSED. */

/* What a handler returns.  0 and all other numbers are no verdicts: then the message is retried,
 * and the first time an event of level ERROR says so. */
typedef enum smq_verdict {
    SMQ_DONE = 1,    /* remove the message */
    SMQ_REJECT = 2,  /* make the message a dead letter now: it can never succeed */
    SMQ_RELEASE = 3, /* requeue the message as if it was never claimed; uses no retry */
    SMQ_LATER = 4,   /* the application answers by a call; the key waits for that */
    SMQ_RETRY = 5,   /* deliver the message again after its back-off */
    SMQ_ANSWERED = 6 /* the handler has answered by a call.  A message that it has not answered is
                        retried, and the first time an event says so */
} smq_verdict;

/* The message was handled; it is removed. */
SMQ_API smq_status smq_done(smq_delivery *delivery, smq_error *err);

/* The attempt failed: the message is delivered again `delay_ms` from now, with SMQ_BACKOFF after
 * the back-off of the topic.  This uses one retry; without one left the message becomes a dead
 * letter. `reason` (may be NULL) is shown with the message in every state until it fails again or
 * is done. Of a long reason the first SMQ_REASON_MAX bytes are kept, without a part of a UTF-8
 * character. */
SMQ_API smq_status smq_retry(smq_delivery *delivery, int64_t delay_ms, const char *reason,
                             smq_error *err);

/* The message can never succeed: it becomes a dead letter now.  `reason` is kept with it, as by
 * smq_retry(). */
SMQ_API smq_status smq_reject(smq_delivery *delivery, const char *reason, smq_error *err);

/* Requeue the message as if it was never claimed; this uses no retry.  It can be claimed again
 * after `delay_ms`, with 0 at once.  A caller that releases because another system is overloaded
 * should give a delay, else the message is delivered again immediately. */
SMQ_API smq_status smq_release(smq_delivery *delivery, int64_t delay_ms, smq_error *err);

/* One answer of several.  The layout of this struct never changes. */
typedef struct smq_answer {
    smq_delivery *delivery;
    smq_verdict verdict; /* SMQ_DONE, SMQ_RETRY, SMQ_REJECT or SMQ_RELEASE */
    smq_status status;   /* written: what the call that gives this answer alone would return */
    int64_t delay_ms;    /* SMQ_RETRY, also SMQ_BACKOFF; SMQ_RELEASE */
    const char *reason;  /* SMQ_RETRY, SMQ_REJECT; may be NULL */
} smq_answer;

/* Give several answers in one call; the deliveries may be of any topics.  It costs least if those
 * of one consumer stand together.  Each answer is accepted or too late by itself, and the others do
 * not depend on it.  The call frees the deliveries, whatever it returns.  A verdict that is none of
 * these four means SMQ_RETRY with SMQ_BACKOFF, and the status of its answer is INVALID.  The call
 * returns the first status that is not SMQ_OK. */
SMQ_API smq_status smq_answer_all(smq_answer *answers, size_t count, smq_error *err);

/* The same with SMQ_DONE for each. */
SMQ_API smq_status smq_done_all(smq_delivery *const *deliveries, size_t count, smq_error *err);

/* Extend the lease so that it lasts at least `lease_ms` (1 ms .. 1 day) from now, even if this
 * process stalls or ends: until then no other consumer gets the message.  Slow handlers do not need
 * this, because the library renews leases.  In an exclusive topic it has an effect only with
 * takeover strict, where it also holds back the other messages of the key; with takeover fast a new
 * owner of the slot gets the message at once.  The call does not answer the delivery.
 * Blocks: request_timeout_ms.  Fails: LEASE_LOST, FENCED, CLOSED; UNAVAILABLE (not done), UNKNOWN
 * (it may have been done). */
SMQ_API smq_status smq_extend(smq_delivery *delivery, int64_t lease_ms, smq_error *err);

/* The message of a delivery.  The pointer is valid until the delivery is answered. */
SMQ_API const smq_message_info *smq_delivery_info(const smq_delivery *delivery);

/* Check whether this process still holds the message.  This is cheap enough for inner loops.
 *
 *   SMQ_OK              it does
 *   LEASE_LOST, FENCED  another consumer may have the message: stop handling it
 *   CLOSED              it does, but the consumer stops: finish soon, or release
 *   FORKED              this is a child of the process that holds it: do not handle it here
 *
 * With on_coordination_loss STOP the check also returns LEASE_LOST while the membership has expired
 * by the clock of this process.  When the membership is confirmed again it returns SMQ_OK again; an
 * answer in between is sent to Redis as usual. */
SMQ_API smq_status smq_delivery_check(const smq_delivery *delivery);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_DELIVERY_H */
