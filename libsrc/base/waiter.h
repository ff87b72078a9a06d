/* waiter.h - how a blocking call waits for another thread.
 *
 * Thread: as each function says. */
#ifndef BASE_WAITER_H
#define BASE_WAITER_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Invariant: `pending` counts the events that waiter_wait() still waits for.  `open` is posted when
 * it reaches 0; the other threads do not use the waiter after that. */
struct waiter {
    atomic_size_t pending;
    sem_t open;
};

void waiter_init(struct waiter *waiter, size_t pending);
void waiter_fini(struct waiter *waiter);

/* One of the events has happened.  The waiter may not exist any more when this returns.  Thread:
 * any. */
void waiter_done(struct waiter *waiter);

/* Wait until no event is pending; false: `timeout_ms` has passed (SMQ_FOREVER: wait without a
 * limit). */
bool waiter_wait(struct waiter *waiter, int64_t timeout_ms);

#endif
