/* claiming.c - see claiming.h.
 *
 * Thread: smq:io. */
#include "consume/slot/claiming.h"

#include "base/clock.h"
#include "core/coord_link.h"

enum {
    MEMBERSHIP_PAUSE_MS = 500,
    PASS_AGAIN_MS = 20, /* a claim that passes over keys may read 2,000 messages, in 2 ms */
    PASS_ON_MS = 10,    /* if there are more of them */
    PASS_ROOM_MAX = 10000,
    TURN_MS = 20 /* long enough to settle and claim in one call while other slots are starved */
};

/* --- how many --- */

static void claiming_starve(struct owned_slot *slot)
{
    if (!slot->starved) {
        slot->starved = true;
        TAILQ_INSERT_TAIL(&slot->set->starved, slot, link);
    }
}

bool claiming_is_wanting(const struct owned_slot *slot)
{
    return slot->unanswered < (size_t) slot->set->per_slot;
}

/* Each claim in progress keeps room for all that it may bring.  A slot that is not known to have
 * more waiting takes no more of it than its share, so that all slots can claim at once.  It takes
 * two at least: a claim of one that brings one would not show that nothing else waits. */
static int32_t claiming_fair_share(const struct owned_slot *slot, int32_t wanted)
{
    const struct slot_set *set = slot->set;
    int64_t share = set->owned > 0 ? set->budget.max_in_flight / set->owned : wanted;

    if (slot->more_available || wanted <= share || wanted <= 2) {
        return wanted;
    }
    return share > 2 ? (int32_t) share : 2;
}

/* May the slot claim while messages are in flight and none is answered?  By key others need not
 * wait for them, but an answer that comes soon saves the call. */
static bool claiming_may_look(struct owned_slot *slot)
{
    int64_t wait;

    if (slot->more_available || !slot->set->by_key) {
        return slot->more_available || claiming_is_wanting(slot);
    }
    if (slot->look_ms == OWNED_LOOK_WOKEN) {
        return false;
    }
    wait = slot->look_ms - clock_now_ms();
    if (wait > 0 && (slot->due_at == 0 || slot->due_at > slot->look_ms)) {
        owned_slot_arm(slot, wait);
    }
    return wait <= 0;
}

bool claiming_is_full(const struct owned_slot *slot)
{
    size_t room = (size_t) slot->set->room;

    return slot->unanswered >= room || (slot->unanswered > room / 2 && !claiming_is_wanting(slot));
}

/* How many messages a slot may have that claims while it is full: the claims of all keys that could
 * run at once fit beside those of one. */
static size_t claiming_pass_room(const struct slot_set *set)
{
    size_t room = (size_t) set->room + (size_t) set->per_slot * (size_t) set->batch_size;

    return room < SLOT_ROOM_MAX ? SLOT_ROOM_MAX : room < PASS_ROOM_MAX ? room : PASS_ROOM_MAX;
}

/* By key: are the messages of a full slot of fewer keys than could run at once, and has a poller
 * taken all that it may?  Then it claims some of other keys.  Such a claim reads what it passes
 * over, so there is one in PASS_ON_MS at most, unless it fills a batch, and none after one that
 * found nothing and saw all until the slot is woken or has claimed otherwise. */
static bool claiming_may_pass(struct owned_slot *slot)
{
    struct slot_set *set = slot->set;
    int64_t wait;

    if (!set->by_key || slot->unanswered >= claiming_pass_room(set) || !claiming_may_look(slot) ||
        !run_queue_lacks_keys(set->queue, &slot->lane, (size_t) set->per_slot)) {
        return false;
    }
    wait = slot->pass_ms - clock_now_ms();
    if (wait > 0) {
        owned_slot_arm(slot, wait);
    }
    return wait <= 0;
}

void claiming_passes(struct owned_slot *slot)
{
    slot->pass_ms = clock_now_ms() + PASS_AGAIN_MS;
}

void claiming_passed(struct owned_slot *slot, bool full, bool more)
{
    if (full) {
        slot->pass_ms = 0;
    } else if (more) {
        slot->pass_ms -= PASS_AGAIN_MS - PASS_ON_MS;
    }
}

/* How many messages a claim would want now.  Normally messages are claimed only together with
 * settling answers.  They are claimed without answers when nothing is in flight, when the last
 * claim was cut short and half of the room is free, when a poller has room for more, or by key
 * when no answer came for a moment. */
