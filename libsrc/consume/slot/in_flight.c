/* in_flight.c - see in_flight.h.
 *
 * Thread: smq:io. */
#include "consume/slot/in_flight.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/line.h"
#include "consume/run/hooks.h"

void in_flight_event(const struct owned_slot *slot, smq_event_kind kind, smq_status status,
                     const smq_delivery *delivery, const char *what, const char *reason)
{
    const struct slot_set *set = slot->set;
    char id[DELIVERY_ID_MAX], escaped[4 * SMQ_REASON_MAX + 1];
    smq_event event;

    if (!events_wanted(set->core->events, kind)) {
        return;
    }
    event = (smq_event){.status = status,
                        .topic = set->name,
                        .slot = slot->number,
                        .token = delivery->token,
                        .message_id = id,
                        .attempt = delivery->info.attempt};
    delivery_id(id, delivery);
    escaped[0] = '\0';
    if (reason != NULL) {
        line_escape(escaped, sizeof(escaped), reason, strlen(reason), false);
        event.reason = escaped;
    }
    events_emit(set->core->events, kind, &event,
                "%s: message \"%s\" of slot %" PRId32 " of topic %s, attempt %" PRId32 "%s%s", what,
                id, slot->number, set->name, event.attempt, reason != NULL ? ": " : "", escaped);
}

void in_flight_terms(struct in_flight_terms *out, const struct owned_slot *slot, int64_t asked_ms,
                     int64_t lease_ms)
{
    *out = (struct in_flight_terms){
        .asked_ms = asked_ms, .lease_ms = lease_ms, .now_us = clock_now_us()};
    if (!slot->set->shared) {
        token_format(out->token, slot->token);
    }
}

/* The message is not in flight any more, or never was, and must not be given back by this owner. */
static void in_flight_keep(struct owned_slot *slot, uint64_t claim)
{
    if (slot->kept == 0 || claim < slot->kept) {
        slot->kept = claim;
    }
}

void in_flight_report_unreadable(struct owned_slot *slot)
{
    events_log(slot->set->core->events, SMQ_LEVEL_ERROR,
               "slot %" PRId32 " of topic %s holds an entry that cannot be read", slot->number,
               slot->set->name);
    in_flight_keep(slot, slot->last);
}

static void in_flight_begin(struct owned_slot *slot, smq_delivery *delivery)
{
    struct slot_set *set = slot->set;

    if (slot->in_flight_count == 0) {
        LIST_INSERT_HEAD(&set->busy, slot, busy_link);
    }
    TAILQ_INSERT_TAIL(&slot->in_flight, delivery, in_flight_link);
    delivery->in_flight = delivery->unanswered = true;
    slot->in_flight_count++;
    slot->unanswered++;
    budget_begin(&set->budget);
    metric_add(&set->core->metrics.claimed, 1);
    metric_add(&set->core->metrics.in_flight, 1);
}

/* Messages of one reply come at one time. */
static void in_flight_note_claimed(struct owned_slot *slot, int64_t now_us)
{
    if (slot->claimed_us == now_us) {
        return;
    }
    if (slot->claimed_us > 0) {
        slot->apart_us += (now_us - slot->claimed_us - slot->apart_us) / 2;
    }
    slot->claimed_us = now_us;
}

uint64_t in_flight_oldest_claim(const struct owned_slot *slot)
{
    const smq_delivery *delivery = TAILQ_FIRST(&slot->in_flight);
    struct entry entry;

    if (delivery == NULL || !entry_decode(&entry, delivery->entry, delivery->entry_len)) {
        return slot->last + 1;
    }
    return entry.claim;
}

const smq_delivery *in_flight_oldest_unanswered(const struct owned_slot *slot)
{
    const smq_delivery *delivery;

    TAILQ_FOREACH(delivery, &slot->in_flight, in_flight_link)
    {
        if (delivery->unanswered && !atomic_load(&delivery->answered)) {
            return delivery;
        }
    }
    return NULL;
}

