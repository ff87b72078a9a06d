/* outbox.c - the states of an outbox, and its back-off after failures. */
#include "produce/outbox.h"

#include <assert.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/random.h"
#include "base/steps.h"
#include "model/backoff.h"

enum {
    ENOUGH = 16,     /* sends of a slot that do not wait for more */
    LAST_TRY_MS = 50 /* after a failure no send is tried later before its deadline */
};

/* Waits between the tries of a failed request. */
static const struct backoff outbox_backoff = {.kind = BACKOFF_EXP, .count = 2, .ms = {20, 1000}};

int64_t outbox_backoff_ms(int failures)
{
    return 1 + backoff_delay(&outbox_backoff, failures < 16 ? failures : 16, random_u64());
}

void outbox_set_wake_at(struct outbox_set *set, int64_t ms)
{
    set->wake_ms = ms < set->wake_ms ? ms : set->wake_ms;
}

struct outbox *outbox_new(struct outbox_set *set, struct outbox_topic *topic, int32_t slot,
                          int32_t hash_slot)
{
    struct outbox *outbox = memory_new(sizeof(*outbox));

    outbox->set = set;
    outbox->topic = topic;
    outbox->slot = slot;
    outbox->hash_slot = hash_slot;
    STAILQ_INIT(&outbox->queue);
    return outbox;
}

void outbox_free(struct outbox *outbox)
{
    gate_leave(&outbox->waiter);
    free(outbox->why);
    free(outbox);
}

/* --- states --- */

bool outbox_may(enum outbox_state from, enum outbox_state to)
{
    static const unsigned steps[OUTBOX_STATES] = {
        [OUTBOX_EMPTY] = STEP(OUTBOX_READY) | STEP(OUTBOX_BACKING_OFF),
        [OUTBOX_READY] = STEP(OUTBOX_GATED) | STEP(OUTBOX_IN_FLIGHT) | STEP(OUTBOX_EMPTY),
        [OUTBOX_GATED] = STEP(OUTBOX_IN_FLIGHT) | STEP(OUTBOX_EMPTY),
        [OUTBOX_IN_FLIGHT] = STEP(OUTBOX_EMPTY) | STEP(OUTBOX_READY) | STEP(OUTBOX_BACKING_OFF),
        [OUTBOX_BACKING_OFF] = STEP(OUTBOX_READY) | STEP(OUTBOX_EMPTY),
    };

    return steps_allow(steps, from, to);
}

static struct outbox_list *outbox_list_of(struct outbox_set *set, enum outbox_state state)
{
    return state == OUTBOX_READY         ? &set->ready
           : state == OUTBOX_BACKING_OFF ? &set->backing_off
                                         : NULL;
}

static void outbox_enter(struct outbox *outbox, enum outbox_state state)
{
    struct outbox_list *from = outbox_list_of(outbox->set, outbox->state);
    struct outbox_list *to = outbox_list_of(outbox->set, state);

    if (outbox->state == state) {
        return;
    }
    assert(outbox_may(outbox->state, state));
    outbox->set->ready_count +=
        (state == OUTBOX_READY ? 1 : 0) - (outbox->state == OUTBOX_READY ? 1 : 0);
    outbox->set->gated_count +=
        (state == OUTBOX_GATED ? 1 : 0) - (outbox->state == OUTBOX_GATED ? 1 : 0);
    outbox->state = state;
    gate_leave(&outbox->waiter);
    if (from != NULL) {
        TAILQ_REMOVE(from, outbox, link);
    }
    if (to != NULL) {
        TAILQ_INSERT_TAIL(to, outbox, link);
    }
}

static void outbox_check(const struct outbox *outbox)
{
    bool listed = outbox->state == OUTBOX_READY || outbox->state == OUTBOX_BACKING_OFF;
    bool gated = outbox->state == OUTBOX_GATED;

    assert(outbox->state == OUTBOX_IN_FLIGHT || (listed || gated) != STAILQ_EMPTY(&outbox->queue));
    assert(gated == (outbox->waiter.gate != NULL));
    assert(!listed || *outbox->link.tqe_prev == outbox);
}

static void outbox_back_off(struct outbox *outbox)
{
    int64_t deadline_ms = STAILQ_FIRST(&outbox->queue)->deadline_ms;

    outbox_enter(outbox, OUTBOX_BACKING_OFF);
    outbox_set_wake_at(outbox->set,
                       outbox->resume_ms < deadline_ms ? outbox->resume_ms : deadline_ms);
}

/* The outbox is READY, and has this send: must it wait for others? */
static void outbox_note_urgent(struct outbox *outbox, const struct send *send)
{
    struct outbox_set *set = outbox->set;
    int64_t most_ms = (pace_together_us(&set->pace) + 999) / 1000;

    if (outbox->added >= ENOUGH || send->number <= set->flush_to || send->group != NULL ||
        send->deadline_ms - most_ms <= clock_now_ms()) {
        set->urgent = true;
    }
    set->callers += send->group != NULL && send->index == 0 ? 1 : 0;
}

struct next_call outbox_set_next(struct outbox_set *set)
{
    const struct next_call_view view = {.now_us = set->now_us,
                                        .opens_us = pace_opens_us(&set->pace),
                                        .sends = set->ready_count,
                                        .urgent = set->urgent,
                                        .idle = LIST_EMPTY(&set->requests.wire),
                                        .halves = set->pace.linger_us > 0,
                                        .callers = set->callers,
                                        .rest_us = set->rest_us};
    struct next_call next = next_call_of(&view);

