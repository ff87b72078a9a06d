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

/* Invariant: `pending` counts what waiter_wait() still waits for; `open` is posted when it comes to
 * 0, which is the last that the other threads do with it. */
struct waiter {
    atomic_size_t pending;
    sem_t open;
};

void waiter_init(struct waiter *waiter, size_t pending);
void waiter_fini(struct waiter *waiter);

/* One less to wait for.  The waiter may be gone when this returns.  Thread: any. */
void waiter_done(struct waiter *waiter);

/* Wait until nothing is pending; false when `timeout_ms` passed first (SMQ_FOREVER: never). */
bool waiter_wait(struct waiter *waiter, int64_t timeout_ms);

#endif
