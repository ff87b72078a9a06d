/* renewal.c - see renewal.h.
 *
 * Thread: smq:io. */
#include "consume/slot/renewal.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "consume/slot/in_flight.h"
#include "core/coord_link.h"
#include "store/owner.h"

enum { RENEWAL_MAX = SLOT_ROOM_MAX, RENEWALS_PER_LEASE = 6, RENEW_AGAIN_MS = 100 };

/* One call in progress; holds a reference of each delivery. */
struct renewal {
    struct store_call call;
    struct owned_slot *slot;
    uint32_t era;
    int64_t sent_ms, lease_ms;
    struct extension *extension; /* the extension that waits for this call; NULL: none */
    int64_t leased_ms;           /* extension: when the lease was requested before */
    size_t count;
    smq_delivery *deliveries[RENEWAL_MAX];
};

static struct renewal *renewal_new(struct owned_slot *slot, store_done_fn *done, int64_t now_ms)
{
    struct renewal *renewal = memory_new(sizeof(*renewal));

    renewal->slot = slot;
    renewal->era = slot->era;
    renewal->sent_ms = now_ms;
    renewal->lease_ms = slot->set->topic.lease_ms;
    store_call_init(&renewal->call, done, renewal);
    return renewal;
}

static void renewal_free(struct renewal *renewal)
{
    for (size_t i = 0; i < renewal->count; i++) {
        delivery_unref(renewal->deliveries[i]);
    }
    store_call_fini(&renewal->call);
    free(renewal);
}

static struct store_oldest renewal_oldest(const struct owned_slot *slot)
{
    const smq_delivery *delivery = in_flight_oldest_unanswered(slot);
    struct store_oldest oldest = {.owner = slot->set->core->name, .entry = ""};

    if (delivery != NULL) {
        oldest.age_ms = (clock_now_us() - delivery->claimed_us) / 1000;
        oldest.entry = delivery->entry;
        oldest.entry_len = delivery->entry_len;
    }
    return oldest;
}

static void renewal_send(struct renewal *renewal)
{
    struct owned_slot *slot = renewal->slot;
    struct slot_set *set = slot->set;
    struct store_oldest oldest = renewal_oldest(slot);
    struct store_slot target;

    store_slot_fill(&target, &set->topic, slot->number);
    store_renew_begin(&renewal->call, &target, slot->token, renewal->lease_ms, &oldest);
    for (size_t i = 0; i < renewal->count; i++) {
        delivery_ref(renewal->deliveries[i]);
        store_renew_add(&renewal->call, renewal->deliveries[i]->entry,
                        renewal->deliveries[i]->entry_len);
    }
    owned_slot_call_begin(slot);
    store_renew(&renewal->call, set->core->redis, set->core->request_timeout_ms);
}

static void renewal_lose(struct renewal *renewal, smq_delivery *delivery)
{
    if (renewal->era == renewal->slot->era && delivery->in_flight &&
        !atomic_load(&delivery->answered)) {
        in_flight_lose(renewal->slot, delivery);
    }
}

/* The call is of a former era, or changed nothing. */
static void renewal_refused(struct renewal *renewal, const struct store_result *result)
{
    struct owned_slot *slot = renewal->slot;

    if (renewal->era == slot->era) {
        slot->set->ended(slot, SLOT_CALL_RENEWAL, false, result);
    } else if (result->outcome == STORE_FENCED) {
        owned_slot_report_fenced(slot);
    }
}

/* The end of an entry from the loop. */
static void renewal_end(struct renewal *renewal)
{
    struct owned_slot *slot = renewal->slot;
    struct slot_set *set = slot->set;

    renewal_free(renewal);
    owned_slot_call_end(slot);
    slot_set_turn(set);
}

/* --- periodic renewals --- */

/* The threads check the confirmation of the queue again, and ask once more if it is already too
 * old. */
