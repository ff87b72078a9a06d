/* thread.c - threads of a server. */
#include "cli/http/thread.h"

#include <signal.h>
#include <time.h>

bool thread_begin(pthread_t *out, const char *name, void *(*run)(void *), void *user)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const bool started = pthread_create(out, NULL, run, user) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) {
        (void) pthread_setname_np(*out, name);
    }
    return started;
}

void thread_condition(pthread_cond_t *out)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(out, &monotonic);
    pthread_condattr_destroy(&monotonic);
}
