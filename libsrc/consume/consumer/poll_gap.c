/* poll_gap.c - what happens to a consumer when no poll comes, and its end.
 *
 * When half of max_poll_gap_ms has passed without a poll its descriptor becomes readable, so an
 * application that only waits for the descriptor polls.  When the whole gap has passed the
 * consumer is suspended until the next poll.
 *
 * Thread: smq:io. */
#include <inttypes.h>

#include "base/owner_of.h"
#include "consume/consumer/consumer.h"

static void consumer_gap_on_gap(uv_timer_t *timer);

static void consumer_gap_arm(smq_consumer *consumer, int64_t ms)
{
    uv_update_time(consumer->poll.gap.loop);
    uv_timer_start(&consumer->poll.gap, consumer_gap_on_gap, (uint64_t) ms, 0);
}

static void consumer_gap_suspend(smq_consumer *consumer)
{
    consumer->poll.wanted = false;
    events_log(consumer->set.core->events, SMQ_LEVEL_WARN,
               "no thread has polled the consumer of topic %s for %" PRId64
               " ms (max_poll_gap_ms): "
               "its slots move to other members until the next poll",
               consumer->set.name, consumer->poll.gap_ms);
    consumer->poll.suspend(consumer);
}

static void consumer_gap_on_gap(uv_timer_t *timer)
{
    smq_consumer *consumer = timer->data;
    int64_t half = consumer->poll.gap_ms / 2;
    int64_t idle = scheduler_idle_ms(consumer->set.scheduler);

    if (consumer->state != CONSUMER_RUNNING) {
        return;
    }
    if (idle < half) {
        consumer_gap_arm(consumer, half - idle);
    } else if (idle < consumer->poll.gap_ms) {
        scheduler_wake_poller(consumer->set.scheduler);
        consumer_gap_arm(consumer, consumer->poll.gap_ms - idle);
    } else if (scheduler_suspend(consumer->set.scheduler, consumer->poll.gap_ms)) {
        consumer_gap_suspend(consumer);
    } else {
        consumer_gap_arm(consumer, half);
    }
}

void consumer_gap_open(smq_consumer *consumer)
{
    uv_timer_init(loop_uv(consumer->set.core->io), &consumer->poll.gap);
    consumer->poll.gap.data = consumer;
    consumer->set.handles_open++;
}

void consumer_gap_begun(smq_consumer *consumer)
{
    consumer_gap_arm(consumer, consumer->poll.gap_ms / 2);
}

/* Posted as a task of its own, because the caller that gave up the last slot still uses the
 * consumer. */
static void consumer_gap_begin_again(smq_consumer *consumer)
{
    loop_post(consumer->set.core->io, &consumer->begin);
}

void consumer_gap_suspended(smq_consumer *consumer)
{
    if (consumer->poll.wanted) {
        consumer_gap_begin_again(consumer);
    }
}

static void consumer_gap_on_back(struct loop_task *task)
{
    smq_consumer *consumer = OWNER_OF(task, smq_consumer, poll.back);

    consumer->poll.wanted = true;
    if (consumer->state == CONSUMER_NEW) {
        consumer_gap_begin_again(consumer);
    }
}

static void consumer_gap_on_closed(uv_handle_t *handle)
{
    slot_set_handle_closed(&((smq_consumer *) handle->data)->set);
}

void consumer_gap_close(smq_consumer *consumer)
{
    uv_close((uv_handle_t *) &consumer->poll.gap, consumer_gap_on_closed);
}

void consumer_gap_init(smq_consumer *consumer)
{
    consumer->poll.back.run = consumer_gap_on_back;
}