static void renewal_queue_confirmed(struct owned_slot *slot, int64_t asked_ms)
{
    if (!slot->set->shared) {
        run_queue_confirm(&slot->run_queue, asked_ms);
    }
    if (slot->unconfirmed) {
        slot->unconfirmed = false;
        scheduler_set_confirmed(slot->set->scheduler, &slot->run_queue);
    }
}

void renewal_confirmed(struct owned_slot *slot, int64_t asked_ms)
{
    if (!slot->set->shared) {
        renewal_queue_confirmed(slot, asked_ms);
    }
}

static void renewal_in(struct slot_set *set, uint64_t ms);

/* A renewal for which handlers wait has failed: check all leases again soon. */
static void renewal_again(struct slot_set *set)
{
    if (uv_timer_get_due_in(&set->renewal) > RENEW_AGAIN_MS) {
        renewal_in(set, RENEW_AGAIN_MS);
    }
}

/* Keeps the later end if the application has extended the lease in the meantime. */
static void renewal_note_lease(smq_delivery *delivery, int64_t leased_ms)
{
    if (leased_ms > delivery->leased_ms) {
        delivery->leased_ms = leased_ms;
    }
}

static void renewal_on_renewed(struct store_call *call, const struct store_result *result)
{
    struct renewal *renewal = call->user;
    struct owned_slot *slot = renewal->slot;
    const char *results;

    if (renewal->era == slot->era) {
        slot->renewing = false;
    }
    if (renewal->era != slot->era || result->outcome != STORE_OK ||
        !store_renew_read(&results, result, renewal->count)) {
        renewal_refused(renewal, result);
        if (slot->unconfirmed) {
            renewal_again(slot->set);
        }
        renewal_end(renewal);
        return;
    }
    for (size_t i = 0; i < renewal->count; i++) {
        if (results[i] == '1') {
            delivery_leased(renewal->deliveries[i], renewal->sent_ms, renewal->lease_ms);
            renewal_note_lease(renewal->deliveries[i],
                               renewal->sent_ms + renewal->lease_ms - slot->set->topic.lease_ms);
        } else {
            renewal_lose(renewal, renewal->deliveries[i]);
        }
    }
    renewal_queue_confirmed(slot, renewal->sent_ms);
    slot_set_changed(slot);
    renewal_end(renewal);
}

static bool renewal_is_due(const struct owned_slot *slot, const smq_delivery *delivery,
                           int64_t now_ms)
{
    return delivery->unanswered && !atomic_load(&delivery->answered) &&
           (slot->unconfirmed ||
            now_ms - delivery->leased_ms >= slot->set->topic.lease_ms / RENEWALS_PER_LEASE);
}

static void renewal_run(struct owned_slot *slot, int64_t now_ms)
{
    struct renewal *renewal = NULL;
    smq_delivery *delivery;

    if (slot->renewing) {
        return;
    }
    TAILQ_FOREACH(delivery, &slot->in_flight, in_flight_link)
    {
        if (!renewal_is_due(slot, delivery, now_ms)) {
            continue;
        }
        if (renewal == NULL) {
            renewal = renewal_new(slot, renewal_on_renewed, now_ms);
        }
        renewal->deliveries[renewal->count++] = delivery;
        if (renewal->count == RENEWAL_MAX) {
            break; /* a slot never has more unanswered deliveries */
        }
    }
    if (renewal != NULL) {
        slot->renewing = true;
        renewal_send(renewal);
    }
}

/* Tell the metrics which delivery of the topic has had no answer for longest. */
static void renewal_show_oldest(const struct slot_set *set)
{
    const struct owned_slot *slot;
    int64_t oldest_us = 0;

    LIST_FOREACH(slot, &set->busy, busy_link)
    {
        const smq_delivery *delivery = in_flight_oldest_unanswered(slot);

        if (delivery != NULL && (oldest_us == 0 || delivery->claimed_us < oldest_us)) {
            oldest_us = delivery->claimed_us;
        }
    }
    topic_numbers_set_oldest(&set->core->topic_numbers, set->name, oldest_us);
}

