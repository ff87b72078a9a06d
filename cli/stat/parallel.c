/* parallel.c - blocking calls made at once, each on a thread of its own.
 *
 * Thread: as parallel.h says; parallel_work() runs on the threads, too. */
#include "cli/stat/parallel.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

/* Each of them may have some hundreds of requests in flight, which Redis is to bear. */
enum { PARALLEL_MAX = 64 };

struct parallel {
    parallel_fn *run;
    void *user;
    size_t count;
    atomic_size_t next; /* the first index that no thread has taken */
};

static void *parallel_work(void *arg)
{
    struct parallel *parallel = arg;

    for (size_t index = atomic_fetch_add(&parallel->next, 1); index < parallel->count;
         index = atomic_fetch_add(&parallel->next, 1)) {
        parallel->run(index, parallel->user);
    }
    return NULL;
}

/* Starts up to `wanted` threads, which leave the signals to the main thread; gives their number. */
static size_t parallel_start(pthread_t *threads, size_t wanted, struct parallel *parallel)
{
    size_t count = 0;
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    while (count < wanted && pthread_create(&threads[count], NULL, parallel_work, parallel) == 0) {
        count++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return count;
}

/* The calling thread takes part: the work is done even when no other thread can be started. */
void parallel_run(size_t count, parallel_fn *run, void *user)
{
    struct parallel parallel = {.run = run, .user = user, .count = count};
    const size_t wanted = count < PARALLEL_MAX ? count : PARALLEL_MAX;
    pthread_t threads[PARALLEL_MAX];
    const size_t started = parallel_start(threads, wanted > 0 ? wanted - 1 : 0, &parallel);

    (void) parallel_work(&parallel);
    for (size_t i = 0; i < started; i++) {
        (void) pthread_join(threads[i], NULL);
    }
}
