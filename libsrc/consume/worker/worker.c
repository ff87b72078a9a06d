/* worker.c - making, starting, stopping and freeing a worker; its options.
 *
 * Thread: those of the application. */
#include "consume/worker/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fork.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"

/* --- options --- */

/* A slot has room for two claims, so that one is handled while the next one is in progress; with a
 * batch_size of 1 it has room for one message, so that each claim takes what is first then.  By key
 * a slot has room for as much as all threads can handle at once; a call of `batch` takes a whole
 * claim. */
static void worker_set_room(smq_worker *worker, const smq_worker_options *options)
{
    struct slot_set *set = &worker->set;
    int32_t room = options->batch_size > 1 ? 2 * options->batch_size : 1;

    set->batch_size = options->batch_size;
    set->by_key = options->order == SMQ_ORDER_KEY;
    set->per_slot = worker->polled ? worker->poller.per_slot : 0;
    if (set->by_key && !worker->polled) {
        set->per_slot = options->threads;
        int32_t busy =
            options->batch != NULL ? options->threads * options->batch_size : options->threads;

        room = busy > room ? busy : room;
    }
    set->room = room < SLOT_ROOM_MAX ? room : SLOT_ROOM_MAX;
}

/* The options are complete. */
static smq_status worker_check_and_copy_options(smq_worker *worker,
                                                const smq_worker_options *options, smq_error *err)
{
    smq_status status = topic_check_name(options->topic, err);

    if (status != SMQ_OK) {
        return status;
    }
    if (!worker->polled && (options->handler == NULL) == (options->batch == NULL)) {
        return status_set(
            err, SMQ_INVALID, "the worker of topic %s has %s; give either handler or batch",
            options->topic, options->handler == NULL ? "no handler" : "two kinds of handler");
    }
    snprintf(worker->set.name, sizeof(worker->set.name), "%s", options->topic);
    worker->threads = options->threads;
    worker->handler_timeout_ms = options->handler_timeout_ms;
    worker->set.rate_per_s = options->rate_per_s;
    worker->set.push_slots = options->push_slots;
    pace_init(&worker->set.pace, options->linger_ms);
    worker->set.drain_timeout_ms = options->drain_timeout_ms;
    worker->set.budget.max_messages = options->max_messages;
    worker->set.budget.max_in_flight = options->max_in_flight;
    worker_set_room(worker, options);
    return SMQ_OK;
}

/* --- life --- */

/* Free the memory of a worker that neither smq:io nor another thread uses any more. */
static void worker_destroy(smq_worker *worker)
{
    slot_set_fini(&worker->set);
    if (worker->set.scheduler != NULL) {
        scheduler_unref(worker->set.scheduler);
    }
    pthread_mutex_destroy(&worker->end.lock);
    pthread_cond_destroy(&worker->end.changed);
    core_unref(worker->set.core);
    free(worker->thread_ids);
    free(worker);
}

static struct scheduler *worker_make_scheduler(smq_worker *worker,
                                               const smq_worker_options *options)
{
    struct scheduler_options queue = {.topic = worker->set.name,
                                      .handler = options->handler,
                                      .batch = options->batch,
                                      .dead = options->dead,
                                      .user = options->user,
                                      .by_key = worker->set.by_key,
                                      .turn = worker->set.batch_size,
                                      .timed = worker->handler_timeout_ms > 0,
                                      .threads = worker->threads,
                                      .events = worker->set.core->events,
                                      .io = worker->set.core->io,
                                      .task = &worker->answered,
                                      .extended = &worker->extended};

    if (worker->polled) {
        queue.per_slot = worker->poller.per_slot;
        queue.back = worker->poller.back;
    }
    return scheduler_new(&queue);
}

