/* consumer.c - making, starting, stopping and freeing a consumer; its options.
 *
 * Thread: those of the application. */
#include "consume/consumer/consumer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fork.h"
#include "base/memory.h"
#include "base/ready.h"
#include "base/status.h"
#include "base/thread.h"

/* --- options --- */

/* The options are complete. */
static smq_status consumer_check_and_copy_options(smq_consumer *consumer,
                                                  const smq_consumer_options *options,
                                                  smq_error *err)
{
    smq_status status = topic_check_name(options->topic, err);

    if (status != SMQ_OK) {
        return status;
    }
    snprintf(consumer->set.name, sizeof(consumer->set.name), "%s", options->topic);
    consumer->threads = consumer->polled ? options->weight : options->threads;
    consumer->handler_timeout_ms = options->handler_timeout_ms;
    consumer->set.rate_per_s = options->rate_per_s;
    consumer->set.push_slots = options->push_slots;
    pace_init(&consumer->set.pace, options->linger_ms);
    consumer->set.drain_timeout_ms = options->drain_timeout_ms;
    consumer->set.budget.max_messages = options->max_messages;
    consumer->set.budget.max_in_flight = options->max_in_flight;
    consumer->set.budget.limited.limit = limit_ref(options->limit);
    consumer_set_room(consumer, options);
    return SMQ_OK;
}

/* --- life --- */

/* Free the memory of a consumer that neither smq:io nor another thread uses any more. */
static void consumer_destroy(smq_consumer *consumer)
{
    slot_set_fini(&consumer->set);
    if (consumer->set.scheduler != NULL) {
        scheduler_unref(consumer->set.scheduler);
    }
    pthread_mutex_destroy(&consumer->end.lock);
    pthread_cond_destroy(&consumer->end.changed);
    limit_unref(consumer->set.budget.limited.limit);
    core_unref(consumer->set.core);
    if (consumer->poll.descriptor >= 0) {
        (void) close(consumer->poll.descriptor);
    }
    free(consumer->thread_ids);
    free(consumer);
}

static struct scheduler *consumer_make_scheduler(smq_consumer *consumer,
                                                 const smq_consumer_options *options)
{
    struct scheduler_options queue = {.topic = consumer->set.name,
                                      .handler = options->handler,
                                      .batch = options->batch,
                                      .dead = options->dead,
                                      .user = options->user,
                                      .turn = consumer->set.batch_size,
                                      .timed = consumer->handler_timeout_ms > 0,
                                      .threads = consumer->threads,
                                      .events = consumer->set.core->events,
                                      .hooks = &consumer->set.core->hooks,
                                      .io = consumer->set.core->io,
                                      .call = consumer->set.core->call,
                                      .task = &consumer->answered,
                                      .extended = &consumer->extended};

    if (consumer->polled) {
        queue.per_slot = consumer->poll.per_slot;
        queue.back = &consumer->poll.back;
    }
    return scheduler_new(&queue);
}

static smq_status consumer_prepare_polls(smq_consumer *consumer,
                                         const smq_consumer_options *options, smq_error *err)
{
    struct ready ready;
    smq_status status;

    consumer->poll.per_slot = options->per_slot;
    consumer->poll.gap_ms = options->max_poll_gap_ms;
    consumer_gap_init(consumer);
    status = ready_open(&ready, err);
    consumer->poll.descriptor = ready.fd;
    return status;
}

smq_status consumer_new(smq_consumer **out, struct core *core, const smq_consumer_options *options,
                        smq_error *err)
{
    smq_consumer *consumer = memory_new(sizeof(*consumer));
    smq_status status = SMQ_OK;

    consumer_init_loop(consumer, core_ref(core));
    consumer->polled = options->handler == NULL && options->batch == NULL;
    consumer->poll.descriptor = -1;
    consumer->forks = fork_count();
    pthread_mutex_init(&consumer->end.lock, NULL);
    thread_cond_init(&consumer->end.changed);
    if (consumer->polled) {
        status = consumer_prepare_polls(consumer, options, err);
    }
    if (status != SMQ_OK) {
        goto fail;
    }
    status = consumer_check_and_copy_options(consumer, options, err);
    if (status != SMQ_OK) {
        goto fail;
    }
    consumer->set.scheduler = consumer_make_scheduler(consumer, options);
    status = consumer_open_topic(consumer, err);
    if (status != SMQ_OK) {
        goto fail;
    }
    if (consumer->polled) {
        consumer_set_polled_room(consumer);
        loop_post(core->io, &consumer->begin);
    }
    *out = consumer;
    return SMQ_OK;
fail:
    consumer_destroy(consumer);
    return status;
}

