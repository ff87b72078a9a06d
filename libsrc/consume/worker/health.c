/* health.c - what a worker reports of its health.
 *
 * Thread: smq:io. */
#include <inttypes.h>

#include "consume/slot/owned_slot.h"
#include "consume/worker/worker.h"
#include "core/health.h"

/* Failed calls of a slot in a row after which something is wrong, and not only slow. */
enum { FAILURES_MANY = 3 };

static void health_add_slot(struct health *health, const struct owned_slot *slot)
{
    const char *topic = slot->set->name;
    const smq_delivery *oldest = TAILQ_FIRST(&slot->in_flight);

    health->known.slots_wanted += slot->grant == OWNED_GRANT_HELD ? 1 : 0;
    health->known.slots_damaged += slot->health == OWNED_DAMAGED ? 1 : 0;
    if (slot->health == OWNED_DAMAGED) {
        health_find(health, HEALTH_DAMAGED, SMQ_DAMAGED,
                    "Redis has lost a part of slot %" PRId32
                    " of topic %s; run slotmq topic repair %s",
                    slot->number, topic, topic);
    }
    if (slot->failures >= FAILURES_MANY) {
        health_find(health, HEALTH_CALLS, SMQ_UNAVAILABLE,
                    "the last %d calls for slot %" PRId32 " of topic %s have failed",
                    slot->failures, slot->number, topic);
    }
    if (oldest != NULL && (health->claimed_us == 0 || oldest->claimed_us < health->claimed_us)) {
        health->claimed_us = oldest->claimed_us;
    }
}

static void health_add_worker(struct health *health, void *user)
{
    const smq_worker *worker = user;
    const struct slot_set *set = &worker->set;

    if (worker->failure.status != SMQ_OK) {
        health_find(health, HEALTH_ENDED, worker->failure.status, "%s", worker->failure.text);
    }
    if (worker->damaged) {
        health_find(health, HEALTH_DAMAGED, SMQ_DAMAGED,
                    "Redis has lost the definition of topic %s; run slotmq topic repair %s",
                    set->name, set->name);
    }
    health->known.consumers += worker->state == WORKER_RUNNING ? 1 : 0;
    health->known.slots_owned += set->owned;
    health->known.slots_paused += set->paused.slots;
    for (int32_t i = 0; set->slot_count > 0 && i < set->topic.slots; i++) {
        if (set->slots[i] != NULL) {
            health_add_slot(health, set->slots[i]);
        }
    }
}

void worker_report_health(smq_worker *worker)
{
    worker->health = (struct health_source){.report = health_add_worker, .user = worker};
    health_sources_add(&worker->set.core->sources, &worker->health);
}
