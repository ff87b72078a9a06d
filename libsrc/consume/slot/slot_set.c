/* slot_set.c - see slot_set.h.
 *
 * Thread: as slot_set.h says. */
#include "consume/slot/slot_set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/random.h"
#include "consume/slot/owned_slot.h"

/* --- the calls that wait --- */

/* Does its call leave by itself once calls may leave together?  Idle ones wait for another. */
static bool slot_set_is_joining(const struct owned_slot *slot)
{
    return slot->place == SLOT_TOGETHER && slot->next.why == NEXT_CALL_TOGETHER;
}

void slot_set_move(struct owned_slot *slot, enum slot_place place)
{
    struct slot_set *set = slot->set;

    if (slot->place != SLOT_OUT) {
        TAILQ_REMOVE(&set->places[slot->place], slot, place_link);
        set->joining -= slot_set_is_joining(slot) ? 1 : 0;
    }
    slot->place = place;
    set->joining += slot_set_is_joining(slot) ? 1 : 0;
    if (place != SLOT_OUT) {
        TAILQ_INSERT_TAIL(&set->places[place], slot, place_link);
    }
}

static void slot_set_release_together(struct slot_set *set)
{
    struct owned_slot *slot;

    while ((slot = TAILQ_FIRST(&set->places[SLOT_TOGETHER])) != NULL) {
        slot_set_changed(slot);
    }
}

bool slot_set_has_flushed(const struct slot_set *set)
{
    return set->pace.flushed_us == set->now_us;
}

void slot_set_begin_turn(struct slot_set *set)
{
    set->now_us = clock_now_us();
    budget_begin_turn(&set->budget, set->now_us);
    set->awaited = scheduler_is_flushed(set->scheduler);
    if (set->awaited || (set->joining > 0 && set->now_us >= pace_opens_us(&set->pace))) {
        slot_set_release_together(set);
    }
}

void slot_set_flush(struct slot_set *set)
{
    pace_flush(&set->pace, set->now_us);
    slot_set_release_together(set);
}

void slot_set_serve(const struct gate *gate)
{
    int32_t places = gate_places(gate);
    struct gate_waiter *waiter;

    TAILQ_FOREACH(waiter, &gate->waiting, link)
    {
        if (places-- <= 0) {
            return;
        }
        slot_set_changed(OWNER_OF(waiter, struct owned_slot, waiter));
    }
}

bool slot_set_is_contended(const struct slot_set *set)
{
    return !TAILQ_EMPTY(&set->throttled) || limit_is_contended(&set->budget.limited);
}

static bool slot_set_has_room(const struct slot_set *set)
{
    struct next_call_view view = {0};

    if (limit_is_contended(&set->budget.limited)) {
        return false;
    }
    budget_look(&set->budget, &view);
    return next_call_has_room(&view, set->batch_size);
}

bool slot_set_may_feed(const struct slot_set *set)
{
    bool open =
        set->awaited || slot_set_has_flushed(set) || set->now_us >= pace_opens_us(&set->pace);

    return open && slot_set_has_room(set);
}

/* When throttled slots may claim, as far as that is a matter of time. */
static int64_t slot_set_feeds_us(const struct slot_set *set)
{
    int64_t wait_ms;

    if (TAILQ_EMPTY(&set->throttled)) {
        return INT64_MAX;
    }
    if (slot_set_has_room(set)) {
        return pace_opens_us(&set->pace);
    }
    wait_ms = budget_wait_ms(&set->budget);
    return wait_ms > 0 && wait_ms < INT64_MAX ? set->now_us + wait_ms * 1000
                                              : budget_last_places_us(&set->budget);
}

void slot_set_await(struct slot_set *set)
{
    struct alarms *alarms = loop_alarms(set->core->io);
    int64_t at_us = slot_set_feeds_us(set);

    if (set->joining > 0 && pace_opens_us(&set->pace) < at_us) {
        at_us = pace_opens_us(&set->pace);
    }
    if (at_us < INT64_MAX) {
        alarm_set(alarms, &set->alarm, at_us);
    } else {
        alarm_clear(alarms, &set->alarm);
    }
}

static void slot_set_on_alarm(struct alarm *alarm)
{
    slot_set_turn(OWNER_OF(alarm, struct slot_set, alarm));
}

/* --- life --- */

