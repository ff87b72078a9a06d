/* standby.c - reporting once that a worker has had no slot for a while: either it is a spare, or
 * the operator overlooked that without ZooKeeper only one process consumes a topic.
 *
 * Thread: smq:io. */
#include "consume/worker/worker.h"

enum { STANDBY_MS = 5000 }; /* longer than the start of a fleet or a move of a slot takes */

static void standby_on_timer(uv_timer_t *timer)
{
    smq_worker *worker = timer->data;

    worker->standing_by = true;
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

void worker_watch_standby(smq_worker *worker)
{
    bool spare = worker->state == WORKER_RUNNING && worker->set.owned == 0;

    if (!spare) {
        worker->standing_by = false;
        uv_timer_stop(&worker->standby);
    } else if (!worker->standing_by && !uv_is_active((uv_handle_t *) &worker->standby)) {
        uv_update_time(worker->standby.loop);
        uv_timer_start(&worker->standby, standby_on_timer, STANDBY_MS, 0);
    }
}
