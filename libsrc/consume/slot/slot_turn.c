/* slot_turn.c - see slot_turn.h.
 *
 * Thread: smq:io. */
#include "consume/slot/slot_turn.h"

#include "base/check.h"
#include "consume/slot/slot_life.h"
#include "consume/slot/takeover.h"

enum { CHECKED_EACH_TURN = 1024, CHECKED_PER_TURN = 128 };

/* What owned_slot.h promises, when an entry from the loop ends. */
static void slot_turn_check_slot(const struct owned_slot *slot)
{
    bool idle = slot->state == OWNED_IDLE;
    bool active = slot->state == OWNED_ACTIVE;

    assert(slot->place == SLOT_OUT);
    assert(!idle || (slot->in_flight_count == 0 && slot->due_us == 0 && slot->drain_us == 0));
    assert(!idle || (!slot->renewing && !slot->unconfirmed && !slot->paused));
    assert(slot->drain_us == 0 || slot->state == OWNED_STOPPING || slot->state == OWNED_VACATING);
    assert(slot->queue == NULL || slot->state == OWNED_ACQUIRING ||
           (active && slot->queue == &slot->set->throttled));
    assert(slot->replicas_until == 0 || slot->state == OWNED_ACQUIRING);
    assert(slot->consuming == NULL || active || slot->state == OWNED_STOPPING);
    assert(!next_call_waits(slot->next.why) || (active && slot->consuming == NULL));
    assert(slot->waits_us == 0 || next_call_waits(slot->next.why));
}

/* The lists of the slot are what it counts. */
static void slot_turn_check_lists(const struct owned_slot *slot)
{
    size_t count = 0, unanswered = 0, answers = 0, requeued = 0;
    uint64_t newest = 0;
    const smq_delivery *delivery;
    struct entry entry;

    TAILQ_FOREACH(delivery, &slot->in_flight, in_flight_link)
    {
        assert(delivery->in_flight && delivery->held > 0);
        if (!slot->set->shared && entry_decode(&entry, delivery->entry, delivery->entry_len)) {
            assert(entry.claim >= newest); /* so the first one is of the oldest claim */
            newest = entry.claim;
        }
        count++;
        unanswered += delivery->unanswered ? 1 : 0;
    }
    STAILQ_FOREACH(delivery, &slot->answers, link)
    {
        assert(delivery->in_flight && !delivery->unanswered);
        answers++;
        requeued += delivery_op_is_final(delivery->answer.op) ? 0 : 1;
    }
    assert(slot->in_flight_count == count && slot->unanswered == unanswered);
    assert(slot->answer_count == answers && slot->requeue_count == requeued);
}

/* The set counts what its slots say.  This reads all slots, so in large topics not each turn does
 * it, but one of a few. */
static void slot_turn_check_set(struct slot_set *set)
{
    int64_t count = 0, owned = 0, exclusive = 0, paused = 0, open = 0;
    int64_t in_flight = 0, unanswered = 0;

    if (set->topic.slots > CHECKED_EACH_TURN &&
        ++set->turns_unchecked * CHECKED_PER_TURN < set->topic.slots) {
        return;
    }
    set->turns_unchecked = 0;
    for (int32_t i = 0; set->slots != NULL && i < set->topic.slots; i++) {
        const struct owned_slot *slot = set->slots[i];

        if (slot != NULL) {
            count++;
            owned += slot->state == OWNED_ACTIVE ? 1 : 0;
            exclusive += owned_slot_is_exclusive(slot, slot->state) ? 1 : 0;
            paused += slot->paused ? 1 : 0;
            open += slot->push.open ? 1 : 0;
            in_flight += (int64_t) slot->in_flight_count;
            unanswered += (int64_t) slot->unanswered;
        }
    }
    assert(set->slot_count == count);
    assert(set->owned == owned && set->gained - set->lost == exclusive);
    assert(set->paused.slots == paused);
    assert(set->open == open && open <= set->push_slots);
    assert(set->budget.in_flight == in_flight && set->budget.unanswered == unanswered);
    assert(in_flight >= unanswered && set->budget.reserved >= 0);
}

static void slot_turn_decide_changed(struct slot_set *set)
{
    struct owned_slot *slot;

    while ((slot = TAILQ_FIRST(&set->places[SLOT_CHANGED])) != NULL) {
        slot_set_move(slot, SLOT_OUT);
        CHECK(slot_turn_check_slot(slot));
        CHECK(slot_turn_check_lists(slot));
        slot_life_decide(slot);
    }
}

/* Slots that again find no room return to the end of the set's list. */
static void slot_turn_feed_throttled(struct slot_set *set)
{
    struct owned_slot_queue served = TAILQ_HEAD_INITIALIZER(served);
    struct owned_slot *slot;

    if (TAILQ_EMPTY(&set->throttled) || !slot_set_may_feed(set)) {
        return;
    }
    TAILQ_CONCAT(&served, &set->throttled, queue_link);
    while (slot_set_may_feed(set) && (slot = TAILQ_FIRST(&served)) != NULL) {
        TAILQ_REMOVE(&served, slot, queue_link);
        slot->queue = NULL;
        slot_life_decide(slot);
    }
    TAILQ_CONCAT(&served, &set->throttled, queue_link);
    TAILQ_CONCAT(&set->throttled, &served, queue_link);
}

void slot_turn_run(struct slot_set *set)
{
    slot_set_begin_turn(set);
    slot_turn_decide_changed(set);
    slot_turn_feed_throttled(set);
    slot_turn_decide_changed(set);
    slot_set_await(set);
    limit_turned(&set->budget.limited,
                 !TAILQ_EMPTY(&set->throttled) && budget_waits_for_others(&set->budget));
    takeover_begin_waiting(set);
    CHECK(slot_turn_check_set(set));
}

void slot_turn_mark_leaving(struct slot_set *set)
{
    struct owned_slot *slot;

    LIST_FOREACH(slot, &set->leaving, leaving_link)
    {
        slot_set_changed(slot);
    }
    scheduler_watch(set->scheduler, !LIST_EMPTY(&set->leaving));
}

void slot_turn_mark_busy(struct slot_set *set)
{
    struct owned_slot *slot;

    LIST_FOREACH(slot, &set->busy, busy_link)
    {
        slot_set_changed(slot);
    }
}