smq_status consumer_start(smq_consumer *consumer, smq_error *err)
{
    smq_status status = SMQ_OK;

    if (consumer->polled) {
        return status_set(err, SMQ_INVALID,
                          "the consumer of topic %s has neither handler nor batch: it began with "
                          "smq_consumer_new(); poll it",
                          consumer->set.name);
    }
    if (atomic_exchange(&consumer->started, true)) {
        return status_set(err, SMQ_INVALID, "the consumer of topic %s was started already",
                          consumer->set.name);
    }
    if (atomic_load(&consumer->stop_asked)) {
        return status_set(err, SMQ_CLOSED, "the consumer of topic %s was stopped",
                          consumer->set.name);
    }
    status = consumer_start_threads(consumer, err);
    if (status != SMQ_OK) {
        atomic_store(&consumer->started, false);
        return status;
    }
    loop_post(consumer->set.core->io, &consumer->begin);
    return SMQ_OK;
}

void consumer_stop(smq_consumer *consumer)
{
    if (consumer->forks == fork_count()) {
        atomic_store(&consumer->stop_asked, true);
        (void) uv_async_send(&consumer->stop_signal);
    }
}

/* Wait until *flag, which end.lock guards, is set; false: the time has passed. */
static bool consumer_wait_for(smq_consumer *consumer, const bool *flag, int64_t timeout_ms)
{
    struct timespec at = clock_deadline(timeout_ms);
    int failed = 0;
    bool reached;

    pthread_mutex_lock(&consumer->end.lock);
    while (!*flag && failed != ETIMEDOUT) {
        failed = timeout_ms < 0
                     ? pthread_cond_wait(&consumer->end.changed, &consumer->end.lock)
                     : pthread_cond_timedwait(&consumer->end.changed, &consumer->end.lock, &at);
    }
    reached = *flag;
    pthread_mutex_unlock(&consumer->end.lock);
    return reached;
}

bool consumer_wait_end(smq_consumer *consumer, int64_t timeout_ms)
{
    return consumer_wait_for(consumer, &consumer->end.ended, timeout_ms);
}

smq_status consumer_wait(smq_consumer *consumer, int64_t timeout_ms, smq_error *err)
{
    if (scheduler_inside(consumer->set.scheduler)) {
        return status_set(err, SMQ_WRONG_THREAD,
                          "smq_consumer_wait() in a handler of the consumer would wait for that "
                          "handler");
    }
    if (!consumer->polled && !atomic_load(&consumer->started) &&
        !atomic_load(&consumer->stop_asked)) {
        return status_set(
            err, SMQ_INVALID,
            "the consumer of topic %s was not started: call smq_consumer_start() first",
            consumer->set.name);
    }
    if (!consumer_wait_end(consumer, timeout_ms)) {
        return status_set(err, SMQ_TIMED_OUT, "the consumer of topic %s still runs",
                          consumer->set.name);
    }
    return consumer->end.result.status == SMQ_OK ? SMQ_OK : status_copy(err, &consumer->end.result);
}

void consumer_free(smq_consumer *consumer)
{
    if (consumer->forks != fork_count()) {
        return; /* a child of fork() has none of the threads; the memory belongs to its parent */
    }
    if (consumer->polled) {
        scheduler_set_descriptor(consumer->set.scheduler, -1);
        loop_post(consumer->set.core->io, &consumer->poll.hurry);
    }
    consumer_stop(consumer);
    if (scheduler_inside(consumer->set.scheduler)) {
        events_log(consumer->set.core->events, SMQ_LEVEL_ERROR,
                   "smq_consumer_free() in a handler of the consumer of topic %s only stops it",
                   consumer->set.name);
        return;
    }
    (void) consumer_wait_for(consumer, &consumer->end.ended, SMQ_FOREVER);
    scheduler_end(consumer->set.scheduler);
    for (int32_t i = 0; i < consumer->threads_started; i++) {
        (void) pthread_join(consumer->thread_ids[i], NULL);
    }
    loop_post(consumer->set.core->io, &consumer->dispose);
    (void) consumer_wait_for(consumer, &consumer->end.disposed, SMQ_FOREVER);
    consumer_destroy(consumer);
}

struct consumer_change {
    smq_consumer *consumer;
    int32_t most;
};

static void consumer_on_change(void *user)
{
    const struct consumer_change *change = user;

    consumer_limit(change->consumer, change->most);
}

void consumer_set_max_in_flight(smq_consumer *consumer, int32_t most)
{
    struct consumer_change change = {.consumer = consumer, .most = most};

    loop_call(consumer->set.core->io, consumer_on_change, &change);
}

smq_status consumer_check_process(const smq_consumer *consumer, smq_error *err)
{
    return core_check(consumer->set.core, err);
}

smq_status consumer_check_polled(const smq_consumer *consumer, const char *call, smq_error *err)
{
    return consumer->polled ? SMQ_OK
                            : status_set(err, SMQ_INVALID,
                                         "%s is for consumers without a handler; the one of topic "
                                         "%s calls its handler",
                                         call, consumer->set.name);
}
