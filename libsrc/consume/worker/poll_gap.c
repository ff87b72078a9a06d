/* poll_gap.c - what happens to a consumer when no poll comes, and its end.
 *
 * When half of max_poll_gap_ms has passed without a poll its descriptor becomes readable, so an
 * application that only waits for the descriptor polls.  When the whole gap has passed the worker
 * is suspended until the next poll.
 *
 * Thread: smq:io. */
#include <inttypes.h>

#include "base/owner_of.h"
#include "consume/worker/consumer.h"
#include "consume/worker/worker.h"

static void poll_gap_consumer_on_gap(uv_timer_t *timer);

static void poll_gap_consumer_arm_gap(smq_consumer *consumer, int64_t ms)
{
    uv_update_time(consumer->gap.loop);
    uv_timer_start(&consumer->gap, poll_gap_consumer_on_gap, (uint64_t) ms, 0);
}

static void poll_gap_consumer_suspend(smq_consumer *consumer)
{
    smq_worker *worker = consumer->worker;

    consumer->wanted = false;
    events_log(worker->set.core->events, SMQ_LEVEL_WARN,
               "no thread has polled the consumer of topic %s for %" PRId64
               " ms (max_poll_gap_ms): "
               "its slots move to other members until the next poll",
               worker->set.name, consumer->gap_ms);
    worker_suspend(worker);
}

static void poll_gap_consumer_on_gap(uv_timer_t *timer)
{
    smq_consumer *consumer = timer->data;
    smq_worker *worker = consumer->worker;
    int64_t half = consumer->gap_ms / 2;
    int64_t idle = scheduler_idle_ms(worker->set.scheduler);

    if (worker->state != WORKER_RUNNING) {
        return;
    }
    if (idle < half) {
        poll_gap_consumer_arm_gap(consumer, half - idle);
    } else if (idle < consumer->gap_ms) {
        scheduler_wake_poller(worker->set.scheduler);
        poll_gap_consumer_arm_gap(consumer, consumer->gap_ms - idle);
    } else if (scheduler_suspend(worker->set.scheduler, consumer->gap_ms)) {
        poll_gap_consumer_suspend(consumer);
    } else {
        poll_gap_consumer_arm_gap(consumer, half);
    }
}

static void poll_gap_consumer_on_opened(void *user, smq_worker *worker)
{
    smq_consumer *consumer = user;

    uv_timer_init(loop_uv(worker->set.core->io), &consumer->gap);
    consumer->gap.data = consumer;
    worker->set.handles_open++;
}

static void poll_gap_consumer_on_begun(void *user)
{
    smq_consumer *consumer = user;

    poll_gap_consumer_arm_gap(consumer, consumer->gap_ms / 2);
}

/* Posted as a task of its own, because the caller that gave up the last slot still uses the
 * worker. */
static void poll_gap_consumer_begin_again(smq_consumer *consumer)
{
    loop_post(consumer->worker->set.core->io, &consumer->worker->begin);
}

static void poll_gap_consumer_on_suspended(void *user)
{
    smq_consumer *consumer = user;

    if (consumer->wanted) {
        poll_gap_consumer_begin_again(consumer);
    }
}

static void poll_gap_consumer_on_back(struct loop_task *task)
{
    smq_consumer *consumer = OWNER_OF(task, smq_consumer, back);

    consumer->wanted = true;
    if (consumer->worker->state == WORKER_NEW) {
        poll_gap_consumer_begin_again(consumer);
    }
}

static void poll_gap_consumer_on_stop_within(struct loop_task *task)
{
    smq_consumer *consumer = OWNER_OF(task, smq_consumer, stop_within);

    worker_stop_within(consumer->worker, consumer->worker->set.core->request_timeout_ms);
}

static void poll_gap_consumer_on_closed(uv_handle_t *handle)
{
    smq_consumer *consumer = handle->data;

    slot_set_handle_closed(&consumer->worker->set);
}

static void poll_gap_consumer_on_closing(void *user)
{
    smq_consumer *consumer = user;

    uv_close((uv_handle_t *) &consumer->gap, poll_gap_consumer_on_closed);
}

void consumer_init_loop(smq_consumer *consumer)
{
    consumer->back.run = poll_gap_consumer_on_back;
    consumer->stop_within.run = poll_gap_consumer_on_stop_within;
}

struct worker_poller consumer_poller(smq_consumer *consumer)
{
    return (struct worker_poller){.opened = poll_gap_consumer_on_opened,
                                  .begun = poll_gap_consumer_on_begun,
                                  .suspended = poll_gap_consumer_on_suspended,
                                  .closing = poll_gap_consumer_on_closing,
                                  .user = consumer,
                                  .per_slot = consumer->per_slot,
                                  .back = &consumer->back};
}
