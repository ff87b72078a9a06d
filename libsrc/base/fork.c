/* fork.c - see fork.h.
 *
 * Thread: any. */
#include "base/fork.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static atomic_uint fork_number;

static void fork_on_child(void)
{
    atomic_fetch_add_explicit(&fork_number, 1, memory_order_relaxed);
}

/* It fails for want of memory alone, which ends the process everywhere: see base/memory.h. */
static void fork_watch(void)
{
    if (pthread_atfork(NULL, NULL, fork_on_child) != 0) {
        abort();
    }
}

unsigned fork_count(void)
{
    (void) pthread_once(&fork_once, fork_watch);
    return atomic_load_explicit(&fork_number, memory_order_relaxed);
}
