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

static void on_gap(uv_timer_t *timer);

static void arm(smq_consumer *consumer, int64_t ms)
{
    uv_update_time(consumer->gap.loop);
    uv_timer_start(&consumer->gap, on_gap, (uint64_t) ms, 0);
}

static void rest(smq_consumer *consumer)
{
    smq_worker *worker = consumer->worker;

    consumer->wanted = false;
    events_log(worker->core->events, SMQ_LEVEL_WARN,
               "nobody has polled the consumer of topic %s for %" PRId64 " ms (max_poll_gap_ms): "
               "its slots go to others until the next poll",
               worker->name, consumer->gap_ms);
    worker_rest(worker);
}

static void on_gap(uv_timer_t *timer)
{
    smq_consumer *consumer = timer->data;
    smq_worker *worker = consumer->worker;
    int64_t half = consumer->gap_ms / 2;
    int64_t idle = run_queue_idle_ms(worker->queue);

    if (worker->state != WORKER_RUNNING) {
        return;
    }
    if (idle < half) {
        arm(consumer, half - idle);
    } else if (idle < consumer->gap_ms) {
        run_queue_wake_poller(worker->queue);
        arm(consumer, consumer->gap_ms - idle);
    } else if (run_queue_suspend(worker->queue, consumer->gap_ms)) {
        rest(consumer);
    } else {
        arm(consumer, half);
    }
}

void consumer_opened(smq_consumer *consumer, smq_worker *worker)
{
    uv_timer_init(loop_uv(worker->core->io), &consumer->gap);
    consumer->gap.data = consumer;
    worker->handles_open++;
}

void consumer_begun(smq_consumer *consumer)
{
    arm(consumer, consumer->gap_ms / 2);
}

/* On a turn of its own: whoever gave up the last slot still looks at the worker. */
static void begin_again(smq_consumer *consumer)
{
    loop_post(consumer->worker->core->io, &consumer->worker->begin);
}

void consumer_rested(smq_consumer *consumer)
{
    if (consumer->wanted) {
        begin_again(consumer);
    }
}

void consumer_on_back(struct loop_task *task)
{
    smq_consumer *consumer = (smq_consumer *) ((char *) task - offsetof(smq_consumer, back));

    consumer->wanted = true;
    if (consumer->worker->state == WORKER_NEW) {
        begin_again(consumer);
    }
}

void consumer_on_hurry(struct loop_task *task)
{
    smq_consumer *consumer = (smq_consumer *) ((char *) task - offsetof(smq_consumer, hurry));

    worker_stop_within(consumer->worker, consumer->worker->core->request_timeout_ms);
}

static void on_closed(uv_handle_t *handle)
{
    smq_consumer *consumer = handle->data;

    worker_handle_closed(consumer->worker);
}

void consumer_close(smq_consumer *consumer)
{
    uv_close((uv_handle_t *) &consumer->gap, on_closed);
}
