/* threads.c - the handler threads of a worker.
 *
 * Thread: as worker.h says. */
#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/thread.h"
#include "consume/worker/worker.h"

static void *worker_run_handlers(void *arg)
{
    scheduler_work(arg);
    return NULL;
}

smq_status worker_add_thread(smq_worker *worker, smq_error *err)
{
    int32_t number = worker->threads_started;
    smq_status status;
    char name[24];

    snprintf(name, sizeof(name), "smq:work-%" PRId32, number);
    status = thread_start(&worker->thread_ids[number], name, worker_run_handlers,
                          worker->set.scheduler, err);
    worker->threads_started += status == SMQ_OK ? 1 : 0;
    return status;
}

smq_status worker_start_threads(smq_worker *worker, smq_error *err)
{
    smq_status status = SMQ_OK;

    if (worker->thread_ids == NULL) {
        worker->thread_ids =
            memory_grow(NULL, (size_t) WORKER_THREADS_MOST(worker), sizeof(*worker->thread_ids));
    }
    while (worker->threads_started < worker->threads && status == SMQ_OK) {
        status = worker_add_thread(worker, err);
    }
    return status;
}
