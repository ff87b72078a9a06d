/* listing.c - the name of a topic in the list of all topics.
 *
 * That list is one key of Redis.  Topics that it lacks can be used as ever, but nobody who lists
 * all topics sees them.  So a consumer that has slots looks from time to time whether its topic is
 * listed, and lists it again.
 *
 * Thread: smq:io. */
#include <string.h>

#include "base/clock.h"
#include "consume/consumer/consumer.h"
#include "store/topic.h"

/* Whoever shows or exports all topics does so about once a minute. */
enum { LISTING_FIRST_MS = 5000, LISTING_EACH_MS = 60000 };

static void listing_next(smq_consumer *consumer)
{
    consumer->listing.running = false;
    slot_set_turn(&consumer->set);
}

static void listing_on_restored(struct store_call *call, const struct store_result *result)
{
    smq_consumer *consumer = call->user;
    const struct slot_set *set = &consumer->set;

    if (result->outcome == STORE_OK) {
        events_log(set->core->events, SMQ_LEVEL_WARN,
                   "Redis had lost topic %s from the list of all topics, " SLOT_REGISTRY_KEY
                   ": it is listed again; others may be missing, so run slotmq topic repair --all",
                   set->name);
    }
    listing_next(consumer);
}

/* A name that is missing belongs to a topic that is being deleted, unless its definition says that
 * it is not. */
static void listing_on_definition(const struct topic *topic, smq_status status, const char *text,
                                  void *user)
{
    smq_consumer *consumer = user;
    struct core *core = consumer->set.core;

    (void) text;
    if (status != SMQ_OK || strcmp(topic->nonce, consumer->set.topic.nonce) != 0) {
        listing_next(consumer);
        return;
    }
    consumer->listing.call.done = listing_on_restored;
    store_registry_restore(&consumer->listing.call, core->redis, consumer->set.name,
                           clock_wall_ms(), core->request_timeout_ms);
}

static void listing_on_found(struct store_call *call, const struct store_result *result)
{
    smq_consumer *consumer = call->user;
    int64_t found = 1;

    if (result->status == SMQ_DENIED) {
        consumer->listing.denied = true;
    }
    if (!store_integer_read(&found, result) || found != 0) {
        listing_next(consumer);
        return;
    }
    definitions_read(consumer->set.core->definitions, consumer->set.name, listing_on_definition,
                     consumer);
}

static void listing_on_timer(uv_timer_t *timer)
{
    smq_consumer *consumer = timer->data;
    struct core *core = consumer->set.core;
    bool has_slots = consumer->set.shared || consumer->set.owned > 0;

    if (consumer->state != CONSUMER_RUNNING || !has_slots || consumer->listing.running ||
        consumer->listing.denied) {
        return;
    }
    consumer->listing.running = true;
    consumer->listing.call.done = listing_on_found;
    store_registry_has(&consumer->listing.call, core->redis, consumer->set.name,
                       core->request_timeout_ms);
}

void consumer_listing_open(smq_consumer *consumer)
{
    uv_timer_init(loop_uv(consumer->set.core->io), &consumer->listing.timer);
    consumer->listing.timer.data = consumer;
    store_call_init(&consumer->listing.call, listing_on_found, consumer);
    uv_timer_start(&consumer->listing.timer, listing_on_timer, LISTING_FIRST_MS, LISTING_EACH_MS);
}
