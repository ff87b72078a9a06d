/* slot_turn.c - see slot_turn.h.
 *
 * Thread: smq:io. */
#include "consume/slot/slot_turn.h"

#include "consume/slot/slot_life.h"
#include "consume/slot/takeover.h"

static void slot_turn_decide_changed(struct slot_set *set)
{
    struct owned_slot *slot;

    while ((slot = STAILQ_FIRST(&set->changed)) != NULL) {
        STAILQ_REMOVE_HEAD(&set->changed, changed_link);
        slot->changed = false;
        slot_life_decide(slot);
    }
}

/* Slots that again find no room return to the end of the set's list. */
static void slot_turn_feed_starved(struct slot_set *set)
{
    struct owned_slot_queue starved = TAILQ_HEAD_INITIALIZER(starved);
    struct owned_slot *slot;

    if (budget_available(&set->budget, 1) == 0) {
        return;
    }
    TAILQ_CONCAT(&starved, &set->starved, link);
    while (budget_available(&set->budget, 1) > 0 && (slot = TAILQ_FIRST(&starved)) != NULL) {
        TAILQ_REMOVE(&starved, slot, link);
        slot->starved = false;
        slot_life_decide(slot);
    }
    TAILQ_CONCAT(&starved, &set->starved, link);
    TAILQ_CONCAT(&set->starved, &starved, link);
}

void slot_turn_run(struct slot_set *set)
{
    slot_turn_decide_changed(set);
    slot_turn_feed_starved(set);
    slot_turn_decide_changed(set);
    slot_set_await_credit(set);
    takeover_begin_waiting(set);
}

void slot_turn_mark_leaving(struct slot_set *set)
{
    struct owned_slot *slot;

    LIST_FOREACH(slot, &set->leaving, leaving_link)
    {
        slot_set_changed(set, slot);
    }
    run_queue_watch(set->queue, !LIST_EMPTY(&set->leaving));
}
