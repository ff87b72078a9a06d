/* threads.c - the handler threads of a consumer.
 *
 * Thread: as consumer.h says. */
#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/thread.h"
#include "consume/consumer/consumer.h"

static void *consumer_run_handlers(void *arg)
{
    scheduler_work(arg);
    return NULL;
}

smq_status consumer_add_thread(smq_consumer *consumer, smq_error *err)
{
    int32_t number = consumer->threads_started;
    smq_status status;
    char name[24];

    snprintf(name, sizeof(name), "smq:work-%" PRId32, number);
    status = thread_start(&consumer->thread_ids[number], name, consumer_run_handlers,
                          consumer->set.scheduler, err);
    consumer->threads_started += status == SMQ_OK ? 1 : 0;
    return status;
}

smq_status consumer_start_threads(smq_consumer *consumer, smq_error *err)
{
    smq_status status = SMQ_OK;

    if (consumer->thread_ids == NULL) {
        consumer->thread_ids = memory_grow(NULL, (size_t) CONSUMER_THREADS_MOST(consumer),
                                           sizeof(*consumer->thread_ids));
    }
    while (consumer->threads_started < consumer->threads && status == SMQ_OK) {
        status = consumer_add_thread(consumer, err);
    }
    return status;
}
