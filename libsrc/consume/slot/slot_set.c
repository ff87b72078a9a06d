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

/* --- departures --- */

static void slot_set_on_departure(struct alarm *alarm)
{
    slot_set_turn(OWNER_OF(alarm, struct slot_set, departure));
}

static void slot_set_release_gathered(struct slot_set *set)
{
    struct owned_slot *slot;

    while ((slot = TAILQ_FIRST(&set->gathered)) != NULL) {
        slot_set_changed(set, slot);
    }
}

static void slot_set_release_lingering(struct slot_set *set)
{
    struct owned_slot *slot;

    set->linger_us = INT64_MAX;
    while ((slot = TAILQ_FIRST(&set->lingering)) != NULL) {
        slot->lingering = false;
        slot->linger_us = set->now_us;
        TAILQ_REMOVE(&set->lingering, slot, lingering_link);
        slot_set_changed(set, slot);
    }
}

/* When the slot has waited long enough for more answers. */
static int64_t slot_set_filled_us(const struct slot_set *set, const struct owned_slot *slot)
{
    return slot->filling_us + pace_wait_us(&set->pace);
}

static bool slot_set_is_filled(const struct slot_set *set, const struct owned_slot *slot)
{
    return set->flushed || set->now_us >= slot_set_filled_us(set, slot);
}

static void slot_set_release_filling(struct slot_set *set)
{
    struct owned_slot *slot;

    while ((slot = TAILQ_FIRST(&set->filling)) != NULL && slot_set_is_filled(set, slot)) {
        slot->filling = false;
        TAILQ_REMOVE(&set->filling, slot, filling_link);
        slot_set_changed(set, slot);
    }
}

void slot_set_begin_turn(struct slot_set *set)
{
    set->now_us = clock_now_us();
    set->flushed = run_queue_is_flushed(set->queue);
    set->departing = set->flushed || set->now_us >= pace_opens_us(&set->pace);
    if (set->departing) {
        slot_set_release_gathered(set);
    }
    slot_set_release_filling(set);
    if (set->flushed || set->now_us >= set->linger_us) {
        slot_set_release_lingering(set);
    }
}

bool slot_set_linger(struct slot_set *set, struct owned_slot *slot, int64_t until_us)
{
    if (slot->linger_us == 0) {
        slot->linger_us = until_us;
    }
    if (set->flushed || set->now_us >= slot->linger_us || set->pace.departed_us == set->now_us) {
        return false;
    }
    if (!slot->lingering) {
        slot->lingering = true;
        TAILQ_INSERT_TAIL(&set->lingering, slot, lingering_link);
    }
    set->linger_us = slot->linger_us < set->linger_us ? slot->linger_us : set->linger_us;
    return true;
}

bool slot_set_gather(struct slot_set *set, struct owned_slot *slot)
{
    if (!set->departing && !slot->gathered) {
        slot->gathered = true;
        TAILQ_INSERT_TAIL(&set->gathered, slot, gathered_link);
    }
    return !set->departing;
}

bool slot_set_fill(struct slot_set *set, struct owned_slot *slot)
{
    if (slot->filling_us == 0) {
        slot->filling_us = set->now_us;
    }
    if (slot_set_is_filled(set, slot)) {
        return false;
    }
    if (!slot->filling) {
        slot->filling = true;
        TAILQ_INSERT_TAIL(&set->filling, slot, filling_link);
    }
    return true;
}

void slot_set_depart(struct slot_set *set)
{
    pace_depart(&set->pace, set->now_us);
    set->departing = true;
    slot_set_release_gathered(set);
    slot_set_release_lingering(set);
}

bool slot_set_may_feed(const struct slot_set *set)
{
    return !budget_is_short(&set->budget, set->batch_size) && budget_available(&set->budget, 1) > 0;
}

void slot_set_await_departure(struct slot_set *set)
{
    struct alarms *alarms = loop_alarms(set->core->io);
    bool may_feed = !TAILQ_EMPTY(&set->starved) && slot_set_may_feed(set);
    const struct owned_slot *first = TAILQ_FIRST(&set->filling);
    int64_t at_us = first != NULL ? slot_set_filled_us(set, first) : INT64_MAX;

    if ((may_feed || !TAILQ_EMPTY(&set->gathered)) && pace_opens_us(&set->pace) < at_us) {
        at_us = pace_opens_us(&set->pace);
    }
    if (!TAILQ_EMPTY(&set->lingering) && set->linger_us < at_us) {
        at_us = set->linger_us;
    }
    if (at_us < INT64_MAX) {
        alarm_set(alarms, &set->departure, at_us);
    } else {
        alarm_clear(alarms, &set->departure);
    }
}

/* --- life --- */

void slot_set_init(struct slot_set *set, struct core *core, const struct slot_host *host,
                   slot_ended_fn *ended)
{
    set->core = core;
    set->host = *host;
    set->ended = ended;
    (void) snprintf(set->caller, sizeof(set->caller), "w%08" PRIx32, (uint32_t) random_u64());
    STAILQ_INIT(&set->changed);
    TAILQ_INIT(&set->starved);
    TAILQ_INIT(&set->gathered);
    TAILQ_INIT(&set->filling);
    TAILQ_INIT(&set->lingering);
    set->linger_us = INT64_MAX;
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
    free(set->slots);
}

void slot_set_open(struct slot_set *set)
{
    uv_loop_t *uv = loop_uv(set->core->io);

    set->slots = memory_grow(NULL, (size_t) set->topic.slots, sizeof(struct owned_slot *));
    memset(set->slots, 0, (size_t) set->topic.slots * sizeof(struct owned_slot *));
    uv_timer_init(uv, &set->renewal);
    uv_timer_init(uv, &set->credit);
    uv_prepare_init(uv, &set->wake);
    set->renewal.data = set->credit.data = set->wake.data = set;
    set->handles_open += 3;
    set->departure.ring = slot_set_on_departure;
}

static void slot_set_on_closed(uv_handle_t *handle)
{
    slot_set_handle_closed(handle->data);
}

void slot_set_close(struct slot_set *set)
{
    alarm_clear(loop_alarms(set->core->io), &set->departure);
    uv_close((uv_handle_t *) &set->renewal, slot_set_on_closed);
    uv_close((uv_handle_t *) &set->credit, slot_set_on_closed);
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

void slot_set_changed(struct slot_set *set, struct owned_slot *slot)
{
    if (slot->gathered) {
        slot->gathered = false;
        TAILQ_REMOVE(&set->gathered, slot, gathered_link);
    }
    if (!slot->changed) {
        slot->changed = true;
        STAILQ_INSERT_TAIL(&set->changed, slot, changed_link);
    }
}

/* --- handlers --- */

static void slot_set_on_wake(uv_prepare_t *wake)
{
    struct slot_set *set = wake->data;

    uv_prepare_stop(wake);
    run_queue_wake_threads(set->queue);
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

static void slot_set_on_credit(uv_timer_t *timer)
{
    slot_set_turn(timer->data);
}

void slot_set_await_credit(struct slot_set *set)
{
    int64_t wait = TAILQ_EMPTY(&set->starved) ? -1 : budget_wait_ms(&set->budget);

    if (wait >= 0 && wait < INT64_MAX) {
        uv_update_time(set->credit.loop);
        uv_timer_start(&set->credit, slot_set_on_credit, (uint64_t) wait, 0);
    }
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
