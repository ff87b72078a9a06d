/* waiter.c - how a blocking call waits for another thread.
 *
 * Thread: as each function of waiter.h says. */
#include "base/waiter.h"

#include <assert.h>
#include <errno.h>

#include "base/clock.h"

void waiter_init(struct waiter *waiter, size_t pending)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&waiter->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&waiter->lock, NULL);
    waiter->pending = pending;
}

void waiter_fini(struct waiter *waiter)
{
    pthread_cond_destroy(&waiter->changed);
    pthread_mutex_destroy(&waiter->lock);
}

void waiter_done(struct waiter *waiter)
{
    pthread_mutex_lock(&waiter->lock);
    assert(waiter->pending > 0);
    waiter->pending--;
    if (waiter->pending == 0) {
        pthread_cond_broadcast(&waiter->changed); /* inside: the waiter may be gone outside */
    }
    pthread_mutex_unlock(&waiter->lock);
}

bool waiter_wait(struct waiter *waiter, int64_t timeout_ms)
{
    struct timespec deadline = clock_deadline(timeout_ms);
    int failed = 0;
    bool done = false;

    pthread_mutex_lock(&waiter->lock);
    while (waiter->pending > 0 && failed != ETIMEDOUT) {
        failed = timeout_ms < 0
                     ? pthread_cond_wait(&waiter->changed, &waiter->lock)
                     : pthread_cond_timedwait(&waiter->changed, &waiter->lock, &deadline);
    }
    done = waiter->pending == 0;
    pthread_mutex_unlock(&waiter->lock);
    return done;
}
