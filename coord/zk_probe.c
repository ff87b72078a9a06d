/* zk_probe.c - finding out that the servers refuse our session for good.
 *
 * A server does not let a session in that has seen a larger zxid than itself, as when the ensemble
 * has lost its data or an older copy of it was restored.  The client library then connects again
 * for ever, and cannot be told apart from one whose servers are away.  So when a session has been
 * without a connection for its time-out, a second handle begins another one: once that has been
 * connected for half a time-out while ours has not, ours is refused.
 *
 * Thread: smq:coord; the watcher runs on a thread of the library. */
#include <stdlib.h>

#include "base/memory.h"
#include "coord/zk_internal.h"

/* A state of the second handle on its way to smq:coord. */
struct zk_probe_event {
    struct loop_task task;
    struct zk_session *session;
    uint64_t number;
    bool connected;
};

/* What its watcher is given. */
struct zk_probe_context {
    struct zk_session *session;
    uint64_t number;
};

static void zk_probe_on_late(uv_timer_t *timer)
{
    zk_session_refused(timer->data);
}

static void zk_probe_run(struct loop_task *task)
{
    struct zk_probe_event *event =
        (struct zk_probe_event *) ((char *) task - offsetof(struct zk_probe_event, task));
    struct zk_probe *probe = &event->session->probe;

    if (probe->handle != NULL && event->number == probe->number) {
        if (event->connected) {
            uv_timer_start(&probe->timer, zk_probe_on_late,
                           (uint64_t) zk_session_timeout(event->session) / 2, 0);
        } else {
            uv_timer_stop(&probe->timer);
        }
    }
    free(event);
}

static void zk_probe_watcher(zhandle_t *handle, int type, int state, const char *path,
                             void *context)
{
    const struct zk_probe_context *from = context;
    struct zk_probe_event *event = NULL;

    (void) handle;
    (void) path;
    if (type != ZOO_SESSION_EVENT) {
        return;
    }
    event = memory_new(sizeof(*event));
    event->task.run = zk_probe_run;
    event->session = from->session;
    event->number = from->number;
    event->connected = state == ZOO_CONNECTED_STATE;
    loop_post(from->session->options.loop, &event->task);
}

static void zk_probe_open(uv_timer_t *timer)
{
    struct zk_session *session = timer->data;
    struct zk_probe *probe = &session->probe;
    struct zk_probe_context *context = memory_new(sizeof(*context));

    context->session = session;
    context->number = probe->number;
    probe->handle = zookeeper_init2(session->options.servers, zk_probe_watcher,
                                    (int) session->options.timeout_ms, NULL, context,
                                    ZOO_NO_LOG_CLIENTENV, zk_session_log);
    if (probe->handle == NULL) {
        free(context);
        uv_timer_start(timer, zk_probe_open, (uint64_t) zk_session_timeout(session), 0);
    }
}

void zk_probe_begin(struct zk_session *session)
{
    uv_timer_start(&session->probe.timer, zk_probe_open, (uint64_t) zk_session_timeout(session), 0);
}

void zk_probe_end(struct zk_session *session)
{
    struct zk_probe *probe = &session->probe;
    struct zk_probe_context *context = NULL;

    uv_timer_stop(&probe->timer);
    if (probe->handle != NULL) {
        context = (struct zk_probe_context *) zoo_get_context(probe->handle);
        (void) zookeeper_close(probe->handle);
        free(context);
    }
    probe->handle = NULL;
    probe->number++;
}