smq_delivery *in_flight_add(struct owned_slot *slot, const struct store_claimed *message,
                            const struct in_flight_terms *terms)
{
    struct slot_set *set = slot->set;
    smq_delivery *delivery =
        delivery_new(&set->pool, scheduler_origin(set->scheduler), &slot->run_queue, &set->topic,
                     slot->number, terms->token, message);

    if (delivery == NULL) {
        in_flight_report_unreadable(slot);
        return NULL;
    }
    delivery->leased_ms = terms->asked_ms + terms->lease_ms - set->topic.lease_ms;
    delivery_leased(delivery, terms->asked_ms, terms->lease_ms);
    delivery->claimed_us = terms->now_us;
    in_flight_note_claimed(slot, terms->now_us);
    in_flight_begin(slot, delivery);
    in_flight_event(slot, SMQ_EVENT_CLAIMED, SMQ_OK, delivery, "claimed", NULL);
    return delivery;
}

static void in_flight_count_answered(struct owned_slot *slot, smq_delivery *delivery)
{
    if (delivery->unanswered) {
        delivery->unanswered = false;
        slot->unanswered--;
        budget_answered(&slot->set->budget);
        metric_subtract(&slot->set->core->metrics.in_flight, 1);
    }
}

static void in_flight_answered(struct owned_slot *slot, smq_delivery *delivery)
{
    in_flight_count_answered(slot, delivery);
    STAILQ_INSERT_TAIL(&slot->answers, delivery, link);
    slot->answer_count++;
    slot->requeue_count += delivery_op_is_final(delivery->answer.op) ? 0 : 1;
    owned_slot_may_claim(slot);
}

void in_flight_requeue(struct owned_slot *slot, smq_delivery *delivery)
{
    atomic_store(&delivery->answered, DELIVERY_ANSWERED);
    delivery->answer.op = STORE_RELEASE;
    delivery->unseen = true;
    delivery->held++; /* the answerer's reference */
    scheduler_hold(slot->set->scheduler, &slot->run_queue, delivery);
    in_flight_answered(slot, delivery);
    budget_refund(&slot->set->budget, 1);
}

static void in_flight_requeue_all(struct owned_slot *slot, struct delivery_list *unbegun)
{
    smq_delivery *delivery;

    while ((delivery = STAILQ_FIRST(unbegun)) != NULL) {
        STAILQ_REMOVE_HEAD(unbegun, link);
        in_flight_requeue(slot, delivery);
    }
}

/* The answer requeues the message: in strict fifo no other of its key may overtake it, so those
 * that no handler has begun are requeued as well. */
static void in_flight_recall_held(struct owned_slot *slot, smq_delivery *delivery)
{
    struct delivery_list unbegun = STAILQ_HEAD_INITIALIZER(unbegun);

    if (!delivery_op_is_final(delivery->answer.op)) {
        scheduler_recall_held(slot->set->scheduler, delivery, &unbegun);
        in_flight_requeue_all(slot, &unbegun);
    }
}

void in_flight_add_answer(struct owned_slot *slot, smq_delivery *delivery, int64_t now_us)
{
    struct metrics *metrics = &slot->set->core->metrics;

    delivery->held++;
    in_flight_answered(slot, delivery);
    metrics_handled(metrics, now_us - delivery->claimed_us);
    metrics_waited(metrics, METRICS_WAIT_HANDLER, delivery->begun_us - delivery->claimed_us, 1);
    in_flight_recall_held(slot, delivery);
}

void in_flight_overdue(struct owned_slot *slot, smq_delivery *delivery)
{
    in_flight_event(slot, SMQ_EVENT_OVERDUE, SMQ_LEASE_LOST, delivery, "the handler takes too long",
                    NULL);
    delivery->answer.op = STORE_HUNG;
    in_flight_answered(slot, delivery);
    in_flight_recall_held(slot, delivery);
}

/* Has the application answered it, and not the library? */
static bool in_flight_is_answered(const smq_delivery *delivery)
{
    return !delivery->unanswered && !delivery->unseen && delivery->answer.op != STORE_HUNG;
}

/* Is the message a dead letter, now that its answer is stored? */
static bool in_flight_is_dead(const struct owned_slot *slot, const smq_delivery *delivery)
{
    return delivery->answer.op == STORE_REJECT ||
           (delivery->answer.op == STORE_RETRY &&
            delivery_retries_left(delivery, &slot->set->topic) == 0);
}

/* Redis has looked at the answer; whether it counts is the validity. */
static void in_flight_settled(const struct owned_slot *slot, smq_delivery *delivery)
{
    smq_status validity = delivery_validity(delivery);
    bool stored = !delivery_is_late(validity) && validity != SMQ_UNKNOWN;

    if (in_flight_is_answered(delivery)) {
        hooks_settled(delivery, stored ? SMQ_OK : validity,
                      stored && in_flight_is_dead(slot, delivery));
    }
}

