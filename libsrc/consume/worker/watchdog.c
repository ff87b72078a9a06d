/* watchdog.c - the handler time-out of a worker: a delivery that a handler has held for too long is
 * taken from it, and its slot continues.
 *
 * A hung thread is replaced by another, at most once for each thread.  The timer runs only while
 * deliveries are in flight.
 *
 * Thread: smq:io. */
#include <inttypes.h>

#include "base/clock.h"
#include "consume/slot/in_flight.h"
#include "consume/slot/slot_turn.h"
#include "consume/worker/worker.h"

static void watchdog_on_timer(uv_timer_t *timer);

static void watchdog_arm(smq_worker *worker, int64_t ms)
{
    uv_update_time(worker->overdue.loop);
    uv_timer_start(&worker->overdue, watchdog_on_timer, ms > 1 ? (uint64_t) ms : 1, 0);
}

/* Start threads until as many work as before some of them hung, within WORKER_THREADS_MOST. */
static void watchdog_replace_hung(smq_worker *worker)
{
    int32_t hung = scheduler_hung(worker->set.scheduler);
    int32_t most = WORKER_THREADS_MOST(worker);

    if (hung == 0) {
        return;
    }
    while (worker->threads_started < worker->threads + hung && worker->threads_started < most &&
           worker_add_thread(worker, NULL) == SMQ_OK) {
    }
    if (hung >= worker->threads_started) {
        events_log(worker->set.core->events, SMQ_LEVEL_ERROR,
                   "all %" PRId32 " threads of the worker of topic %s hang in handlers; nothing is "
                   "handled here until one returns",
                   worker->threads_started, worker->set.name);
    }
}

static void watchdog_on_timer(uv_timer_t *timer)
{
    smq_worker *worker = timer->data;
    struct delivery_list overdue = STAILQ_HEAD_INITIALIZER(overdue);
    int64_t now = clock_now_ms();
    int64_t first =
        scheduler_overdue(worker->set.scheduler, now - worker->handler_timeout_ms, &overdue);
    smq_delivery *delivery;

    while ((delivery = STAILQ_FIRST(&overdue)) != NULL) {
        struct owned_slot *slot = owned_slot_of(delivery);

        STAILQ_REMOVE_HEAD(&overdue, link);
        in_flight_overdue(slot, delivery);
        slot_set_changed(slot);
    }
    slot_turn_mark_leaving(&worker->set);
    if (worker->set.budget.in_flight > 0) {
        watchdog_arm(worker, first >= 0 ? first + worker->handler_timeout_ms - now
                                        : worker->handler_timeout_ms);
    }
    watchdog_replace_hung(worker);
    slot_set_turn(&worker->set);
}

void worker_watch_handlers(smq_worker *worker)
{
    if (worker->handler_timeout_ms > 0 && !uv_is_active((uv_handle_t *) &worker->overdue)) {
        watchdog_arm(worker, worker->handler_timeout_ms);
    }
}
