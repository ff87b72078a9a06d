/* assignment.c - reporting how many slots were gained and lost: once for a change of the
 * assignment, and not once for each slot.
 *
 * Thread: smq:io. */
#include <inttypes.h>

#include "base/clock.h"
#include "base/owner_of.h"
#include "consume/consumer/consumer.h"

enum { US_PER_MS = 1000 };

static void assignment_look(struct consumer_assignment *assignment, int64_t seen, int64_t now_ms)
{
    if (seen != assignment->seen) {
        assignment->seen = seen;
        assignment->last_ms = now_ms;
        assignment->first_ms = assignment->first_ms == 0 ? now_ms : assignment->first_ms;
    }
}

static int64_t assignment_due_ms(const struct consumer_assignment *assignment, bool moving)
{
    int64_t due_ms = assignment->first_ms + ASSIGNMENT_LONGEST_MS;
    int64_t quiet_ms = assignment->last_ms + ASSIGNMENT_QUIET_MS;
    int64_t free_ms =
        assignment->reported_ms == 0 ? 0 : assignment->reported_ms + ASSIGNMENT_LONGEST_MS;

    due_ms = !moving && quiet_ms < due_ms ? quiet_ms : due_ms;
    return due_ms < free_ms ? free_ms : due_ms;
}

int64_t consumer_assignment_due_ms(struct consumer_assignment *assignment,
                                   const struct consumer_slots *slots, int64_t now_ms)
{
    int64_t seen = slots->gained + slots->lost, due_ms;

    if (seen == assignment->gained + assignment->lost) {
        return INT64_MAX;
    }
    assignment_look(assignment, seen, now_ms);
    due_ms = slots->ended ? now_ms : assignment_due_ms(assignment, slots->moving);
    if (due_ms <= now_ms) {
        *assignment = (struct consumer_assignment){
            .gained = slots->gained, .lost = slots->lost, .seen = seen, .reported_ms = now_ms};
    }
    return due_ms;
}

static void assignment_report(const smq_consumer *consumer, int64_t gained, int64_t lost)
{
    const struct slot_set *set = &consumer->set;
    smq_event event = {.topic = set->name,
                       .slot = -1,
                       .slots_gained = (int32_t) gained,
                       .slots_lost = (int32_t) lost,
                       .slots_owned = (int32_t) (set->gained - set->lost)};

    events_emit(set->core->events, SMQ_EVENT_ASSIGNED, &event,
                "topic %s: %" PRId32 " %s gained, %" PRId32 " lost; this process owns %" PRId32
                " of %" PRId32,
                set->name, event.slots_gained, event.slots_gained == 1 ? "slot" : "slots",
                event.slots_lost, event.slots_owned, set->topic.slots);
}

static void assignment_on_due(struct alarm *alarm)
{
    consumer_watch_assignment(OWNER_OF(alarm, smq_consumer, assignment_due));
}

void consumer_watch_assignment(smq_consumer *consumer)
{
    const struct slot_set *set = &consumer->set;
    struct alarms *alarms = loop_alarms(set->core->io);
    int64_t gained = set->gained - consumer->assignment.gained;
    int64_t lost = set->lost - consumer->assignment.lost;
    struct consumer_slots slots = {.gained = set->gained, .lost = set->lost};
    int64_t now_ms, due_ms;

    if (gained == 0 && lost == 0) {
        return;
    }
    slots.moving = set->slot_count > set->owned;
    slots.ended = consumer->state == CONSUMER_ENDED ||
                  (consumer->state != CONSUMER_RUNNING && set->slot_count == 0);
    now_ms = clock_now_ms();
    due_ms = consumer_assignment_due_ms(&consumer->assignment, &slots, now_ms);
    if (due_ms <= now_ms) {
        alarm_clear(alarms, &consumer->assignment_due);
        assignment_report(consumer, gained, lost);
    } else {
        consumer->assignment_due.ring = assignment_on_due;
        alarm_set(alarms, &consumer->assignment_due, due_ms * US_PER_MS);
    }
}
