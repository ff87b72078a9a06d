/* listing.c - the name of a topic in the list of all topics.
 *
 * That list is one key of Redis.  Topics that it lacks can be used as ever, but nobody who lists
 * all topics sees them.  So a worker that has slots looks from time to time whether its topic is
 * listed, and lists it again.
 *
 * Thread: smq:io. */
#include <string.h>

#include "base/clock.h"
#include "consume/worker/worker.h"

/* Whoever shows or exports all topics does so about once a minute. */
enum { LISTING_FIRST_MS = 5000, LISTING_EACH_MS = 60000 };

static void listing_next(smq_worker *worker)
{
    worker->listing.running = false;
    slot_set_turn(&worker->set);
}

static void listing_on_restored(struct store_call *call, const struct store_result *result)
{
    smq_worker *worker = call->user;
    const struct slot_set *set = &worker->set;

    if (result->outcome == STORE_OK) {
        events_log(set->core->events, SMQ_LEVEL_WARN,
                   "Redis had lost topic %s from the list of all topics, " SLOT_REGISTRY_KEY
                   ": it is listed again; others may be missing, so run slotmq topic repair --all",
                   set->name);
    }
    listing_next(worker);
}

/* A name that is missing belongs to a topic that is being deleted, unless its definition says that
 * it is not. */
static void listing_on_definition(const struct topic *topic, smq_status status, const char *text,
                                  void *user)
{
    smq_worker *worker = user;
    struct core *core = worker->set.core;

    (void) text;
    if (status != SMQ_OK || strcmp(topic->nonce, worker->set.topic.nonce) != 0) {
        listing_next(worker);
        return;
    }
    worker->listing.call.done = listing_on_restored;
    store_registry_restore(&worker->listing.call, core->redis, worker->set.name, clock_wall_ms(),
                           core->request_timeout_ms);
}

static void listing_on_found(struct store_call *call, const struct store_result *result)
{
    smq_worker *worker = call->user;
    int64_t found = 1;

    if (result->status == SMQ_DENIED) {
        worker->listing.denied = true;
    }
    if (!store_integer_read(&found, result) || found != 0) {
        listing_next(worker);
        return;
    }
    definitions_read(worker->set.core->definitions, worker->set.name, listing_on_definition,
                     worker);
}

static void listing_on_timer(uv_timer_t *timer)
{
    smq_worker *worker = timer->data;
    struct core *core = worker->set.core;
    bool has_slots = worker->set.shared || worker->set.owned > 0;

    if (worker->state != WORKER_RUNNING || !has_slots || worker->listing.running ||
        worker->listing.denied) {
        return;
    }
    worker->listing.running = true;
    worker->listing.call.done = listing_on_found;
    store_registry_has(&worker->listing.call, core->redis, worker->set.name,
                       core->request_timeout_ms);
}

void worker_listing_open(smq_worker *worker)
{
    uv_timer_init(loop_uv(worker->set.core->io), &worker->listing.timer);
    worker->listing.timer.data = worker;
    store_call_init(&worker->listing.call, listing_on_found, worker);
    uv_timer_start(&worker->listing.timer, listing_on_timer, LISTING_FIRST_MS, LISTING_EACH_MS);
}
