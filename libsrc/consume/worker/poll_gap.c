/* poll_gap.c - what comes of a consumer that nobody polls, and its end.
 *
 * When half of the gap is over without a poll its descriptor becomes readable: a loop that only
 * waits on that polls, and so lives.  When all of it is over the worker rests, until a poll.
 *
 * Thread: smq:io. */
#include <inttypes.h>
#include <stddef.h>

#include "consume/worker/consumer.h"
#include "consume/worker/worker.h"

static void consumer_on_gap(uv_timer_t *timer);

static void consumer_arm_gap(smq_consumer *consumer, int64_t ms)
{
    uv_update_time(consumer->gap.loop);
    uv_timer_start(&consumer->gap, consumer_on_gap, (uint64_t) ms, 0);
}

static void consumer_rest(smq_consumer *consumer)
{
    smq_worker *worker = consumer->worker;

    consumer->wanted = false;
    events_log(worker->set.core->events, SMQ_LEVEL_WARN,
               "nobody has polled the consumer of topic %s for %" PRId64 " ms (max_poll_gap_ms): "
               "its slots go to others until the next poll",
               worker->set.name, consumer->gap_ms);
    worker_rest(worker);
}

static void consumer_on_gap(uv_timer_t *timer)
{
    smq_consumer *consumer = timer->data;
    smq_worker *worker = consumer->worker;
    int64_t half = consumer->gap_ms / 2;
    int64_t idle = run_queue_idle_ms(worker->set.queue);

    if (worker->state != WORKER_RUNNING) {
        return;
    }
    if (idle < half) {
        consumer_arm_gap(consumer, half - idle);
    } else if (idle < consumer->gap_ms) {
        run_queue_wake_poller(worker->set.queue);
        consumer_arm_gap(consumer, consumer->gap_ms - idle);
    } else if (run_queue_suspend(worker->set.queue, consumer->gap_ms)) {
        consumer_rest(consumer);
    } else {
        consumer_arm_gap(consumer, half);
    }
}

static void consumer_on_opened(void *user, smq_worker *worker)
{
    smq_consumer *consumer = user;

    uv_timer_init(loop_uv(worker->set.core->io), &consumer->gap);
    consumer->gap.data = consumer;
    worker->set.handles_open++;
}

static void consumer_on_begun(void *user)
{
    smq_consumer *consumer = user;

    consumer_arm_gap(consumer, consumer->gap_ms / 2);
}

/* On a turn of its own: whoever gave up the last slot still looks at the worker. */
static void consumer_begin_again(smq_consumer *consumer)
{
    loop_post(consumer->worker->set.core->io, &consumer->worker->begin);
}

static void consumer_on_rested(void *user)
{
    smq_consumer *consumer = user;

    if (consumer->wanted) {
        consumer_begin_again(consumer);
    }
}

static void consumer_on_back(struct loop_task *task)
{
    smq_consumer *consumer = (smq_consumer *) ((char *) task - offsetof(smq_consumer, back));

    consumer->wanted = true;
    if (consumer->worker->state == WORKER_NEW) {
        consumer_begin_again(consumer);
    }
}

static void consumer_on_stop_within(struct loop_task *task)
{
    smq_consumer *consumer = (smq_consumer *) ((char *) task - offsetof(smq_consumer, stop_within));

    worker_stop_within(consumer->worker, consumer->worker->set.core->request_timeout_ms);
}

static void consumer_on_closed(uv_handle_t *handle)
{
    smq_consumer *consumer = handle->data;

    worker_handle_closed(consumer->worker);
}

static void consumer_on_closing(void *user)
{
    smq_consumer *consumer = user;

    uv_close((uv_handle_t *) &consumer->gap, consumer_on_closed);
}

void consumer_init_loop(smq_consumer *consumer)
{
    consumer->back.run = consumer_on_back;
    consumer->stop_within.run = consumer_on_stop_within;
}

struct worker_poller consumer_poller(smq_consumer *consumer)
{
    return (struct worker_poller){.opened = consumer_on_opened,
                                  .begun = consumer_on_begun,
                                  .rested = consumer_on_rested,
                                  .closing = consumer_on_closing,
                                  .user = consumer,
                                  .per_slot = consumer->per_slot,
                                  .back = &consumer->back};
}
