/* hooks.h - the hooks of the application around a delivery (slotmq/hooks.h).
 *
 * Each of them does nothing where the application has no hook.  No lock is held, except where a
 * function says otherwise.
 *
 * Thread: as each function says. */
#ifndef CONSUME_RUN_HOOKS_H
#define CONSUME_RUN_HOOKS_H

#include "consume/run/delivery.h"

struct scheduler;

/* A handler or a poll is about to get these deliveries.  Thread: that of the handler or poll. */
void hooks_begin(const struct scheduler *scheduler, smq_delivery *const *deliveries, size_t count);

/* The handler has returned.  The caller has references.  Thread: that of the handler. */
void hooks_end(const struct scheduler *scheduler, smq_delivery *const *deliveries, size_t count,
               smq_verdict verdict);

/* The delivery is being answered: if it was polled, its processing ends.  The caller has a
 * reference.  Thread: any. */
void hooks_answered(const struct scheduler *scheduler, smq_delivery *delivery,
                    enum store_answer_op op);

/* An answer was refused at once.  The caller has a reference.  Thread: any. */
void hooks_refused(const smq_delivery *delivery, enum store_answer_op op, const char *reason,
                   smq_status status);

/* Is the application told what becomes of answers?  Thread: any. */
bool hooks_tell(const struct scheduler *scheduler);

/* What became of the answer that the delivery holds, to be told on smq:call.  `dead`: its message
 * is a dead letter by it.  A lock may be held.  Thread: any, while the consumer exists. */
void hooks_settled(smq_delivery *delivery, smq_status status, bool dead);

/* The same of an answer that nobody stores any more: its status is that of the delivery, if that is
 * late, else `status`. */
void hooks_unsettled(smq_delivery *delivery, smq_status status);

#endif