static void renewal_on_timer(uv_timer_t *timer)
{
    struct slot_set *set = timer->data;
    int64_t now = clock_now_ms();
    struct owned_slot *slot;

    LIST_FOREACH(slot, &set->busy, busy_link)
    {
        renewal_run(slot, now);
    }
    renewal_show_oldest(set);
}

static void renewal_in(struct slot_set *set, uint64_t ms)
{
    uint64_t period = (uint64_t) set->topic.lease_ms / RENEWALS_PER_LEASE;

    uv_timer_start(&set->renewal, renewal_on_timer, ms, period);
}

void renewal_soon(struct slot_set *set)
{
    renewal_in(set, 0);
}

void renewal_stop(struct slot_set *set)
{
    uv_timer_stop(&set->renewal);
    topic_numbers_set_oldest(&set->core->topic_numbers, set->name, 0);
}

void renewal_adjust(struct slot_set *set, int64_t lease_ms)
{
    int64_t shift = lease_ms - set->topic.lease_ms;
    struct owned_slot *slot;
    smq_delivery *delivery;

    LIST_FOREACH(slot, &set->busy, busy_link)
    {
        TAILQ_FOREACH(delivery, &slot->in_flight, in_flight_link)
        {
            delivery->leased_ms += shift;
        }
    }
}

void renewal_confirm(struct owned_slot *slot)
{
    int64_t now_ms = clock_now_ms();
    bool over = !slot->set->shared && !coord_link_may_claim(slot->set->core->link);

    if (slot->state != OWNED_ACTIVE || over) {
        in_flight_requeue_unbegun(slot);
        slot_set_changed(slot);
        return;
    }
    slot->unconfirmed = true;
    renewal_run(slot, now_ms);
}

/* --- extensions --- */

/* The result of an extension.  A delivery that was lost in the meantime stays lost, whatever the
 * result of the call. */
static smq_status renewal_extended(struct renewal *renewal, const struct store_result *result,
                                   const char **text)
{
    smq_delivery *delivery = renewal->deliveries[0];
    const char *results = "";
    smq_status validity;

    *text = result->text;
    if (result->outcome == STORE_OK && store_renew_read(&results, result, 1)) {
        if (results[0] != '1') {
            renewal_lose(renewal, delivery);
            *text = "the lease of this message has ended";
            return SMQ_LEASE_LOST;
        }
        delivery_leased(delivery, renewal->sent_ms, renewal->lease_ms);
    } else {
        renewal_refused(renewal, result);
        delivery->leased_ms = renewal->leased_ms;
    }
    validity = delivery_validity(delivery);
    if (validity == SMQ_FENCED || validity == SMQ_LEASE_LOST) {
        *text = "another consumer has the message";
        return validity;
    }
    if (result->outcome == STORE_OK) {
        return results[0] == '1' ? SMQ_OK : SMQ_UNKNOWN;
    }
    return result->outcome == STORE_STALE ? SMQ_UNAVAILABLE : result->status;
}

static void renewal_on_extended(struct store_call *call, const struct store_result *result)
{
    struct renewal *renewal = call->user;
    const char *text;
    smq_status status = renewal_extended(renewal, result, &text);

    extension_end(renewal->extension, status, text);
    renewal_end(renewal);
}

void renewal_extend(struct owned_slot *slot, struct extension *extension)
{
    struct renewal *renewal = renewal_new(slot, renewal_on_extended, clock_now_ms());
    smq_delivery *delivery = extension->delivery;

    renewal->extension = extension;
    renewal->leased_ms = delivery->leased_ms;
    renewal->deliveries[renewal->count++] = delivery;
    if (extension->lease_ms > renewal->lease_ms) {
        renewal->lease_ms = extension->lease_ms;
    }
    /* as if requested later, so that no renewal shortens it */
    delivery->leased_ms = renewal->sent_ms + renewal->lease_ms - slot->set->topic.lease_ms;
    renewal_send(renewal);
}
