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
#include "core/plan.h"
#include "store/schedule.h"

enum { AGAIN_US = 1000000 };

struct ticking_call {
    struct store_call call;
    struct owned_slot *slot;
    struct store_slot target;
    uint32_t era;
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
    owned_slot_set_alarm(slot);
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

/* Nothing was done: it is tried again a moment later. */
static void ticking_fail(struct ticking_call *ticking, const char *text)
{
    struct owned_slot *slot = ticking->slot;

    if (ticking->era == slot->era) {
        slot->tick_us = clock_now_us() + AGAIN_US;
        owned_slot_set_alarm(slot);
    }
    if (text != NULL && episode_trouble(&slot->set->ticks_fail, clock_now_ms())) {
        events_log(slot->set->core->events, SMQ_LEVEL_WARN,
                   "slot %" PRId32 " of topic %s: a schedule that is due cannot be followed: %s",
                   slot->number, slot->set->name, text);
    }
    ticking_end(ticking);
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
    store_schedule_due(&ticking->call, slot->set->core->redis, &ticking->target,
                       slot->set->core->request_timeout_ms);
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
    struct plan plan;

    if (stored->there) {
        if (stored->definition_len >= sizeof(times)) {
            return false;
        }
        memcpy(times, stored->definition, stored->definition_len);
        times[stored->definition_len] = '\0';
        if (!schedule_parse_times(&schedule, times) || plan_open(&plan, &schedule, err) != SMQ_OK) {
            return false;
        }
        step =
            schedule_step_of(&plan.ticks, &plan.zone, &schedule, &stored->state, ticking->now_ms);
        plan_close(&plan);
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
    bool is_good = true;

    if (result->outcome != STORE_OK || !store_schedules_read(&due, result)) {
        ticking_fail(ticking, result->status == SMQ_DENIED ? result->text : NULL);
        return;
    }
    ticking->now_ms = due.now_ms;
    ticking->call.done = ticking_on_made;
    store_ticks_begin(call, &ticking->target);
    for (size_t i = 0; i < due.count && ticking->count < STORE_SCHEDULES_DUE; i++) {
        if (!store_schedule_read(&stored, result, i) || !ticking_add(ticking, &stored, &err)) {
            is_good = false;
        }
    }
    if (ticking->count == 0) {
        if (is_good && ticking->era == ticking->slot->era && (int64_t) due.cursor > due.now_ms) {
            ticking_know(ticking->slot, (int64_t) due.cursor, due.now_ms);
            ticking_end(ticking);
        } else {
            ticking_fail(ticking, is_good ? NULL : err.text);
        }
        return;
    }
    store_ticks(call, ticking->slot->set->core->redis,
                ticking->slot->set->core->request_timeout_ms);
}

/* Count the ticks that were stored.  Returns whether any schedule is due at another time now. */
static bool ticking_count(const struct ticking_call *ticking, const char *results)
{
    struct metrics *metrics = &ticking->slot->set->core->metrics;
    bool moved = false;

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
        !store_ticks_read(&results, &tick_ms, result, ticking->count) ||
        !ticking_count(ticking, results)) {
        ticking_fail(ticking, result->status == SMQ_DENIED ? result->text : NULL);
        return;
    }
    episode_good(&ticking->slot->set->ticks_fail);
    if (ticking->era == ticking->slot->era) {
        ticking_know(ticking->slot, tick_ms, ticking->now_ms);
    }
    ticking_end(ticking);
}
