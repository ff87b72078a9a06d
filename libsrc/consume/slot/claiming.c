/* claiming.c - see claiming.h.
 *
 * Thread: smq:io. */
#include "consume/slot/claiming.h"

#include "core/coord_link.h"

enum {
    PASS_AGAIN_US = 20000, /* a claim that passes over keys may read 2,000 messages, in 2 ms */
    PASS_ON_US = 10000,    /* if there are more of them */
    PASS_ROOM_MAX = 10000
};

void claiming_passes(struct owned_slot *slot)
{
    slot->pass_us = slot->set->now_us + PASS_AGAIN_US;
}

void claiming_passed(struct owned_slot *slot, bool full, bool more)
{
    if (full) {
        slot->pass_us = 0;
    } else if (more) {
        slot->pass_us -= PASS_AGAIN_US - PASS_ON_US;
    }
}

/* --- the view --- */

/* How many messages a slot may have that claims while it is full: the claims of all keys that could
 * run at once fit beside those of one. */
static int32_t claiming_pass_room(const struct slot_set *set)
{
    int64_t room = set->room + (int64_t) set->per_slot * set->batch_size;

    return room < SLOT_ROOM_MAX   ? SLOT_ROOM_MAX
           : room < PASS_ROOM_MAX ? (int32_t) room
                                  : PASS_ROOM_MAX;
}

/* What the slot has, and may have. */
static void claiming_view_slot(struct next_call_view *view, const struct owned_slot *slot)
{
    const struct slot_set *set = slot->set;
    bool claims = slot->state == OWNED_ACTIVE && set->claiming;

    view->store = claims ? slot->store : NEXT_CALL_EMPTY;
    view->in_flight = slot->in_flight_count;
    view->unanswered = slot->unanswered;
    view->batch = set->batch_size;
    view->room = set->room;
    view->pass_room = claiming_pass_room(set);
    view->per_slot = set->per_slot;
    view->share = set->owned > 0 ? budget_most(&set->budget) / set->owned : INT32_MAX;
    view->look_us = slot->look_us;
    view->pass_us = slot->pass_us;
    view->turn_us = limit_is_used_up(&set->budget.limited) ? 0 : slot->turn_us;
    view->contended = slot_set_is_contended(set);
    view->queued = slot->queue != NULL;
    view->answers = slot->answer_count;
    view->requeued = slot->requeue_count;
    view->woken = slot->notice != OWNED_UNNOTICED;
    view->rate_long = view->woken && budget_waits_long(&set->budget);
    view->ending = slot->state != OWNED_ACTIVE;
    view->waits_us = slot->waits_us;
    view->due_us = slot->due_us;
}

/* What has to be asked under a lock, or of others, and only of a slot that might claim. */
static void claiming_view_others(struct next_call_view *view, struct owned_slot *slot)
{
    struct slot_set *set = slot->set;

    if (view->store == NEXT_CALL_EMPTY) {
        return;
    }
    budget_look(&set->budget, view);
    view->lacks_keys =
        next_call_is_full(view) &&
        scheduler_lacks_keys(set->scheduler, &slot->run_queue, (size_t) set->per_slot);
    view->doubted = !set->shared && !coord_link_may_claim(set->core->link);
}

static void claiming_view_pace(struct next_call_view *view, const struct owned_slot *slot)
{
    const struct slot_set *set = slot->set;

    view->now_us = set->now_us;
    view->linger_us = pace_linger_us(&set->pace, slot->apart_us);
    view->opens_us = pace_opens_us(&set->pace);
    view->left = slot_set_has_flushed(set);
    view->awaited = set->awaited;
    view->gated = slot->waiter.gate != NULL;
    view->busy = set->pace.linger_us > 0 && !set->awaited &&
                 !gate_admits(owned_slot_gate(slot), &slot->waiter);
}

/* --- the decision --- */

/* Enter the lists and set the alarm for what the next call waits for. */
static void claiming_wait(struct owned_slot *slot)
{
    const struct next_call *next = &slot->next;

    if (!next_call_waits(next->why)) {
        slot->waits_us = 0;
    } else if (next->why == NEXT_CALL_IDLE && slot->waits_us == 0) {
        slot->waits_us = slot->set->now_us;
    }
    if (next->queues) {
        owned_slot_queue(slot, &slot->set->throttled);
    }
    if (next->why == NEXT_CALL_BUSY) {
        owned_slot_wait_at_gate(slot);
    } else if (next_call_waits(next->why)) {
        slot_set_move(slot, SLOT_TOGETHER);
    }
    if (next->why != NEXT_CALL_BUSY && next->why != NEXT_CALL_NOW) {
        owned_slot_leave_gate(slot);
    }
    owned_slot_set_alarm(slot);
}

struct next_call claiming_decide(struct owned_slot *slot, bool must)
{
    struct slot_set *set = slot->set;
    struct next_call_view view = {.must = must};

    slot_set_move(slot, SLOT_OUT);
    if (!slot_set_is_contended(set)) {
        slot->turn_us = set->now_us;
    }
    claiming_view_slot(&view, slot);
    claiming_view_pace(&view, slot);
    claiming_view_others(&view, slot);
    slot->next = next_call_of(&view);
    call_wait_decided(&slot->wait, slot->next.why, set->now_us);
    claiming_wait(slot);
    return slot->next;
}