/* Precondition: the scheduler no longer refers to the delivery. */
static void in_flight_forget(struct owned_slot *slot, smq_delivery *delivery)
{
    in_flight_count_answered(slot, delivery);
    TAILQ_REMOVE(&slot->in_flight, delivery, in_flight_link);
    delivery->in_flight = false;
    slot->in_flight_count--;
    budget_end(&slot->set->budget);
    if (slot->in_flight_count == 0) {
        LIST_REMOVE(slot, busy_link);
    }
    delivery_leave_flight(delivery, &slot->set->pool);
}

static void in_flight_remove(struct owned_slot *slot, smq_delivery *delivery)
{
    (void) scheduler_forget(slot->set->scheduler, delivery);
    if (in_flight_is_answered(delivery)) {
        hooks_unsettled(delivery, SMQ_UNKNOWN);
    }
    in_flight_forget(slot, delivery);
}

void in_flight_remove_answered(struct owned_slot *slot, smq_delivery **deliveries, size_t count)
{
    bool told = hooks_tell(slot->set->scheduler);

    scheduler_forget_answered(slot->set->scheduler, deliveries, count);
    for (size_t i = 0; i < count; i++) {
        if (told) {
            in_flight_settled(slot, deliveries[i]);
        }
        in_flight_forget(slot, deliveries[i]);
    }
}

void in_flight_lose(struct owned_slot *slot, smq_delivery *delivery)
{
    bool unbegun;

    delivery_set_validity(delivery, SMQ_LEASE_LOST);
    metric_add(&slot->set->core->metrics.lease_lost, 1);
    in_flight_event(slot, SMQ_EVENT_LEASE_LOST, SMQ_LEASE_LOST, delivery, "its lease is lost",
                    NULL);
    unbegun = scheduler_forget(slot->set->scheduler, delivery);
    delivery_ref(delivery);
    in_flight_remove(slot, delivery);
    if (unbegun) {
        delivery_unref(delivery);
    }
    delivery_unref(delivery);
}

void in_flight_drop(struct owned_slot *slot, smq_status validity)
{
    struct delivery_list unbegun = STAILQ_HEAD_INITIALIZER(unbegun);
    smq_delivery *delivery;

    scheduler_recall(slot->set->scheduler, &slot->run_queue, &unbegun);
    while ((delivery = STAILQ_FIRST(&unbegun)) != NULL) {
        STAILQ_REMOVE_HEAD(&unbegun, link);
        atomic_store(&delivery->answered, DELIVERY_ANSWERED);
        delivery_unref(delivery); /* the answerer's reference */
    }
    STAILQ_INIT(&slot->answers);
    slot->answer_count = slot->requeue_count = 0;
    while ((delivery = TAILQ_FIRST(&slot->in_flight)) != NULL) {
        delivery_set_validity(delivery, validity);
        metric_add(&slot->set->core->metrics.lease_lost, 1);
        in_flight_remove(slot, delivery);
    }
}

void in_flight_abandon_unanswered(struct owned_slot *slot)
{
    smq_delivery *delivery, *next;

    for (delivery = TAILQ_FIRST(&slot->in_flight); delivery != NULL; delivery = next) {
        next = TAILQ_NEXT(delivery, in_flight_link);
        if (delivery->unanswered) {
            metric_add(&slot->set->core->metrics.lease_lost, 1);
            in_flight_event(slot, SMQ_EVENT_LEASE_LOST, SMQ_CLOSED, delivery,
                            "the application did not answer it", NULL);
            in_flight_keep(slot, in_flight_oldest_claim(slot));
            in_flight_remove(slot, delivery);
        }
    }
}

void in_flight_requeue_unbegun(struct owned_slot *slot)
{
    struct delivery_list unbegun = STAILQ_HEAD_INITIALIZER(unbegun);

    scheduler_recall(slot->set->scheduler, &slot->run_queue, &unbegun);
    in_flight_requeue_all(slot, &unbegun);
}

void in_flight_release(struct owned_slot *slot)
{
    smq_delivery *delivery;

    in_flight_requeue_unbegun(slot);
    TAILQ_FOREACH(delivery, &slot->in_flight, in_flight_link)
    {
        delivery_set_validity(delivery, SMQ_CLOSED);
    }
}
