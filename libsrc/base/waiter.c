/* waiter.c - how a blocking call waits for another thread.
 *
 * Thread: as each function of waiter.h says. */
#include "base/waiter.h"

#include <assert.h>
#include <errno.h>

#include "base/clock.h"

void waiter_init(struct waiter *waiter, size_t pending)
{
    atomic_init(&waiter->pending, pending);
    (void) sem_init(&waiter->open, 0, pending == 0 ? 1 : 0);
}

void waiter_fini(struct waiter *waiter)
{
    (void) sem_destroy(&waiter->open);
}

void waiter_done(struct waiter *waiter)
{
    size_t pending = atomic_fetch_sub(&waiter->pending, 1);

    assert(pending > 0);
    if (pending == 1) {
        (void) sem_post(&waiter->open);
    }
}

bool waiter_wait(struct waiter *waiter, int64_t timeout_ms)
{
    struct timespec deadline = clock_deadline(timeout_ms);
    int failed;

    do {
        failed = timeout_ms < 0 ? sem_wait(&waiter->open)
                                : sem_clockwait(&waiter->open, CLOCK_MONOTONIC, &deadline);
    } while (failed != 0 && errno == EINTR);
    if (failed == 0) {
        (void) sem_post(&waiter->open); /* later waits return at once, too */
    }
    return failed == 0;
}
