/* thread.c - named threads with every signal blocked, and how they wait for a time.
 *
 * Thread: any. */
#include "base/thread.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/status.h"

enum { THREAD_NAME_MAX = 15 }; /* the limit of the kernel */

/* What a new thread needs; owned by it. */
struct thread_begin {
    char name[THREAD_NAME_MAX + 1];
    void *(*run)(void *arg);
    void *arg;
};

static void *thread_main(void *arg)
{
    struct thread_begin begin = *(struct thread_begin *) arg;

    free(arg);
    (void) pthread_setname_np(pthread_self(), begin.name);
    return begin.run(begin.arg);
}

/* A thread inherits the signal mask of its creator, so no signal can interrupt it at any moment. */
static int thread_create_blocked(pthread_t *out, struct thread_begin *begin)
{
    sigset_t all;
    sigset_t before;
    int failed = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(out, NULL, thread_main, begin);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

smq_status thread_start(pthread_t *out, const char *name, void *(*run)(void *arg), void *arg,
                        smq_error *err)
{
    struct thread_begin *begin = memory_new(sizeof(*begin));
    int failed = 0;

    snprintf(begin->name, sizeof(begin->name), "%s", name);
    begin->run = run;
    begin->arg = arg;
    failed = thread_create_blocked(out, begin);
    if (failed != 0) {
        free(begin);
        return status_set(err, SMQ_NO_MEMORY, "cannot start the thread %s: %s", name,
                          strerrordesc_np(failed));
    }
    return SMQ_OK;
}

void thread_cond_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}
