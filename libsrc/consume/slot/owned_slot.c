/* owned_slot.c - see owned_slot.h.
 *
 * Thread: smq:io. */
#include "consume/slot/owned_slot.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/line.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/random.h"

enum { BACKOFF_FIRST_MS = 50, BACKOFF_DOUBLINGS = 5, LOOK_LATER_US = 5000 };

/* --- life --- */

struct owned_slot *owned_slot_new(struct slot_set *set, int32_t number,
                                  void (*ring)(struct alarm *alarm))
{
    struct owned_slot *slot = memory_new(sizeof(*slot));

    slot->set = set;
    slot->number = number;
    slot->alarm.ring = ring;
    slot->next.leave_at_us = NEXT_CALL_NEVER;
    TAILQ_INIT(&slot->in_flight);
    STAILQ_INIT(&slot->answers);
    run_queue_init(&slot->run_queue);
    set->slots[number] = slot;
    set->slot_count++;
    return slot;
}

static void owned_slot_free(struct owned_slot *slot)
{
    alarm_clear(loop_alarms(slot->set->core->io), &slot->alarm);
    buf_fini(&slot->part.entry);
    free(slot->channel);
    free(slot->shared.channel);
    free(slot);
}

void owned_slot_free_if_unused(struct owned_slot *slot)
{
    struct slot_set *set = slot->set;

    if (slot->state != OWNED_IDLE || slot->grant != OWNED_GRANT_NONE || slot->calls > 0 ||
        slot->place != SLOT_OUT) {
        return;
    }
    if (!scheduler_is_quiet(set->scheduler, &slot->run_queue)) {
        owned_slot_watch_handlers(slot);
        if (!scheduler_is_quiet(set->scheduler, &slot->run_queue)) {
            return;
        }
    }
    owned_slot_unwatch_handlers(slot);
    set->slots[slot->number] = NULL;
    set->slot_count--;
    owned_slot_free(slot);
}

struct owned_slot *owned_slot_of(const smq_delivery *delivery)
{
    return OWNER_OF(delivery->queue, struct owned_slot, run_queue);
}

/* --- state --- */

bool owned_slot_is_exclusive(const struct owned_slot *slot, enum owned_state state)
{
    return !slot->set->shared && (state == OWNED_ACTIVE || state == OWNED_STOPPING);
}

static void owned_slot_count_step(const struct owned_slot *slot, enum owned_state to)
{
    struct slot_set *set = slot->set;
    struct metrics *metrics = &set->core->metrics;
    bool owned = owned_slot_is_exclusive(slot, slot->state);

    if (owned_slot_is_exclusive(slot, to) != owned) {
        metric_add(owned ? &metrics->slots_lost : &metrics->slots_gained, 1);
        *(owned ? &set->lost : &set->gained) += 1;
    }
    if ((slot->state == OWNED_ACTIVE) != (to == OWNED_ACTIVE)) {
        slot_set_owns(set, to == OWNED_ACTIVE ? 1 : -1);
    }
}

void owned_slot_enter(struct owned_slot *slot, enum owned_event event)
{
    enum owned_state state = slot->state;
    bool possible = owned_state_next(&state, slot->state, event);

    assert(possible);
    (void) possible;
    owned_slot_count_step(slot, state);
    slot->state = state;
    slot->replicas_until = 0;
    if (state == OWNED_IDLE) {
        slot->era++;
        slot->wait = (struct call_wait){.since_us = 0};
        slot->sleep = OWNED_AWAKE;
        slot->renewing = slot->unconfirmed = false;
        slot->tick_us = slot->tick_again_us = 0;
        owned_slot_forget_pushes(slot);
    }
}

void owned_slot_know(struct owned_slot *slot, uint64_t last, const struct store_known *part)
{
    slot->last = last;
    buf_clear(&slot->part.entry);
    if (part != NULL) {
        buf_add(&slot->part.entry, part->entry, part->entry_len);
        slot->part.attempts = part->attempts;
    }
}

void owned_slot_set_open(struct owned_slot *slot, bool open)
{
    slot->set->open += (open ? 1 : 0) - (slot->push.open ? 1 : 0);
    slot->push.open = open;
}

void owned_slot_forget_pushes(struct owned_slot *slot)
{
    owned_slot_set_open(slot, false);
    slot->push.newest_ms = slot->push.replied_ms = slot->push.asked_ms = 0;
}

/* --- time --- */

static int64_t owned_slot_earlier(int64_t at_us, int64_t other_us)
{
    return at_us == 0 || (other_us != 0 && other_us < at_us) ? other_us : at_us;
}

/* When is the call decided again by a time of the slot's own?  For what waits together there is one
 * alarm of the set. */
static int64_t owned_slot_decides_us(const struct owned_slot *slot)
{
    bool own = slot->next.why == NEXT_CALL_IDLE || slot->next.why == NEXT_CALL_TIME ||
               slot->next.why == NEXT_CALL_MEMBER;

    return own ? slot->next.leave_at_us : 0;
}

