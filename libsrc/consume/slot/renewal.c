/* renewal.c - leases of what a slot has in flight: a lease is asked for again before a third of it
 * is over, for longer when somebody wants that, and at once when handlers wait to know whether the
 * slot is still ours (confirmation.h).
 *
 * Thread: smq:io. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "consume/slot/owned_slot.h"
#include "consume/worker/worker.h"
#include "core/coord_link.h"

enum { RENEWAL_MAX = 1000 };

/* One call on its way; holds a reference of each delivery. */
struct renewal {
    struct store_call call;
    struct owned_slot *slot;
    uint32_t era;
    int64_t sent_ms, lease_ms;
    struct extension *extension; /* waits for it; NULL: nobody does */
    int64_t leased_ms;           /* extension: when its lease was asked for before */
    size_t count;
    smq_delivery *deliveries[RENEWAL_MAX];
};

static struct renewal *renewal_new(struct owned_slot *slot, store_done_fn *done, int64_t now_ms)
{
    struct renewal *renewal = memory_new(sizeof(*renewal));

    renewal->slot = slot;
    renewal->era = slot->era;
    renewal->sent_ms = now_ms;
    renewal->lease_ms = slot->worker->topic.lease_ms;
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

static void renewal_send(struct renewal *renewal)
{
    struct owned_slot *slot = renewal->slot;
    smq_worker *worker = slot->worker;
    struct store_slot target;

    store_slot_fill(&target, &worker->topic, slot->number);
    store_renew_begin(&renewal->call, &target, slot->token, renewal->lease_ms);
    for (size_t i = 0; i < renewal->count; i++) {
        delivery_ref(renewal->deliveries[i]);
        store_renew_add(&renewal->call, renewal->deliveries[i]->entry,
                        renewal->deliveries[i]->entry_len);
    }
    owned_slot_call_begin(slot);
    store_renew(&renewal->call, worker->core->redis, worker->core->request_timeout_ms);
}

static void lose(struct renewal *renewal, smq_delivery *delivery)
{
    if (renewal->era == renewal->slot->era && delivery->in_flight &&
        !atomic_load(&delivery->answered)) {
        in_flight_lose(renewal->slot, delivery);
    }
}

/* The call was of a former era, or changed nothing. */
static void refused(struct renewal *renewal, const struct store_result *result)
{
    struct owned_slot *slot = renewal->slot;
    bool current = renewal->era == slot->era;

    if (result->outcome == STORE_FENCED && current) {
        owned_slot_fenced(slot, result);
    } else if (result->outcome == STORE_FENCED) {
        owned_slot_tell_fenced(slot);
    } else if (current && (result->outcome == STORE_STALE || result->outcome == STORE_NO_TOPIC)) {
        worker_refresh(slot->worker);
    } /* else the next round comes before the lease ends */
}

static void on_ended(struct renewal *renewal)
{
    struct owned_slot *slot = renewal->slot;
    smq_worker *worker = slot->worker;

    renewal_free(renewal);
    worker_feed(worker);
    owned_slot_call_end(slot);
}

/* --- of its own accord --- */

/* In the lane a thread judges again; if that is not enough it will ask again. */
static void confirm(struct owned_slot *slot, int64_t asked_ms)
{
    if (!slot->worker->shared) {
        run_lane_confirm(&slot->lane, asked_ms);
    }
    if (slot->doubted) {
        slot->doubted = false;
        run_queue_trust(slot->worker->queue, &slot->lane);
    }
}

void renewal_confirmed(struct owned_slot *slot, int64_t asked_ms)
{
    if (!slot->worker->shared) {
        confirm(slot, asked_ms);
    }
}

/* An extension that was asked for meanwhile reaches farther. */
static void note_lease(smq_delivery *delivery, int64_t leased_ms)
{
    if (leased_ms > delivery->leased_ms) {
        delivery->leased_ms = leased_ms;
    }
}

static void on_renewed(struct store_call *call, const struct store_result *result)
{
    struct renewal *renewal = call->user;
    struct owned_slot *slot = renewal->slot;
    const char *results;

    if (renewal->era == slot->era) {
        slot->renewing = false;
    }
    if (renewal->era != slot->era || result->outcome != STORE_OK ||
        !store_renew_read(&results, result, renewal->count)) {
        refused(renewal, result);
        if (slot->doubted) {
            worker_renew_again(slot->worker);
        }
        on_ended(renewal);
        return;
    }
    for (size_t i = 0; i < renewal->count; i++) {
        if (results[i] == '1') {
            delivery_leased(renewal->deliveries[i], renewal->sent_ms, renewal->lease_ms);
            note_lease(renewal->deliveries[i],
                       renewal->sent_ms + renewal->lease_ms - slot->worker->topic.lease_ms);
        } else {
            lose(renewal, renewal->deliveries[i]);
        }
    }
    confirm(slot, renewal->sent_ms);
    owned_slot_pump(slot);
    on_ended(renewal);
}

static bool is_due(const struct owned_slot *slot, const smq_delivery *delivery, int64_t now_ms)
{
    return delivery->unanswered && !atomic_load(&delivery->answered) &&
           (slot->doubted || now_ms - delivery->leased_ms >= slot->worker->topic.lease_ms / 6);
}

void renewal_run(struct owned_slot *slot, int64_t now_ms)
{
    struct renewal *renewal = NULL;
    smq_delivery *delivery;

    if (slot->renewing) {
        return;
    }
    TAILQ_FOREACH(delivery, &slot->in_flight, in_flight_link)
    {
        if (!is_due(slot, delivery, now_ms)) {
            continue;
        }
        if (renewal == NULL) {
            renewal = renewal_new(slot, on_renewed, now_ms);
        }
        renewal->deliveries[renewal->count++] = delivery;
        if (renewal->count == RENEWAL_MAX) {
            break; /* a slot has no more than that unanswered */
        }
    }
    if (renewal != NULL) {
        slot->renewing = true;
        renewal_send(renewal);
    }
}

void renewal_confirm(struct owned_slot *slot)
{
    int64_t now_ms = clock_now_ms();
    bool over = !slot->worker->shared && !coord_link_may_claim(slot->worker->core->link);

    if (slot->state != OWNED_ACTIVE || over) {
        in_flight_give_back_unbegun(slot);
        owned_slot_pump(slot);
        return;
    }
    slot->doubted = true;
    renewal_run(slot, now_ms);
}

/* --- for somebody who waits --- */

/* What to tell; a delivery that was lost meanwhile stays so, whatever became of the call. */
static smq_status extended(struct renewal *renewal, const struct store_result *result,
                           const char **text)
{
    smq_delivery *delivery = renewal->deliveries[0];
    const char *results = "";
    smq_status standing;

    *text = result->text;
    if (result->outcome == STORE_OK && store_renew_read(&results, result, 1)) {
        if (results[0] != '1') {
            lose(renewal, delivery);
            *text = "the lease of this message is over";
            return SMQ_LEASE_LOST;
        }
        delivery_leased(delivery, renewal->sent_ms, renewal->lease_ms);
    } else {
        refused(renewal, result);
        delivery->leased_ms = renewal->leased_ms;
    }
    standing = delivery_standing(delivery);
    if (standing == SMQ_FENCED || standing == SMQ_LEASE_LOST) {
        *text = "the message is with somebody else";
        return standing;
    }
    if (result->outcome == STORE_OK) {
        return results[0] == '1' ? SMQ_OK : SMQ_UNKNOWN;
    }
    return result->outcome == STORE_STALE ? SMQ_UNAVAILABLE : result->status;
}

static void on_extended(struct store_call *call, const struct store_result *result)
{
    struct renewal *renewal = call->user;
    const char *text;
    smq_status status = extended(renewal, result, &text);

    extension_end(renewal->extension, status, text);
    on_ended(renewal);
}

void renewal_extend(struct owned_slot *slot, struct extension *extension)
{
    struct renewal *renewal = renewal_new(slot, on_extended, clock_now_ms());
    smq_delivery *delivery = extension->delivery;

    renewal->extension = extension;
    renewal->leased_ms = delivery->leased_ms;
    renewal->deliveries[renewal->count++] = delivery;
    if (extension->lease_ms > renewal->lease_ms) {
        renewal->lease_ms = extension->lease_ms;
    }
    /* as if asked for later, so that no renewal shortens it */
    delivery->leased_ms = renewal->sent_ms + renewal->lease_ms - slot->worker->topic.lease_ms;
    renewal_send(renewal);
}
