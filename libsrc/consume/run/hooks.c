/* hooks.c - see hooks.h.
 *
 * Thread: as each function of hooks.h says. */
#include "consume/run/hooks.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/owner_of.h"
#include "consume/run/run_queues.h"

/* One settled answer on its way to smq:call; holds a reference of the delivery, which has the
 * reason. */
struct hooks_settlement {
    struct loop_task task;
    smq_delivery *delivery;
    smq_settlement settlement;
};

void hooks_begin(const struct scheduler *scheduler, smq_delivery *const *deliveries, size_t count)
{
    const smq_hooks *hooks = &scheduler->hooks;

    for (size_t i = 0; hooks->process_begin != NULL && i < count; i++) {
        deliveries[i]->span = hooks->process_begin(&deliveries[i]->info, hooks->user);
    }
}

void hooks_end(const struct scheduler *scheduler, smq_delivery *const *deliveries, size_t count,
               smq_verdict verdict)
{
    const smq_hooks *hooks = &scheduler->hooks;

    for (size_t i = 0; hooks->process_end != NULL && i < count; i++) {
        hooks->process_end(&deliveries[i]->info, verdict, deliveries[i]->span, hooks->user);
    }
}

static smq_verdict hooks_verdict(enum store_answer_op op)
{
    switch (op) {
    case STORE_DONE:
    case STORE_DONE_RETRIED:
        return SMQ_DONE;
    case STORE_REJECT:
        return SMQ_REJECT;
    case STORE_RELEASE:
        return SMQ_RELEASE;
    case STORE_RETRY:
    case STORE_HUNG:
        break;
    }
    return SMQ_RETRY;
}

void hooks_answered(const struct scheduler *scheduler, smq_delivery *delivery,
                    enum store_answer_op op)
{
    if (scheduler->hooks.process_end != NULL && scheduler->polled) {
        hooks_end(scheduler, &delivery, 1, hooks_verdict(op));
    }
}

bool hooks_tell(const struct scheduler *scheduler)
{
    return scheduler->hooks.settled != NULL;
}

static smq_settlement hooks_settlement_of(enum store_answer_op op, const char *reason,
                                          smq_status status)
{
    return (smq_settlement){.struct_size = sizeof(smq_settlement),
                            .verdict = hooks_verdict(op),
                            .status = status,
                            .reason = reason};
}

void hooks_refused(const smq_delivery *delivery, enum store_answer_op op, const char *reason,
                   smq_status status)
{
    const smq_hooks *hooks = &scheduler_of(delivery)->hooks;
    smq_settlement settlement;

    if (hooks->settled != NULL) {
        settlement = hooks_settlement_of(op, reason, status);
        hooks->settled(&delivery->info, &settlement, hooks->user);
    }
}

static void hooks_on_settled(struct loop_task *task)
{
    struct hooks_settlement *item = OWNER_OF(task, struct hooks_settlement, task);
    const smq_hooks *hooks = &scheduler_of(item->delivery)->hooks;

    hooks->settled(&item->delivery->info, &item->settlement, hooks->user);
    delivery_unref(item->delivery);
    free(item);
}

void hooks_settled(smq_delivery *delivery, smq_status status, bool dead)
{
    const struct scheduler *scheduler = scheduler_of(delivery);
    struct hooks_settlement *item;

    if (!hooks_tell(scheduler)) {
        return;
    }
    item = memory_new(sizeof(*item));
    item->task.run = hooks_on_settled;
    item->delivery = delivery;
    item->settlement = hooks_settlement_of(delivery->answer.op, delivery->answer.reason, status);
    item->settlement.dead = dead;
    delivery_ref(delivery);
    loop_post(scheduler->call, &item->task);
}

void hooks_unsettled(smq_delivery *delivery, smq_status status)
{
    smq_status validity = delivery_validity(delivery);

    hooks_settled(delivery, delivery_is_late(validity) ? validity : status, false);
}
