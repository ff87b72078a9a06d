/* flushes.c - the answers of a polled scheduler that are not stored yet. */
#include "consume/run/flushes.h"

#include "base/thread.h"

void flush_init(struct flushes *flushes)
{
    TAILQ_INIT(&flushes->tracked);
    thread_cond_init(&flushes->stored);
}

void flush_fini(struct flushes *flushes)
{
    pthread_cond_destroy(&flushes->stored);
}

void flush_note_refused(struct flushes *flushes, smq_status status)
{
    flushes->late = status;
}

void flush_track(struct flushes *flushes, smq_delivery *delivery)
{
    smq_status validity = delivery_validity(delivery);

    if (delivery->queue == NULL) { /* its slot has dropped it in the meantime */
        flush_note_refused(flushes, delivery_is_late(validity) ? validity : SMQ_LEASE_LOST);
        return;
    }
    delivery->flush_number = ++flushes->last_number;
    TAILQ_INSERT_TAIL(&flushes->tracked, delivery, flush_link);
}

/* An answer that certainly came too late outranks one whose outcome is unknown. */
static void flush_note_validity(struct flushes *flushes, smq_status validity)
{
    if (delivery_is_late(validity) ||
        (validity == SMQ_UNKNOWN && !delivery_is_late(flushes->late))) {
        flushes->late = validity;
    }
}

void flush_untrack(struct flushes *flushes, smq_delivery *delivery)
{
    if (delivery->flush_number == 0) {
        return;
    }
    delivery->flush_number = 0;
    TAILQ_REMOVE(&flushes->tracked, delivery, flush_link);
    flush_note_validity(flushes, delivery_validity(delivery));
    pthread_cond_broadcast(&flushes->stored);
}

bool flush_is_waiting(const struct flushes *flushes, uint64_t number)
{
    const smq_delivery *first = TAILQ_FIRST(&flushes->tracked);

    return first != NULL && first->flush_number <= number;
}

smq_status flush_take_late(struct flushes *flushes)
{
    smq_status late = flushes->late;

    flushes->late = SMQ_OK;
    return late;
}
