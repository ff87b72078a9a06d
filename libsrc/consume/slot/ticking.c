/* ticking.c - see ticking.h.  Two calls: one reads what is due, and one makes the ticks, with the
 * time when each schedule is due next.
 *
 * Thread: smq:io. */
#include "consume/slot/ticking.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "store/schedule.h"

enum { AGAIN_MS = 1000 };

/* What no tick was made of waits for the time, or also for something else. */
enum ticking_wait {
    TICKING_WAIT_TIME,
    TICKING_WAIT_ROOM, /* the slot was full */
    TICKING_WAIT_CALL, /* another one was first, or the slot is paused: the next reply says more */
};

struct ticking_call {
    struct store_call call;
    struct owned_slot *slot;
    struct store_slot target;
    uint32_t era;
    size_t skip;    /* how many of those that are due cannot be followed here */
    size_t count;   /* ticks in the call */
    int64_t now_ms; /* by the clock of Redis */
    int64_t due_ms[STORE_SCHEDULES_DUE];
};

static void ticking_on_due(struct store_call *call, const struct store_result *result);
static void ticking_on_made(struct store_call *call, const struct store_result *result);

void ticking_know(struct owned_slot *slot, int64_t tick_ms, int64_t now_ms)
{
    const int64_t wait_ms = tick_ms > now_ms ? tick_ms - now_ms : 0;

    slot->tick_us = 0;
    if (tick_ms >= 0 && tick_ms <= TOPIC_TIME_MAX_MS && (wait_ms == 0 || !slot->set->shared)) {
        slot->tick_us = clock_now_us() + wait_ms * 1000;
    }
    if (wait_ms == 0 && slot->tick_us != 0 && slot->tick_us < slot->tick_again_us) {
        slot->tick_us = slot->tick_again_us;
    }
    owned_slot_set_alarm(slot);
}

void ticking_has_room(struct owned_slot *slot)
{
    if (slot->tick_for_room) {
        slot->tick_again_us = 0;
    }
}

/* The end of an entry from the loop. */
static void ticking_end(struct ticking_call *ticking)
{
    struct owned_slot *slot = ticking->slot;
    struct slot_set *set = slot->set;

    slot->ticking = false;
    owned_slot_set_alarm(slot);
    if (slot->state == OWNED_ACTIVE) {
        slot_set_changed(slot);
    }
    store_call_fini(&ticking->call);
    free(ticking);
    owned_slot_call_end(slot);
    slot_set_turn(set);
}

/* Nothing was done: it is tried again a moment later, or when another one is due. */
static void ticking_fail(struct ticking_call *ticking, enum ticking_wait wait, int64_t wait_ms,
                         const char *text)
{
    struct owned_slot *slot = ticking->slot;

    if (ticking->era == slot->era) {
        slot->tick_us = clock_now_us() + (wait_ms < AGAIN_MS ? wait_ms : AGAIN_MS) * 1000;
        slot->tick_again_us = wait == TICKING_WAIT_CALL ? 0 : slot->tick_us;
        slot->tick_for_room = wait == TICKING_WAIT_ROOM;
        owned_slot_set_alarm(slot);
    }
    if (text != NULL && episode_trouble(&slot->set->ticks_fail, clock_now_ms())) {
        events_log(slot->set->core->events, SMQ_LEVEL_WARN,
                   "slot %" PRId32 " of topic %s: a schedule that is due cannot be followed: %s",
                   slot->number, slot->set->name, text);
    }
    ticking_end(ticking);
}

/* All that could be made was, and the first of the others is due at `tick_ms`. */
static void ticking_succeed(struct ticking_call *ticking, int64_t tick_ms)
{
    struct owned_slot *slot = ticking->slot;

    if (ticking->era == slot->era) {
        slot->tick_again_us = 0;
        ticking_know(slot, tick_ms, ticking->now_ms);
    }
    ticking_end(ticking);
}

static void ticking_read(struct ticking_call *ticking)
{
    const struct core *core = ticking->slot->set->core;

    store_schedule_due(&ticking->call, core->redis, &ticking->target, ticking->skip,
                       core->request_timeout_ms);
}

void ticking_decide(struct owned_slot *slot)
{
    struct ticking_call *ticking;

    if (slot->state != OWNED_ACTIVE || slot->ticking || slot->tick_us == 0 ||
        clock_now_us() < slot->tick_us) {
        return;
    }
    ticking = memory_new(sizeof(*ticking));
    ticking->slot = slot;
    ticking->era = slot->era;
    slot->ticking = true;
    slot->tick_us = 0;
    owned_slot_set_alarm(slot);
    store_call_init(&ticking->call, ticking_on_due, ticking);
    store_slot_fill(&ticking->target, &slot->set->topic, slot->number);
    owned_slot_call_begin(slot);
    ticking_read(ticking);
}

