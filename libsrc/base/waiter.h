/* waiter.h - how a blocking call waits for another thread.
 *
 * Thread: as each function says. */
#ifndef BASE_WAITER_H
#define BASE_WAITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Invariant: `pending` counts what waiter_wait() still waits for. */
struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* on CLOCK_MONOTONIC */
    size_t pending;
};

void waiter_init(struct waiter *waiter, size_t pending);
void waiter_fini(struct waiter *waiter);

/* One less to wait for.  The waiter may be gone when this returns.  Thread: any. */
void waiter_done(struct waiter *waiter);

/* Wait until nothing is pending; false when `timeout_ms` passed first (SMQ_FOREVER: never). */
bool waiter_wait(struct waiter *waiter, int64_t timeout_ms);

#endif
