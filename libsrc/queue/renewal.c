/* renewal.c - leases of what a strand has in hand: a lease is asked for again before a third of it
 * is over.
 *
 * Thread: smq:io. */
#include <stdlib.h>

#include "base/memory.h"
#include "queue/strand.h"
#include "queue/worker.h"

enum { RENEWAL_MAX = 1000 };

/* One call on its way; holds a reference of each delivery. */
struct renewal {
    struct store_call call;
    struct strand *strand;
    uint32_t era;
    int64_t sent_ms;
    size_t count;
    smq_delivery *deliveries[RENEWAL_MAX];
};

static void renewal_free(struct renewal *renewal)
{
    for (size_t i = 0; i < renewal->count; i++) {
        delivery_unref(renewal->deliveries[i]);
    }
    store_call_fini(&renewal->call);
    free(renewal);
}

static void renewed(struct renewal *renewal, const char *results)
{
    for (size_t i = 0; i < renewal->count; i++) {
        smq_delivery *delivery = renewal->deliveries[i];

        if (results[i] == '1') {
            delivery->leased_ms = renewal->sent_ms;
        } else if (delivery->in_hand && !atomic_load(&delivery->answered)) {
            hand_lose(renewal->strand, delivery);
        }
    }
}

static void take(struct renewal *renewal, const struct store_result *result)
{
    struct strand *strand = renewal->strand;
    const char *results;

    strand->renewing = false;
    if (result->outcome == STORE_FENCED) {
        strand_fenced(strand, result);
    } else if (result->outcome == STORE_OK && store_renew_read(&results, result, renewal->count)) {
        renewed(renewal, results);
        strand_pump(strand);
    } else if (result->outcome == STORE_STALE || result->outcome == STORE_NO_TOPIC) {
        worker_refresh(strand->worker);
    } /* else the next round comes before the lease ends */
}

static void on_renewed(struct store_call *call, const struct store_result *result)
{
    struct renewal *renewal = call->user;
    struct strand *strand = renewal->strand;
    smq_worker *worker = strand->worker;

    if (renewal->era == strand->era) {
        take(renewal, result);
    } else if (result->outcome == STORE_FENCED) {
        strand_tell_fenced(strand);
    }
    renewal_free(renewal);
    worker_feed(worker);
    strand_call_end(strand);
}

static bool is_due(const smq_delivery *delivery, int64_t now_ms, int64_t lease_ms)
{
    return delivery->unanswered && !atomic_load(&delivery->answered) &&
           now_ms - delivery->leased_ms >= lease_ms / 6;
}

static void renewal_send(struct strand *strand, struct renewal *renewal)
{
    smq_worker *worker = strand->worker;
    struct store_slot slot;

    store_slot_fill(&slot, &worker->topic, strand->slot);
    store_renew_begin(&renewal->call, &slot, strand->token, worker->topic.lease_ms);
    for (size_t i = 0; i < renewal->count; i++) {
        delivery_ref(renewal->deliveries[i]);
        store_renew_add(&renewal->call, renewal->deliveries[i]->entry,
                        renewal->deliveries[i]->entry_len);
    }
    strand->renewing = true;
    strand_call_begin(strand);
    store_renew(&renewal->call, worker->hub->redis, worker->hub->request_timeout_ms);
}

void renewal_run(struct strand *strand, int64_t now_ms)
{
    int64_t lease_ms = strand->worker->topic.lease_ms;
    struct renewal *renewal = NULL;
    smq_delivery *delivery;

    if (strand->renewing) {
        return;
    }
    TAILQ_FOREACH(delivery, &strand->hand, in_hand_link)
    {
        if (!is_due(delivery, now_ms, lease_ms)) {
            continue;
        }
        if (renewal == NULL) {
            renewal = memory_new(sizeof(*renewal));
            renewal->strand = strand;
            renewal->era = strand->era;
            renewal->sent_ms = now_ms;
            store_call_init(&renewal->call, on_renewed, renewal);
        }
        renewal->deliveries[renewal->count++] = delivery;
        if (renewal->count == RENEWAL_MAX) {
            break; /* a strand has no more than that unanswered */
        }
    }
    if (renewal != NULL) {
        renewal_send(strand, renewal);
    }
}
