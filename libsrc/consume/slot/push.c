/* push.c - see push.h.
 *
 * Thread: smq:io. */
#include "consume/slot/push.h"

#include "base/clock.h"
#include "consume/slot/consume_call.h"
#include "consume/slot/in_flight.h"
#include "consume/slot/renewal.h"
#include "core/coord_link.h"

/* A reply and a push carry whole milliseconds, and clocks run apart by less than a thousandth. */
enum { DRIFT_MS = 10, DRIFT_PART = 1000 };

enum push_verdict push_judge(const struct push_known *known, const struct store_push *push)
{
    int order = token_compare(push->token, known->token);

    if (order != 0) { /* if it is older, Redis may have lost this owner's takeover */
        return order > 0 ? PUSH_FOREIGN : PUSH_WAKE;
    }
    /* After a failover Redis may give the next number to another message; its clock tells. */
    return push->claim == known->last + 1 && !known->part && known->replied_ms > 0 &&
                   push->now_ms >= known->replied_ms
               ? PUSH_ACCEPTED
               : PUSH_WAKE;
}

int64_t push_made_ms(int64_t asked_ms, int64_t replied_ms, int64_t pushed_ms, int64_t now_ms)
{
    int64_t passed = pushed_ms - replied_ms;
    int64_t made = asked_ms + passed;

    if (made <= now_ms) {
        return made;
    }
    return made - now_ms <= DRIFT_MS + passed / DRIFT_PART ? now_ms : asked_ms;
}

/* Has the consumer no room for the message, or may it not handle it now? */
static bool push_is_surplus(struct owned_slot *slot)
{
    struct slot_set *set = slot->set;

    return !set->claiming || !coord_link_may_claim(set->core->link) ||
           consume_would_overtake(slot) || !budget_has_room(&set->budget);
}

/* A surplus message counts as claimed as well, and is returned as if it had never been. */
static void push_deliver(struct owned_slot *slot, const struct store_push *push)
{
    struct delivery_list list = STAILQ_HEAD_INITIALIZER(list);
    struct slot_set *set = slot->set;
    bool surplus = push_is_surplus(slot);
    int64_t made_ms =
        push_made_ms(slot->push.asked_ms, slot->push.replied_ms, push->now_ms, clock_now_ms());
    struct in_flight_terms terms;
    smq_delivery *delivery;

    in_flight_terms(&terms, slot, made_ms, push->lease_ms);
    budget_reserve(&set->budget, 1);
    delivery = in_flight_add(slot, &push->message, &terms);
    budget_unreserve(&set->budget, 1, delivery != NULL ? 1 : 0);
    if (delivery != NULL && surplus) {
        in_flight_requeue(slot, delivery);
    } else if (delivery != NULL) {
        renewal_confirmed(slot, made_ms);
        STAILQ_INSERT_TAIL(&list, delivery, link);
        scheduler_add(set->scheduler, &slot->run_queue, &list);
        slot_set_wake_handlers(set);
    }
    if (push->lease_ms < set->topic.lease_ms) {
        renewal_soon(set);
    }
}

static void push_accept(struct owned_slot *slot, const struct store_push *push)
{
    owned_slot_know(slot, push->claim, NULL);
    slot->push.newest_ms = push->now_ms;
    owned_slot_set_open(slot, slot->consuming != NULL && slot->push.open);
    push_deliver(slot, push);
    (void) consume_wake(slot);
    owned_slot_look_later(slot);
    slot_set_changed(slot);
}

bool push_take(struct owned_slot *slot, const char *data, size_t len)
{
    const struct push_known known = {.token = slot->token,
                                     .last = slot->last,
                                     .part = slot->part.entry.len > 0,
                                     .replied_ms = slot->push.replied_ms};
    struct store_slot target;
    struct store_push push;

    store_slot_fill(&target, &slot->set->topic, slot->number);
    if (slot->state != OWNED_ACTIVE || slot->set->shared ||
        !store_push_read(&push, &target, data, len)) {
        return false;
    }
    switch (push_judge(&known, &push)) {
    case PUSH_ACCEPTED:
        push_accept(slot, &push);
        return true;
    case PUSH_FOREIGN:
        return true;
    case PUSH_WAKE:
        break;
    }
    return false;
}
