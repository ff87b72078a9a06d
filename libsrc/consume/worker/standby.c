/* standby.c - reporting once that a worker has had no slot for a while: either it is a spare, or
 * the operator overlooked that without ZooKeeper only one process consumes a topic.
 *
 * Thread: smq:io. */
#include "base/clock.h"
#include "consume/worker/worker.h"

int64_t worker_standby_wait_ms(struct worker_standby *standby, bool spare, int64_t now_ms)
{
    int64_t wait_ms;

    if (!spare) {
        *standby = (struct worker_standby){0};
        return -1;
    }
    if (standby->reported) {
        return -1;
    }
    standby->since_ms = standby->since_ms == 0 ? now_ms : standby->since_ms;
    wait_ms = standby->since_ms + STANDBY_MS - now_ms;
    standby->reported = wait_ms <= 0;
    return wait_ms > 0 ? wait_ms : 0;
}

static void standby_report(const smq_worker *worker)
{
    events_log(
        worker->set.core->events, SMQ_LEVEL_WARN,
        worker->set.core->zookeeper != NULL
            ? "topic %s: this process was granted no slot for %d s, because other members have "
              "all slots that Redis serves now; it stands by and begins with the first slot "
              "that it is granted"
            : "topic %s: this process was granted no slot for %d s, because another process "
              "consumes the topic, or Redis does not answer; it stands by until that "
              "ends.  To share the slots of a topic start all processes with ZooKeeper",
        worker->set.name, STANDBY_MS / 1000);
}

static void standby_on_timer(uv_timer_t *timer)
{
    worker_watch_standby(timer->data);
}

void worker_watch_standby(smq_worker *worker)
{
    bool spare = worker->state == WORKER_RUNNING && worker->set.owned == 0;
    int64_t wait_ms = worker_standby_wait_ms(&worker->standby, spare, spare ? clock_now_ms() : 0);

    if (wait_ms == 0) {
        standby_report(worker);
    }
    if (wait_ms <= 0) {
        uv_timer_stop(&worker->standby_timer);
        return;
    }
    uv_update_time(worker->standby_timer.loop);
    uv_timer_start(&worker->standby_timer, standby_on_timer, (uint64_t) wait_ms, 0);
}
