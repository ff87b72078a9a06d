/* flushes.c - the answers of a polled queue that are not stored yet. */
#include "consume/run/flushes.h"

void flush_init(struct flushes *flushes)
{
    pthread_condattr_t attributes;

    TAILQ_INIT(&flushes->tracked);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&flushes->stored, &attributes);
    pthread_condattr_destroy(&attributes);
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
    smq_status standing = delivery_standing(delivery);

    if (delivery->lane == NULL) { /* its slot has dropped it since it was looked at */
        flush_note_refused(flushes, delivery_is_late(standing) ? standing : SMQ_LEASE_LOST);
        return;
    }
    delivery->flush_number = ++flushes->last_number;
    TAILQ_INSERT_TAIL(&flushes->tracked, delivery, flush_link);
}

/* A flush reports what is certain rather than what is not. */
static void flush_note_standing(struct flushes *flushes, smq_status standing)
{
    if (delivery_is_late(standing) ||
        (standing == SMQ_UNKNOWN && !delivery_is_late(flushes->late))) {
        flushes->late = standing;
    }
}

void flush_untrack(struct flushes *flushes, smq_delivery *delivery)
{
    if (delivery->flush_number == 0) {
        return;
    }
    delivery->flush_number = 0;
    TAILQ_REMOVE(&flushes->tracked, delivery, flush_link);
    flush_note_standing(flushes, delivery_standing(delivery));
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