void slot_set_init(struct slot_set *set, struct core *core, const struct slot_host *host,
                   slot_ended_fn *ended)
{
    set->core = core;
    set->host = *host;
    set->ended = ended;
    (void) snprintf(set->caller, sizeof(set->caller), "w%08" PRIx32, (uint32_t) random_u64());
    for (int place = 0; place < SLOT_PLACES; place++) {
        TAILQ_INIT(&set->places[place]);
    }
    TAILQ_INIT(&set->throttled);
    LIST_INIT(&set->busy);
    LIST_INIT(&set->leaving);
    delivery_pool_init(&set->pool);
    budget_init(&set->budget);
}

void slot_set_fini(struct slot_set *set)
{
    struct takeovers *takeovers = NULL;
    struct takeovers *next = NULL;

    HASH_ITER(hh, set->takeovers, takeovers, next)
    {
        HASH_DEL(set->takeovers, takeovers);
        free(takeovers);
    }
    delivery_pool_fini(&set->pool);
    gates_fini(&set->gates);
    free(set->slots);
}

void slot_set_open(struct slot_set *set)
{
    uv_loop_t *uv = loop_uv(set->core->io);

    set->slots = memory_grow(NULL, (size_t) set->topic.slots, sizeof(struct owned_slot *));
    memset(set->slots, 0, (size_t) set->topic.slots * sizeof(struct owned_slot *));
    uv_timer_init(uv, &set->renewal);
    uv_prepare_init(uv, &set->wake);
    set->renewal.data = set->wake.data = set;
    set->handles_open += 2;
    set->alarm.ring = slot_set_on_alarm;
}

static void slot_set_on_closed(uv_handle_t *handle)
{
    slot_set_handle_closed(handle->data);
}

void slot_set_close(struct slot_set *set)
{
    alarm_clear(loop_alarms(set->core->io), &set->alarm);
    uv_close((uv_handle_t *) &set->renewal, slot_set_on_closed);
    uv_close((uv_handle_t *) &set->wake, slot_set_on_closed);
}

void slot_set_handle_closed(struct slot_set *set)
{
    set->handles_open--;
    slot_set_turn(set);
}

/* --- turns --- */

void slot_set_turn(struct slot_set *set)
{
    set->host.turn(set->host.user);
}

void slot_set_changed(struct owned_slot *slot)
{
    if (slot->place != SLOT_CHANGED) {
        slot_set_move(slot, SLOT_CHANGED);
    }
}

/* --- handlers --- */

static void slot_set_on_wake(uv_prepare_t *wake)
{
    struct slot_set *set = wake->data;

    uv_prepare_stop(wake);
    scheduler_wake_threads(set->scheduler);
}

/* Wakes once for all deliveries that several replies of one read have brought. */
void slot_set_wake_handlers(struct slot_set *set)
{
    uv_prepare_start(&set->wake, slot_set_on_wake);
}

/* --- rates --- */

bool slot_set_is_strict(const struct slot_set *set)
{
    return set->topic.type == SMQ_TYPE_FIFO && !set->topic.skip_failed;
}

void slot_set_update_rates(struct slot_set *set)
{
    const struct topic *topic = &set->topic;
    double share = (double) topic->rate_per_s * set->owned / topic->slots;

    budget_set_rates(&set->budget, set->rate_per_s, share, topic->rate_per_s > 0);
}

void slot_set_owns(struct slot_set *set, int32_t change)
{
    set->owned += change;
    set->core->slots_owned += change;
    slot_set_update_rates(set);
}

/* --- pauses --- */

void slot_set_see_pause(struct owned_slot *slot, bool paused)
{
    struct slot_set *set = slot->set;
    smq_event event = {.status = SMQ_OK, .topic = set->name, .slot = -1};

    slot_set_forget_pause(slot);
    slot->paused = paused;
    set->paused.slots += paused ? 1 : 0;
    if (paused && !set->paused.reported) {
        set->paused.reported = true;
        events_emit(set->core->events, SMQ_EVENT_PAUSED, &event,
                    "topic %s is paused: nothing is claimed until slotmq resume %s, or "
                    "smq_topic_resume()",
                    set->name, set->name);
    } else if (set->paused.reported && set->paused.slots == 0) {
        set->paused.reported = false;
        events_emit(set->core->events, SMQ_EVENT_RESUMED, &event, "topic %s is resumed", set->name);
    }
}

void slot_set_forget_pause(struct owned_slot *slot)
{
    slot->set->paused.slots -= slot->paused ? 1 : 0;
    slot->paused = false;
}