/* Add the tick of a schedule to the call.  false: *err says why it cannot be followed here. */
static bool ticking_add(struct ticking_call *ticking, const struct store_schedule *stored,
                        smq_error *err)
{
    struct store_tick tick = {
        .id = stored->id, .next_ms = -1, .what = STORE_TICK_SKIP}; /* one that is gone */
    char times[SCHEDULE_TIMES_MAX];
    smq_schedule schedule;
    struct schedule_step step;
    struct ticks ticks;
    const struct zone *zone;

    if (stored->there) {
        if (stored->definition_len >= sizeof(times)) {
            return false;
        }
        memcpy(times, stored->definition, stored->definition_len);
        times[stored->definition_len] = '\0';
        if (!schedule_parse_times(&schedule, times) ||
            schedule_check(&ticks, &schedule, err) != SMQ_OK) {
            return false;
        }
        zone = zones_get(&ticking->slot->set->core->zones, schedule.zone, err);
        if (zone == NULL) {
            return false;
        }
        step = schedule_step_of(&ticks, zone, &schedule, &stored->state, ticking->now_ms);
        tick.version = stored->state.version;
        tick.due_ms = stored->state.due_ms;
        tick.next_ms = step.next_ms;
        tick.what = step.fires ? STORE_TICK_FIRE : STORE_TICK_SKIP;
    }
    store_ticks_add(&ticking->call, &tick);
    ticking->due_ms[ticking->count++] = tick.due_ms;
    return true;
}

static void ticking_on_due(struct store_call *call, const struct store_result *result)
{
    struct ticking_call *ticking = call->user;
    smq_error err = {SMQ_INTERNAL, "it cannot be read"};
    struct store_schedules due;
    struct store_schedule stored;
    size_t lost = 0;

    if (result->outcome != STORE_OK || !store_schedules_read(&due, result)) {
        ticking_fail(ticking, TICKING_WAIT_TIME, AGAIN_MS,
                     result->status == SMQ_DENIED ? result->text : NULL);
        return;
    }
    ticking->now_ms = due.now_ms;
    store_ticks_begin(call, &ticking->target);
    for (size_t i = 0; i < due.count && ticking->count < STORE_SCHEDULES_DUE; i++) {
        if (!store_schedule_read(&stored, result, i) || !ticking_add(ticking, &stored, &err)) {
            lost++;
        }
    }
    ticking->skip += lost;
    if (lost == STORE_SCHEDULES_DUE) { /* others may be behind them */
        ticking_read(ticking);
        return;
    }
    if (ticking->count == 0) {
        if (ticking->skip > 0) {
            ticking_fail(ticking, TICKING_WAIT_TIME, (int64_t) due.cursor - due.now_ms, err.text);
            return;
        }
        if (due.cursor <= (uint64_t) TOPIC_TIME_MAX_MS) {
            ticking_succeed(ticking, (int64_t) due.cursor);
            return;
        }
    } /* none: was one removed, or has Redis lost their times?  A call without ticks knows. */
    ticking->call.done = ticking_on_made;
    store_ticks(call, ticking->slot->set->core->redis,
                ticking->slot->set->core->request_timeout_ms);
}

/* Count the ticks that were stored.  Returns whether any schedule is due at another time now. */
static bool ticking_count(const struct ticking_call *ticking, const char *results)
{
    struct metrics *metrics = &ticking->slot->set->core->metrics;
    bool moved = ticking->count == 0;

    for (size_t i = 0; i < ticking->count; i++) {
        if (results[i] == 'a' || results[i] == 'm') {
            metric_add(&metrics->ticks, 1);
            metric_add(&metrics->ticks_late_ms, (uint64_t) (ticking->now_ms - ticking->due_ms[i]));
        }
        moved = moved || strchr("amds", results[i]) != NULL;
    }
    return moved;
}

static void ticking_on_made(struct store_call *call, const struct store_result *result)
{
    struct ticking_call *ticking = call->user;
    const char *results;
    int64_t tick_ms;

    if (result->outcome != STORE_OK ||
        !store_ticks_read(&results, &tick_ms, result, ticking->count)) {
        ticking_fail(ticking, TICKING_WAIT_TIME, AGAIN_MS,
                     result->status == SMQ_DENIED ? result->text : NULL);
        return;
    }
    if (!ticking_count(ticking, results)) {
        const bool full = memchr(results, 'f', ticking->count) != NULL;

        ticking_fail(ticking, full ? TICKING_WAIT_ROOM : TICKING_WAIT_CALL, AGAIN_MS, NULL);
        return;
    }
    episode_good(&ticking->slot->set->ticks_fail);
    ticking_succeed(ticking, tick_ms);
}
