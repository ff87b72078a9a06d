/* worker_open.c - reading and binding the topic of a new worker on smq:io, while the thread that
 * makes the worker waits.
 *
 * Thread: as each function says. */
#include <string.h>

#include "base/owner_of.h"
#include "base/status.h"
#include "base/waiter.h"
#include "consume/worker/worker.h"
#include "core/coord_link.h"

/* One step on smq:io: `task` begins it, and its end wakes `waiter`. */
struct worker_opening {
    struct loop_task task;
    struct waiter waiter;
    smq_worker *worker;
    struct store_call bind;
    smq_status status;
    smq_error err;
};

static void worker_opening_stepped(struct worker_opening *opening, smq_status status)
{
    opening->status = status;
    waiter_done(&opening->waiter);
}

static void worker_opening_bound(struct worker_opening *opening)
{
    smq_worker *worker = opening->worker;

    if (worker_open(worker)) {
        worker_opening_stepped(opening, SMQ_OK);
        return;
    }
    worker_opening_stepped(opening,
                           status_set(&opening->err, SMQ_INVALID,
                                      "this client consumes topic %s already; free that worker or "
                                      "consumer first, or give it more threads",
                                      worker->set.name));
}

static void worker_opening_on_bound(struct store_call *call, const struct store_result *result)
{
    struct worker_opening *opening = call->user;
    smq_worker *worker = opening->worker;

    if (result->outcome == STORE_OK && store_topic_number_read(&worker->generation, result)) {
        worker_opening_bound(opening);
        return;
    }
    if (result->status == SMQ_OTHER_FLEET) {
        worker_opening_stepped(opening, worker_other_fleet(&opening->err, worker, result));
        return;
    }
    worker_opening_stepped(
        opening,
        status_set(&opening->err, result->outcome == STORE_OK ? SMQ_INTERNAL : result->status,
                   "cannot consume topic %s: %s", worker->set.name, result->text));
}

static void worker_opening_on_definition(const struct topic *topic, smq_status status,
                                         const char *text, void *user)
{
    struct worker_opening *opening = user;

    if (status == SMQ_OK) {
        status = topic_check_holds(topic, &opening->err);
    } else {
        (void) status_set(&opening->err, status, "%s", text);
    }
    if (status != SMQ_OK) {
        worker_opening_stepped(opening, status);
        return;
    }
    opening->worker->set.topic = *topic;
    opening->worker->set.shared = topic->shared;
    worker_opening_stepped(opening, SMQ_OK);
}

static void worker_opening_read(struct loop_task *task)
{
    struct worker_opening *opening = OWNER_OF(task, struct worker_opening, task);
    struct slot_set *set = &opening->worker->set;

    definitions_read(set->core->definitions, set->name, worker_opening_on_definition, opening);
}

static void worker_opening_bind(struct loop_task *task)
{
    struct worker_opening *opening = OWNER_OF(task, struct worker_opening, task);
    const struct topic *topic = &opening->worker->set.topic;
    struct core *core = opening->worker->set.core;
    char *bound = opening->worker->set.bound;

    if (topic->shared) {
        worker_opening_bound(opening);
        return;
    }
    coord_link_binding(bound, core->link);
    store_bind(&opening->bind, core->redis, topic->name, topic->nonce, bound,
               core->request_timeout_ms);
}

/* Thread: that of worker_new(), which waits. */
static smq_status worker_opening_step(struct worker_opening *opening,
                                      void (*run)(struct loop_task *), smq_error *err)
{
    opening->task.run = run;
    waiter_init(&opening->waiter, 1);
    loop_post(opening->worker->set.core->io, &opening->task);
    (void) waiter_wait(&opening->waiter, SMQ_FOREVER);
    waiter_fini(&opening->waiter);
    return opening->status == SMQ_OK ? SMQ_OK : status_copy(err, &opening->err);
}

/* A topic is bound only after its fleet was reached, so that a mistyped address does not lock out
 * other consumers. */
smq_status worker_open_topic(smq_worker *worker, smq_error *err)
{
    struct worker_opening opening = {.worker = worker};
    smq_status status;

    store_call_init(&opening.bind, worker_opening_on_bound, &opening);
    status = worker_opening_step(&opening, worker_opening_read, err);
    if (status != SMQ_OK) {
        goto out;
    }
    status = worker->set.shared ? SMQ_OK : coord_link_open(worker->set.core->link, err);
    if (status == SMQ_OK) {
        status = worker_opening_step(&opening, worker_opening_bind, err);
    }
out:
    store_call_fini(&opening.bind);
    return status;
}
