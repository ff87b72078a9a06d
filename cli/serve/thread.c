/* thread.c - threads of a server. */
#include "thread.h"

#include <signal.h>

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
