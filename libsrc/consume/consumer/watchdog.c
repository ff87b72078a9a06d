/* watchdog.c - the handler time-out of a consumer: a delivery that a handler has held for too long
 * is taken from it, and its slot continues.
 *
 * A hung thread is replaced by another, at most once for each thread.  The timer runs only while
 * deliveries are in flight.
 *
 * Thread: smq:io. */
#include <inttypes.h>

#include "base/clock.h"
#include "consume/consumer/consumer.h"
#include "consume/slot/in_flight.h"
#include "consume/slot/slot_turn.h"

static void watchdog_on_timer(uv_timer_t *timer);

static void watchdog_arm(smq_consumer *consumer, int64_t ms)
{
    uv_update_time(consumer->overdue.loop);
    uv_timer_start(&consumer->overdue, watchdog_on_timer, ms > 1 ? (uint64_t) ms : 1, 0);
}

/* Start threads until as many work as before some of them hung, within CONSUMER_THREADS_MOST. */
static void watchdog_replace_hung(smq_consumer *consumer)
{
    int32_t hung = scheduler_hung(consumer->set.scheduler);
    int32_t most = CONSUMER_THREADS_MOST(consumer);

    if (hung == 0) {
        return;
    }
    while (consumer->threads_started < consumer->threads + hung &&
           consumer->threads_started < most && consumer_add_thread(consumer, NULL) == SMQ_OK) {
    }
    if (hung >= consumer->threads_started) {
        events_log(consumer->set.core->events, SMQ_LEVEL_ERROR,
                   "all %" PRId32
                   " threads of the consumer of topic %s hang in handlers; nothing is "
                   "handled here until one returns",
                   consumer->threads_started, consumer->set.name);
    }
}

static void watchdog_on_timer(uv_timer_t *timer)
{
    smq_consumer *consumer = timer->data;
    struct delivery_list overdue = STAILQ_HEAD_INITIALIZER(overdue);
    int64_t now = clock_now_ms();
    int64_t first =
        scheduler_overdue(consumer->set.scheduler, now - consumer->handler_timeout_ms, &overdue);
    smq_delivery *delivery;

    while ((delivery = STAILQ_FIRST(&overdue)) != NULL) {
        struct owned_slot *slot = owned_slot_of(delivery);

        STAILQ_REMOVE_HEAD(&overdue, link);
        in_flight_overdue(slot, delivery);
        slot_set_changed(slot);
    }
    slot_turn_mark_leaving(&consumer->set);
    if (consumer->set.budget.in_flight > 0) {
        watchdog_arm(consumer, first >= 0 ? first + consumer->handler_timeout_ms - now
                                          : consumer->handler_timeout_ms);
    }
    watchdog_replace_hung(consumer);
    slot_set_turn(&consumer->set);
}

void consumer_watch_handlers(smq_consumer *consumer)
{
    if (consumer->handler_timeout_ms > 0 && !uv_is_active((uv_handle_t *) &consumer->overdue)) {
        watchdog_arm(consumer, consumer->handler_timeout_ms);
    }
}