    if (next.why == NEXT_CALL_HALF) {
        set->rest_us = next.leave_at_us;
    }
    return next;
}

void outbox_set_flushed(struct outbox_set *set)
{
    set->urgent = false;
    set->callers = 0;
    set->rest_us = 0;
}

/* Nothing collects of sends whose callers wait for them, or which wait for replicas together. */
static bool outbox_is_bounded(const struct outbox *outbox)
{
    const struct outbox_set *set = outbox->set;

    return set->pace.linger_us > 0 && set->requests.replicas == 0 &&
           STAILQ_FIRST(&outbox->queue)->group == NULL;
}

bool outbox_may_leave(struct outbox *outbox)
{
    struct outbox_set *set = outbox->set;

    outbox->gate =
        gates_get(&set->gates, redis_master_of(set->sink.core->redis, outbox->hash_slot));
    if (!outbox_is_bounded(outbox) || gate_admits(outbox->gate, &outbox->waiter)) {
        return true;
    }
    outbox_enter(outbox, OUTBOX_GATED);
    if (outbox->waiter.gate != outbox->gate) {
        gate_leave(&outbox->waiter);
        gate_wait(outbox->gate, &outbox->waiter);
    }
    outbox_set_wake_at(set, STAILQ_FIRST(&outbox->queue)->deadline_ms);
    return false;
}

struct outbox *outbox_set_gated(struct outbox_set *set)
{
    for (size_t i = 0; set->gated_count > 0 && i < set->gates.count; i++) {
        struct gate *gate = set->gates.all[i];

        if (gate != NULL && !TAILQ_EMPTY(&gate->waiting) && gate_places(gate) > 0) {
            return OWNER_OF(TAILQ_FIRST(&gate->waiting), struct outbox, waiter);
        }
    }
    return NULL;
}

void outbox_settle(struct outbox *outbox)
{
    if (STAILQ_EMPTY(&outbox->queue)) {
        outbox->added = 0;
        outbox_enter(outbox, OUTBOX_EMPTY);
    } else if (outbox->resume_ms > clock_now_ms()) {
        outbox_back_off(outbox);
    } else {
        outbox_enter(outbox, OUTBOX_READY);
        outbox_note_urgent(outbox, STAILQ_FIRST(&outbox->queue));
    }
    CHECK(outbox_check(outbox));
}

void outbox_add(struct outbox *outbox, struct send *send)
{
    STAILQ_INSERT_TAIL(&outbox->queue, send, link);
    outbox->added++;
    if (outbox->state == OUTBOX_EMPTY) {
        outbox_settle(outbox);
    } else if (outbox->state == OUTBOX_READY) {
        outbox_note_urgent(outbox, send);
    }
    CHECK(outbox_check(outbox));
}

void outbox_begin(struct outbox *outbox, const struct topic *topic)
{
    struct outbox_set *set = outbox->set;

    outbox_enter(outbox, OUTBOX_IN_FLIGHT);
    pace_flush(&set->pace, set->now_us);
    gate_sent(outbox->gate);
    outbox->flushed_us = set->now_us;
    send_request_begin(&set->requests, &outbox->queue, topic, outbox->slot, set->now_us, outbox);
    outbox->added = STAILQ_EMPTY(&outbox->queue) ? 0 : ENOUGH;
}

void outbox_answered(struct outbox *outbox, bool replied)
{
    gate_ended(outbox->gate, outbox->flushed_us, clock_now_us(), replied);
    pace_answered(&outbox->set->pace, outbox->flushed_us);
}

/* --- failures --- */

void outbox_failed(struct outbox *outbox, const char *why)
{
    outbox->resume_ms = clock_now_ms() + outbox_backoff_ms(outbox->failures);
    outbox->failures++;
    free(outbox->why);
    outbox->why = memory_string(why);
}

void outbox_reset_backoff(struct outbox *outbox)
{
    outbox->failures = 0;
    outbox->resume_ms = 0;
    free(outbox->why);
    outbox->why = NULL;
}

/* After a failure the last moments of a send are not used for another try: its reply would hardly
 * come in time, and leave a send in doubt that was refused until then. */
static bool outbox_has_expired(const struct outbox *outbox, const struct send *send, int64_t now_ms)
{
    int64_t last_ms = outbox->failures > 0 && !send->unknown ? LAST_TRY_MS : 0;

    return send->deadline_ms - last_ms <= now_ms;
}

/* The queue is nearly in the order of the deadlines: a send behind one with a later deadline may
 * expire a little late. */
void outbox_expire(struct outbox *outbox, int64_t now_ms)
{
    struct send *send;

    while ((send = STAILQ_FIRST(&outbox->queue)) != NULL &&
           outbox_has_expired(outbox, send, now_ms)) {
        STAILQ_REMOVE_HEAD(&outbox->queue, link);
        send_end_expired(&outbox->set->sink, send, outbox->why);
    }
}

void outbox_empty_into(struct outbox *outbox, struct send_list *list)
{
    STAILQ_CONCAT(list, &outbox->queue);
    outbox->added = 0;
    if (outbox->state != OUTBOX_IN_FLIGHT) {
        outbox_enter(outbox, OUTBOX_EMPTY);
    }
    CHECK(outbox_check(outbox));
}
