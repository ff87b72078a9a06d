/* consumer_open.c - reading and binding the topic of a new consumer on smq:io, while the thread
 * that makes the consumer waits.
 *
 * Thread: as each function says. */

#include "base/owner_of.h"
#include "base/status.h"
#include "base/waiter.h"
#include "consume/consumer/consumer.h"
#include "core/coord_link.h"
#include "store/topic.h"

/* One step on smq:io: `task` begins it, and its end wakes `waiter`. */
struct consumer_opening {
    struct loop_task task;
    struct waiter waiter;
    smq_consumer *consumer;
    struct store_call bind;
    smq_status status;
    smq_error err;
};

static void consumer_opening_stepped(struct consumer_opening *opening, smq_status status)
{
    opening->status = status;
    waiter_done(&opening->waiter);
}

static void consumer_opening_bound(struct consumer_opening *opening)
{
    smq_consumer *consumer = opening->consumer;

    if (consumer_open(consumer)) {
        consumer_opening_stepped(opening, SMQ_OK);
        return;
    }
    consumer_opening_stepped(
        opening, status_set(&opening->err, SMQ_INVALID,
                            "this client consumes topic %s already; free that consumer first, "
                            "or give it more threads",
                            consumer->set.name));
}

static void consumer_opening_on_bound(struct store_call *call, const struct store_result *result)
{
    struct consumer_opening *opening = call->user;
    smq_consumer *consumer = opening->consumer;

    if (result->outcome == STORE_OK && store_topic_number_read(&consumer->generation, result)) {
        consumer->first.bound = store_bound_first(result);
        consumer_opening_bound(opening);
        return;
    }
    if (result->outcome == STORE_REFUSED && result->status == SMQ_IN_WORK) {
        consumer->lease.held = true;
        consumer_opening_bound(opening);
        return;
    }
    if (result->status == SMQ_OTHER_FLEET) {
        consumer_opening_stepped(opening, consumer_other_fleet(&opening->err, consumer, result));
        return;
    }
    consumer_opening_stepped(
        opening,
        status_set(&opening->err, result->outcome == STORE_OK ? SMQ_INTERNAL : result->status,
                   "cannot consume topic %s: %s", consumer->set.name, result->text));
}

static void consumer_opening_on_definition(const struct topic *topic, smq_status status,
                                           const char *text, void *user)
{
    struct consumer_opening *opening = user;

    if (status == SMQ_OK) {
        status = topic_check_holds(topic, &opening->err);
    } else {
        (void) status_set(&opening->err, status, "%s", text);
    }
    if (status != SMQ_OK) {
        consumer_opening_stepped(opening, status);
        return;
    }
    opening->consumer->set.topic = *topic;
    opening->consumer->set.shared = topic->shared;
    consumer_opening_stepped(opening, SMQ_OK);
}

static void consumer_opening_read(struct loop_task *task)
{
    struct consumer_opening *opening = OWNER_OF(task, struct consumer_opening, task);
    struct slot_set *set = &opening->consumer->set;

    definitions_read(set->core->definitions, set->name, consumer_opening_on_definition, opening);
}

static void consumer_opening_bind(struct loop_task *task)
{
    struct consumer_opening *opening = OWNER_OF(task, struct consumer_opening, task);
    const struct topic *topic = &opening->consumer->set.topic;
    struct core *core = opening->consumer->set.core;
    char *bound = opening->consumer->set.bound;

    if (topic->shared) {
        consumer_opening_bound(opening);
        return;
    }
    opening->consumer->first.reign = coord_link_reign(core->link);
    coord_link_binding(bound, core->link);
    store_bind(&opening->bind, core->redis, topic->name, topic->nonce, bound, true,
               core->request_timeout_ms);
}

/* Thread: that of consumer_new(), which waits. */
static smq_status consumer_opening_step(struct consumer_opening *opening,
                                        void (*run)(struct loop_task *), smq_error *err)
{
    opening->task.run = run;
    waiter_init(&opening->waiter, 1);
    loop_post(opening->consumer->set.core->io, &opening->task);
    (void) waiter_wait(&opening->waiter, SMQ_FOREVER);
    waiter_fini(&opening->waiter);
    return opening->status == SMQ_OK ? SMQ_OK : status_copy(err, &opening->err);
}

/* A topic is bound only after its fleet was reached, so that a mistyped address does not lock out
 * other consumers. */
smq_status consumer_open_topic(smq_consumer *consumer, smq_error *err)
{
    struct consumer_opening opening = {.consumer = consumer};
    smq_status status;

    store_call_init(&opening.bind, consumer_opening_on_bound, &opening);
    status = consumer_opening_step(&opening, consumer_opening_read, err);
    if (status != SMQ_OK) {
        goto out;
    }
    status = consumer->set.shared ? SMQ_OK : coord_link_open(consumer->set.core->link, err);
    if (status == SMQ_OK) {
        status = consumer_opening_step(&opening, consumer_opening_bind, err);
    }
out:
    store_call_fini(&opening.bind);
    return status;
}
