/* signals.c - SIGTERM, SIGINT and SIGHUP end what the command does gracefully. */
#include "cli/text/signals.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static _Atomic(smq_consumer *const *) watched;
static atomic_int came; /* the number of the last one; 0: none.  Threads of a consumer ask, too */

static void signals_stop(smq_consumer *const *consumers)
{
    for (; consumers && *consumers; consumers++) {
        smq_consumer_stop(*consumers);
    }
}

static void signals_on_signal(int number)
{
    /* in this order, which meets that of signals_watch() */
    atomic_store(&came, number);
    signals_stop(atomic_load(&watched));
}

/* A signal that was ignored when the command began stays ignored: nohup and shells want that. */
static void signals_catch_one(int number, const struct sigaction *action)
{
    struct sigaction before;

    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
        sigaction(number, action, NULL);
    }
}

void signals_catch(void)
{
    struct sigaction action = {.sa_handler = signals_on_signal, .sa_flags = SA_RESTART};

    sigemptyset(&action.sa_mask);
    signals_catch_one(SIGTERM, &action);
    signals_catch_one(SIGHUP, &action);
    action.sa_flags |= SA_RESETHAND; /* the second one has its default action */
    signals_catch_one(SIGINT, &action);
}

void signals_watch(smq_consumer *const *consumers)
{
    atomic_store(&watched, consumers);
    if (signals_came()) {
        signals_stop(consumers);
    }
}

bool signals_came(void)
{
    return atomic_load(&came) != 0;
}

bool signals_await_input(int fd, int64_t ms)
{
    struct pollfd input = {.fd = fd, .events = POLLIN};
    const struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    sigset_t all, before;
    bool ready = false;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    if (!signals_came()) {
        ready = ppoll(&input, 1, ms < 0 ? NULL : &left, &before) > 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ready;
}

void signals_end_process(void)
{
    const int number = atomic_load(&came);
    sigset_t set;

    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    (void) raise(number);
    exit(128 + number);
}