static int32_t claiming_wanted(struct owned_slot *slot)
{
    struct slot_set *set = slot->set;
    size_t room = (size_t) set->room;

    if (slot->state != OWNED_ACTIVE || !set->claiming || !slot->claimable) {
        return 0;
    }
    if (claiming_is_full(slot)) {
        room = claiming_pass_room(set);
        if (!claiming_may_pass(slot)) {
            return 0;
        }
    }
    if (slot->in_flight_count > 0 && slot->answer_count == 0 && !claiming_may_look(slot)) {
        return 0;
    }
    if (run_queue_is_waiting(set->queue, &slot->lane)) {
        return 0;
    }
    if (!set->shared && !coord_link_may_claim(set->core->link)) {
        owned_slot_arm(slot, MEMBERSHIP_PAUSE_MS);
        return 0;
    }
    room -= slot->unanswered;
    return claiming_fair_share(slot,
                               room < (size_t) set->batch_size ? (int32_t) room : set->batch_size);
}

/* While other slots are starved, a slot may claim for at most TURN_MS, and then goes to the back of
 * the queue. */
static bool claiming_has_turn(struct owned_slot *slot)
{
    int64_t now = clock_now_ms();

    if (TAILQ_EMPTY(&slot->set->starved)) {
        slot->turn_ms = now;
    }
    return now - slot->turn_ms < TURN_MS;
}

/* A full slot claims for keys of which nothing is in work, so it takes what little is left. */
int32_t claiming_count(struct owned_slot *slot)
{
    int32_t wanted = claiming_wanted(slot);
    const struct budget *budget = &slot->set->budget;
    bool may = wanted > 0 && claiming_has_turn(slot) &&
               (claiming_is_full(slot) || !budget_is_short(budget, wanted));
    int32_t n = may ? budget_available(budget, wanted) : 0;

    if (wanted > 0 && n == 0) {
        claiming_starve(slot);
    }
    return n;
}

/* --- when --- */

/* Must its call not wait for those of others?  A slot with answers for half a batch fills a call by
 * itself. */
static bool claiming_is_urgent(const struct owned_slot *slot)
{
    return slot->state != OWNED_ACTIVE || slot->answer_count > (size_t) slot->set->batch_size / 2;
}

/* The call of a slot with a backlog is full if it settles a batch and claims another.  One with
 * less costs Redis nearly as much, and more such calls follow from it. */
static bool claiming_may_fill(const struct owned_slot *slot)
{
    const struct slot_set *set = slot->set;
    size_t half = ((size_t) set->room + 1) / 2;
    size_t full = half < (size_t) set->batch_size ? half : (size_t) set->batch_size;

    return slot->state == OWNED_ACTIVE && slot->more_available && slot->unanswered > 0 &&
           slot->answer_count > 0 && slot->answer_count < full;
}

/* May its call be delayed because nothing depends on it?  All deliveries are answered, none is
 * requeued, no message is known to wait, and no slot is starved. */
static bool claiming_may_linger(const struct owned_slot *slot)
{
    return slot->state == OWNED_ACTIVE && slot->unanswered == 0 && !slot->more_available &&
           !slot->recheck && slot->answer_count > 0 && slot->requeue_count == 0 &&
           TAILQ_EMPTY(&slot->set->starved);
}

/* How long the call of the slot may be delayed: a small part of the time between two messages, so
 * that hardly a message comes during the delay; and never until a message is due.  Until look_ms
 * the slot would wait for an answer, and it has one. */
static int64_t claiming_linger_us(const struct owned_slot *slot)
{
    bool looks = slot->set->by_key && slot->look_ms != OWNED_LOOK_WOKEN;
    int64_t wait_us = pace_linger_us(&slot->set->pace, slot->apart_us), due_us = wait_us;

    if (slot->due_at > 0 && !looks) {
        due_us = (slot->due_at - clock_now_ms()) * 1000;
    }
    return due_us < wait_us ? due_us : wait_us;
}

static bool claiming_lingers(struct owned_slot *slot)
{
    return claiming_may_linger(slot) &&
           slot_set_linger(slot->set, slot, slot->set->now_us + claiming_linger_us(slot));
}

bool claiming_must_wait(struct owned_slot *slot)
{
    if (claiming_may_fill(slot)) {
        return slot_set_fill(slot->set, slot);
    }
    if (!claiming_is_urgent(slot) && claiming_lingers(slot)) {
        return true;
    }
    return !claiming_is_urgent(slot) && slot_set_gather(slot->set, slot);
}
