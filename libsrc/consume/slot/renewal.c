/* renewal.c - leases of what a strand has in hand: a lease is asked for again before a third of it
 * is over, for longer when somebody wants that, and at once when handlers wait to know whether the
 * slot is still ours (confirmation.h).
 *
 * Thread: smq:io. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "consume/slot/slot.h"
#include "consume/worker/worker.h"
#include "core/coord_link.h"

enum { RENEWAL_MAX = 1000 };

/* One call on its way; holds a reference of each delivery. */
struct renewal {
    struct store_call call;
    struct strand *strand;
    uint32_t era;
    int64_t sent_ms, lease_ms;
    struct extension *extension; /* waits for it; NULL: nobody does */
    int64_t leased_ms;           /* extension: when its lease was asked for before */
    size_t count;
    smq_delivery *deliveries[RENEWAL_MAX];
};

static struct renewal *renewal_new(struct strand *strand, store_done_fn *done, int64_t now_ms)
{
    struct renewal *renewal = memory_new(sizeof(*renewal));

    renewal->strand = strand;
    renewal->era = strand->era;
    renewal->sent_ms = now_ms;
    renewal->lease_ms = strand->worker->topic.lease_ms;
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
    struct strand *strand = renewal->strand;
    smq_worker *worker = strand->worker;
    struct store_slot slot;

    store_slot_fill(&slot, &worker->topic, strand->slot);
    store_renew_begin(&renewal->call, &slot, strand->token, renewal->lease_ms);
    for (size_t i = 0; i < renewal->count; i++) {
        delivery_ref(renewal->deliveries[i]);
        store_renew_add(&renewal->call, renewal->deliveries[i]->entry,
                        renewal->deliveries[i]->entry_len);
    }
    strand_call_begin(strand);
    store_renew(&renewal->call, worker->hub->redis, worker->hub->request_timeout_ms);
}

static void lose(struct renewal *renewal, smq_delivery *delivery)
{
    if (renewal->era == renewal->strand->era && delivery->in_hand &&
        !atomic_load(&delivery->answered)) {
        hand_lose(renewal->strand, delivery);
    }
}

/* The call was of a former era, or changed nothing. */
static void refused(struct renewal *renewal, const struct store_result *result)
{
    struct strand *strand = renewal->strand;
    bool current = renewal->era == strand->era;

    if (result->outcome == STORE_FENCED && current) {
        strand_fenced(strand, result);
    } else if (result->outcome == STORE_FENCED) {
        strand_tell_fenced(strand);
    } else if (current && (result->outcome == STORE_STALE || result->outcome == STORE_NO_TOPIC)) {
        worker_refresh(strand->worker);
    } /* else the next round comes before the lease ends */
}

static void on_ended(struct renewal *renewal)
{
    struct strand *strand = renewal->strand;
    smq_worker *worker = strand->worker;

    renewal_free(renewal);
    worker_feed(worker);
    strand_call_end(strand);
}

/* --- of its own accord --- */

/* In the lane a thread judges again; if that is not enough it will ask again. */
static void confirm(struct strand *strand, int64_t asked_ms)
{
    if (!strand->worker->shared) {
        run_lane_confirm(&strand->lane, asked_ms);
    }
    if (strand->doubted) {
        strand->doubted = false;
        run_queue_trust(strand->worker->queue, &strand->lane);
    }
}

void renewal_confirmed(struct strand *strand, int64_t asked_ms)
{
    if (!strand->worker->shared) {
        confirm(strand, asked_ms);
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
    struct strand *strand = renewal->strand;
    const char *results;

    if (renewal->era == strand->era) {
        strand->renewing = false;
    }
    if (renewal->era != strand->era || result->outcome != STORE_OK ||
        !store_renew_read(&results, result, renewal->count)) {
        refused(renewal, result);
        if (strand->doubted) {
            worker_renew_again(strand->worker);
        }
        on_ended(renewal);
        return;
    }
    for (size_t i = 0; i < renewal->count; i++) {
        if (results[i] == '1') {
            delivery_leased(renewal->deliveries[i], renewal->sent_ms, renewal->lease_ms);
            note_lease(renewal->deliveries[i],
                       renewal->sent_ms + renewal->lease_ms - strand->worker->topic.lease_ms);
        } else {
            lose(renewal, renewal->deliveries[i]);
        }
    }
    confirm(strand, renewal->sent_ms);
    strand_pump(strand);
    on_ended(renewal);
}

static bool is_due(const struct strand *strand, const smq_delivery *delivery, int64_t now_ms)
{
    return delivery->unanswered && !atomic_load(&delivery->answered) &&
           (strand->doubted || now_ms - delivery->leased_ms >= strand->worker->topic.lease_ms / 6);
}

void renewal_run(struct strand *strand, int64_t now_ms)
{
    struct renewal *renewal = NULL;
    smq_delivery *delivery;

    if (strand->renewing) {
        return;
    }
    TAILQ_FOREACH(delivery, &strand->hand, in_hand_link)
    {
        if (!is_due(strand, delivery, now_ms)) {
            continue;
        }
        if (renewal == NULL) {
            renewal = renewal_new(strand, on_renewed, now_ms);
        }
        renewal->deliveries[renewal->count++] = delivery;
        if (renewal->count == RENEWAL_MAX) {
            break; /* a strand has no more than that unanswered */
        }
    }
    if (renewal != NULL) {
        strand->renewing = true;
        renewal_send(renewal);
    }
}

void renewal_confirm(struct strand *strand)
{
    int64_t now_ms = clock_now_ms();
    bool over = !strand->worker->shared && !fleet_may_claim(strand->worker->hub->fleet);

    if (strand->state != STRAND_ACTIVE || over) {
        hand_give_back_unbegun(strand);
        strand_pump(strand);
        return;
    }
    strand->doubted = true;
    renewal_run(strand, now_ms);
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

void renewal_extend(struct strand *strand, struct extension *extension)
{
    struct renewal *renewal = renewal_new(strand, on_extended, clock_now_ms());
    smq_delivery *delivery = extension->delivery;

    renewal->extension = extension;
    renewal->leased_ms = delivery->leased_ms;
    renewal->deliveries[renewal->count++] = delivery;
    if (extension->lease_ms > renewal->lease_ms) {
        renewal->lease_ms = extension->lease_ms;
    }
    /* as if asked for later, so that no renewal shortens it */
    delivery->leased_ms = renewal->sent_ms + renewal->lease_ms - strand->worker->topic.lease_ms;
    renewal_send(renewal);
}
