/* signals.c - SIGTERM, SIGINT and SIGHUP stop a worker gracefully. */
#include "signals.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static _Atomic(smq_worker *) watched;
static volatile sig_atomic_t came;

static void on_signal(int number)
{
    smq_worker *worker = atomic_load(&watched);

    (void) number;
    came = 1;
    smq_worker_stop(worker);
}

void signals_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    action.sa_flags |= SA_RESETHAND; /* the second one has its default action */
    sigaction(SIGINT, &action, NULL);
}

void signals_watch(smq_worker *worker)
{
    atomic_store(&watched, worker);
    if (worker && came) {
        smq_worker_stop(worker);
    }
}

bool signals_came(void)
{
    return came != 0;
}
