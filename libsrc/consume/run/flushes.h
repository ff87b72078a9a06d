/* flushes.h - the answers of a polled scheduler that are not stored yet, for which a flush waits.
 *
 * Thread: any.  The lock of the scheduler is held, except in flush_init() and flush_fini(). */
#ifndef CONSUME_RUN_FLUSHES_H
#define CONSUME_RUN_FLUSHES_H

#include <pthread.h>

#include "consume/run/delivery.h"

struct flushes {
    struct delivery_in_flight
        tracked; /* answered and not stored yet, in the order of their numbers */
    uint64_t last_number;
    size_t waiting;        /* calls of scheduler_flush() that wait */
    smq_status late;       /* status of the last late answer; UNKNOWN only if no answer was late */
    pthread_cond_t stored; /* on CLOCK_MONOTONIC */
};

void flush_init(struct flushes *flushes);
void flush_fini(struct flushes *flushes);

/* A delivery was answered: flushes wait until the answer is stored.  If the slot has dropped the
 * delivery the answer is too late. */
void flush_track(struct flushes *flushes, smq_delivery *delivery);

/* The answer of a delivery is stored, or never will be (its validity says why): no flush waits for
 * it any more. */
void flush_untrack(struct flushes *flushes, smq_delivery *delivery);

/* An answer was refused with this status. */
void flush_note_refused(struct flushes *flushes, smq_status status);

/* Is an answer up to this number not stored yet? */
bool flush_is_waiting(const struct flushes *flushes, uint64_t number);

/* Returns the status of the last answer that came too late, and forgets it. */
smq_status flush_take_late(struct flushes *flushes);

#endif