smq_status worker_new(smq_worker **out, struct core *core, const smq_worker_options *options,
                      const struct worker_poller *poller, smq_error *err)
{
    smq_worker *worker = memory_new(sizeof(*worker));
    smq_status status;

    worker_init_loop(worker, core_ref(core));
    worker->polled = poller != NULL;
    worker->poller = poller != NULL ? *poller : worker->poller;
    worker->forks = fork_count();
    pthread_mutex_init(&worker->end.lock, NULL);
    thread_cond_init(&worker->end.changed);
    status = worker_check_and_copy_options(worker, options, err);
    if (status == SMQ_OK) {
        worker->set.scheduler = worker_make_scheduler(worker, options);
        status = worker_open_topic(worker, err);
    }
    if (status != SMQ_OK) {
        worker_destroy(worker);
        return status;
    }
    *out = worker;
    return SMQ_OK;
}

smq_status worker_start(smq_worker *worker, smq_error *err)
{
    smq_status status = SMQ_OK;

    if (atomic_exchange(&worker->started, true)) {
        return status_set(err, SMQ_INVALID, "the worker of topic %s was started already",
                          worker->set.name);
    }
    if (atomic_load(&worker->stop_asked)) {
        return status_set(err, SMQ_CLOSED, "the worker of topic %s was stopped", worker->set.name);
    }
    status = worker_start_threads(worker, err);
    if (status != SMQ_OK) {
        atomic_store(&worker->started, false);
        return status;
    }
    loop_post(worker->set.core->io, &worker->begin);
    return SMQ_OK;
}

void worker_stop(smq_worker *worker)
{
    if (worker->forks == fork_count()) {
        atomic_store(&worker->stop_asked, true);
        (void) uv_async_send(&worker->stop_signal);
    }
}

/* Wait until *flag, which end.lock guards, is set; false: the time has passed. */
static bool worker_wait_for(smq_worker *worker, const bool *flag, int64_t timeout_ms)
{
    struct timespec at = clock_deadline(timeout_ms);
    int failed = 0;
    bool reached;

    pthread_mutex_lock(&worker->end.lock);
    while (!*flag && failed != ETIMEDOUT) {
        failed = timeout_ms < 0
                     ? pthread_cond_wait(&worker->end.changed, &worker->end.lock)
                     : pthread_cond_timedwait(&worker->end.changed, &worker->end.lock, &at);
    }
    reached = *flag;
    pthread_mutex_unlock(&worker->end.lock);
    return reached;
}

bool worker_wait_end(smq_worker *worker, int64_t timeout_ms)
{
    return worker_wait_for(worker, &worker->end.ended, timeout_ms);
}

smq_status worker_wait(smq_worker *worker, int64_t timeout_ms, smq_error *err)
{
    if (scheduler_inside(worker->set.scheduler)) {
        return status_set(err, SMQ_WRONG_THREAD,
                          "smq_worker_wait() in a handler of the worker would wait for that "
                          "handler");
    }
    if (!atomic_load(&worker->started) && !atomic_load(&worker->stop_asked)) {
        return status_set(err, SMQ_INVALID,
                          "the worker of topic %s was not started: call smq_worker_start() first",
                          worker->set.name);
    }
    if (!worker_wait_end(worker, timeout_ms)) {
        return status_set(err, SMQ_TIMED_OUT, "the worker of topic %s still runs",
                          worker->set.name);
    }
    return worker->end.result.status == SMQ_OK ? SMQ_OK : status_copy(err, &worker->end.result);
}

void worker_free(smq_worker *worker)
{
    if (worker->forks != fork_count()) {
        return; /* a child of fork() has none of the threads; the memory belongs to its parent */
    }
    worker_stop(worker);
    if (scheduler_inside(worker->set.scheduler)) {
        events_log(worker->set.core->events, SMQ_LEVEL_ERROR,
                   "smq_worker_free() in a handler of the worker of topic %s only stops it",
                   worker->set.name);
        return;
    }
    (void) worker_wait_for(worker, &worker->end.ended, SMQ_FOREVER);
    scheduler_end(worker->set.scheduler);
    for (int32_t i = 0; i < worker->threads_started; i++) {
        (void) pthread_join(worker->thread_ids[i], NULL);
    }
    loop_post(worker->set.core->io, &worker->dispose);
    (void) worker_wait_for(worker, &worker->end.disposed, SMQ_FOREVER);
    worker_destroy(worker);
}

smq_status worker_check_process(const smq_worker *worker, smq_error *err)
{
    return core_check(worker->set.core, err);
}
