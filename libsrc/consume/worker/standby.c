/* standby.c - saying once that a worker has had no slot for a while: it is a spare, or
 * somebody forgot that only one process without ZooKeeper consumes a topic.
 *
 * Thread: smq:io. */
#include "consume/worker/worker.h"

enum { STANDBY_MS = 5000 }; /* a fleet that starts, or a slot that moves, takes less */

static void standby_on_timer(uv_timer_t *timer)
{
    smq_worker *worker = timer->data;

    worker->standing_by = true;
    events_log(worker->set.core->events, SMQ_LEVEL_WARN,
               worker->set.core->zookeeper != NULL
                   ? "topic %s: no slot was given to this process for %d s: the others have them "
                     "all, or those that Redis serves now; it stands by and begins with the first "
                     "one that it is given"
                   : "topic %s: no slot was given to this process for %d s: another process "
                     "consumes the topic, or Redis does not answer; this one stands by until that "
                     "ends.  To share the slots of a topic start all with ZooKeeper",
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
