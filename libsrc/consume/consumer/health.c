/* health.c - what a consumer reports of its health.
 *
 * Thread: smq:io. */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "consume/consumer/consumer.h"
#include "consume/slot/owned_slot.h"
#include "core/health.h"

/* Failed calls of a slot in a row after which something is wrong, and not only slow. */
enum { FAILURES_MANY = 3, REASON_MAX = 200 };

/* --- slots that wait --- */

/* Has the slot messages that are due, for all it knows, and does it not call Redis for them? */
static bool health_is_waiting(const struct owned_slot *slot)
{
    return slot->state == OWNED_ACTIVE && slot->consuming == NULL &&
           (slot->store == NEXT_CALL_MORE || slot->notice != OWNED_UNNOTICED);
}

static void health_explain_room(char *out, size_t size, const struct budget *budget)
{
    struct next_call_view view = {0};

    budget_look(budget, &view);
    if (view.quota <= 0) {
        snprintf(out, size, "max_messages is %" PRId64 ", and as many were claimed",
                 budget->max_messages);
    } else if (budget->limited.limit != NULL && budget_waits_for_others(budget)) {
        snprintf(out, size,
                 "the limit that it shares with other consumers is %" PRId32
                 ", and it waits for its turn",
                 budget->limited.limit->most);
    } else {
        snprintf(out, size,
                 "max_in_flight is %" PRId32 ", and the consumer has %" PRId64
                 " messages without an answer",
                 budget->max_in_flight, budget->unanswered);
    }
}

static void health_explain(char *out, size_t size, const struct owned_slot *slot)
{
    int64_t left_ms = (slot->next.leave_at_us - clock_now_us()) / 1000;

    switch (slot->next.why) {
    case NEXT_CALL_ANSWERS:
        snprintf(out, size, "%zu of its messages have no answer, and it claims no more before",
                 slot->unanswered);
        return;
    case NEXT_CALL_ROOM:
        health_explain_room(out, size, &slot->set->budget);
        return;
    case NEXT_CALL_RATE:
        snprintf(out, size, "a rate limit allows none yet");
        return;
    case NEXT_CALL_MEMBER:
        snprintf(out, size, "%s has not confirmed the session of this process in time",
                 core_fleet_text(slot->set->core));
        return;
    case NEXT_CALL_TIME:
        snprintf(out, size, "it looks again in %" PRId64 " ms, unless an answer comes before",
                 left_ms > 0 ? left_ms : 0);
        return;
    case NEXT_CALL_TOGETHER:
    case NEXT_CALL_IDLE:
        snprintf(out, size, "its call waits for more answers, or for calls of other slots");
        return;
    case NEXT_CALL_BUSY:
        snprintf(out, size, "Redis is busy with earlier calls of this consumer");
        return;
    case NEXT_CALL_NOTHING:
    case NEXT_CALL_NOW:
    case NEXT_CALL_HALF:
    case NEXT_CALLS:
        break;
    }
    snprintf(out, size, "its consumer does not claim now");
}

static void health_note_slot(struct health *health, const struct owned_slot *slot)
{
    char reason[REASON_MAX];

    health_explain(reason, sizeof(reason), slot);
    health_note_waiting(health,
                        "slot %" PRId32 " of topic %s has messages due and does not claim them: %s",
                        slot->number, slot->set->name, reason);
}

/* --- the consumer --- */

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
    if (health_is_waiting(slot)) {
        health_note_slot(health, slot);
    }
    if (oldest != NULL && (health->claimed_us == 0 || oldest->claimed_us < health->claimed_us)) {
        health->claimed_us = oldest->claimed_us;
    }
}

static void health_add_consumer(struct health *health, void *user)
{
    const smq_consumer *consumer = user;
    const struct slot_set *set = &consumer->set;

    if (consumer->failure.status != SMQ_OK) {
        health_find(health, HEALTH_ENDED, consumer->failure.status, "%s", consumer->failure.text);
    }
    if (consumer->damaged) {
        health_find(health, HEALTH_DAMAGED, SMQ_DAMAGED,
                    "Redis has lost the definition of topic %s; run slotmq topic repair %s",
                    set->name, set->name);
    }
    if (consumer->denial[0] != '\0') {
        health_find(health, HEALTH_CALLS, SMQ_DENIED, "topic %s: %s", set->name, consumer->denial);
    }
    health->known.consumers += consumer->state == CONSUMER_RUNNING ? 1 : 0;
    if (consumer->state == CONSUMER_RUNNING && set->owned == 0) {
        consumer_add_standby(health, consumer);
    }
    health->known.slots_owned += set->owned;
    health->known.slots_paused += set->paused.slots;
    for (int32_t i = 0; set->slot_count > 0 && i < set->topic.slots; i++) {
        if (set->slots[i] != NULL) {
            health_add_slot(health, set->slots[i]);
        }
    }
}

void consumer_report_health(smq_consumer *consumer)
{
    consumer->health = (struct health_source){.report = health_add_consumer, .user = consumer};
    health_sources_add(&consumer->set.core->sources, &consumer->health);
}