void owned_slot_set_alarm(struct owned_slot *slot)
{
    struct alarms *alarms = loop_alarms(slot->set->core->io);
    int64_t at_us = owned_slot_earlier(owned_slot_earlier(slot->due_us, slot->drain_us),
                                       owned_slot_decides_us(slot));

    if (slot->state == OWNED_ACTIVE && !slot->ticking) {
        at_us = owned_slot_earlier(at_us, slot->tick_us);
    }
    if (at_us == 0) {
        alarm_clear(alarms, &slot->alarm);
    } else {
        alarm_set(alarms, &slot->alarm, at_us);
    }
}

void owned_slot_arm(struct owned_slot *slot, int64_t ms)
{
    slot->due_us = clock_now_us() + ms * 1000;
    owned_slot_set_alarm(slot);
}

void owned_slot_look_later(struct owned_slot *slot)
{
    slot->look_us = clock_now_us() + LOOK_LATER_US;
}

void owned_slot_may_claim(struct owned_slot *slot)
{
    if (slot->store == NEXT_CALL_EMPTY) {
        slot->store = NEXT_CALL_PERHAPS;
    }
}

void owned_slot_look(struct owned_slot *slot)
{
    owned_slot_may_claim(slot);
    slot->look_us = slot->look_us == NEXT_CALL_NEVER ? 0 : slot->look_us;
    slot_set_changed(slot);
}

int64_t owned_slot_next_backoff_ms(struct owned_slot *slot)
{
    int doublings = slot->failures < BACKOFF_DOUBLINGS ? slot->failures : BACKOFF_DOUBLINGS;
    int64_t most = (int64_t) BACKOFF_FIRST_MS << doublings;

    slot->failures++;
    return most / 2 + (int64_t) (random_u64() % (uint64_t) (most / 2 + 1));
}

/* --- references and lists --- */

void owned_slot_call_begin(struct owned_slot *slot)
{
    slot->calls++;
}

void owned_slot_call_end(struct owned_slot *slot)
{
    slot->calls--;
    slot_set_changed(slot);
}

void owned_slot_watch_handlers(struct owned_slot *slot)
{
    struct slot_set *set = slot->set;

    if (slot->leaving_link.le_prev == NULL) {
        LIST_INSERT_HEAD(&set->leaving, slot, leaving_link);
    }
    scheduler_watch(set->scheduler, true);
}

void owned_slot_unwatch_handlers(struct owned_slot *slot)
{
    if (slot->leaving_link.le_prev != NULL) {
        LIST_REMOVE(slot, leaving_link);
        slot->leaving_link.le_prev = NULL;
    }
}

struct gate *owned_slot_gate(const struct owned_slot *slot)
{
    struct slot_set *set = slot->set;

    return gates_get(&set->gates, redis_master_of(set->core->redis, slot->subscription.hash_slot));
}

void owned_slot_leave_gate(struct owned_slot *slot)
{
    const struct gate *gate = slot->waiter.gate;

    if (gate != NULL) {
        gate_leave(&slot->waiter);
        slot_set_serve(gate);
    }
}

void owned_slot_wait_at_gate(struct owned_slot *slot)
{
    struct gate *gate = owned_slot_gate(slot);

    if (slot->waiter.gate != gate) {
        owned_slot_leave_gate(slot);
        gate_wait(gate, &slot->waiter);
    }
}

void owned_slot_end_waiting(struct owned_slot *slot)
{
    owned_slot_leave_gate(slot);
    if (slot->place != SLOT_CHANGED) {
        slot_set_move(slot, SLOT_OUT);
    }
    slot->waits_us = 0;
    slot->next = (struct next_call){.why = NEXT_CALL_NOTHING, .leave_at_us = NEXT_CALL_NEVER};
    owned_slot_set_alarm(slot);
}

void owned_slot_queue(struct owned_slot *slot, struct owned_slot_queue *queue)
{
    if (slot->queue == NULL) {
        slot->queue = queue;
        TAILQ_INSERT_TAIL(queue, slot, queue_link);
    }
}

void owned_slot_unqueue(struct owned_slot *slot)
{
    if (slot->queue != NULL) {
        TAILQ_REMOVE(slot->queue, slot, queue_link);
        slot->queue = NULL;
    }
}

/* --- events --- */

void owned_slot_event(const struct owned_slot *slot, smq_event_kind kind, smq_status status,
                      const char *format, ...)
{
    const struct slot_set *set = slot->set;
    char token[TOKEN_TEXT_LEN + 1], text[400];
    smq_event event = {.status = status,
                       .topic = set->name,
                       .slot = slot->number,
                       .token = set->shared ? "" : token};
    va_list args;

    if (!events_wanted(set->core->events, kind)) {
        return;
    }
    token_format(token, slot->token);
    va_start(args, format);
    line_format(text, sizeof(text), format, args);
    va_end(args);
    events_emit(set->core->events, kind, &event, "%s", text);
}

void owned_slot_report_fenced(const struct owned_slot *slot)
{
    metric_add(&slot->set->core->metrics.fenced, 1);
    owned_slot_event(slot, SMQ_EVENT_FENCED, SMQ_FENCED,
                     "slot %" PRId32 " of topic %s has a newer owner", slot->number,
                     slot->set->name);
}
