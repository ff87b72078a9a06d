/* zk_probe.c - a second handle, which may connect where the first one cannot.
 *
 * Thread: smq:coord; the watcher runs on a thread of the client library. */
#include "coord/zk/zk_probe.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/owner_of.h"
#include "coord/zk/zk_log.h"

/* A state of the second handle, posted to smq:coord. */
struct zk_probe_event {
    struct loop_task task;
    struct zk_probe *probe;
    uint64_t number;
    bool connected;
};

/* The context of the second handle's watcher. */
struct zk_probe_context {
    struct zk_probe *probe;
    uint64_t number;
};

static void zk_probe_on_late(uv_timer_t *timer)
{
    struct zk_probe *probe = timer->data;

    probe->options.refused(probe->options.user);
}

static void zk_probe_run(struct loop_task *task)
{
    struct zk_probe_event *event = OWNER_OF(task, struct zk_probe_event, task);
    struct zk_probe *probe = event->probe;

    if (probe->handle != NULL && event->number == probe->number) {
        if (event->connected) {
            uv_timer_start(&probe->timer, zk_probe_on_late, (uint64_t) probe->timeout_ms / 2, 0);
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
    event->probe = from->probe;
    event->number = from->number;
    event->connected = state == ZOO_CONNECTED_STATE;
    loop_post(from->probe->options.loop, &event->task);
}

static void zk_probe_on_lost(uv_timer_t *timer)
{
    struct zk_probe *probe = timer->data;
    struct zk_probe_context *context = memory_new(sizeof(*context));

    context->probe = probe;
    context->number = probe->number;
    probe->handle =
        zookeeper_init2(probe->options.servers, zk_probe_watcher, (int) probe->options.timeout_ms,
                        NULL, context, ZOO_NO_LOG_CLIENTENV, zk_log_line);
    if (probe->handle == NULL) {
        free(context);
        uv_timer_start(timer, zk_probe_on_lost, (uint64_t) probe->timeout_ms, 0);
    }
}

void zk_probe_init(struct zk_probe *probe, const struct zk_probe_options *options)
{
    probe->options = *options;
    uv_timer_init(loop_uv(options->loop), &probe->timer);
    probe->timer.data = probe;
}

void zk_probe_stop(struct zk_probe *probe)
{
    uv_close((uv_handle_t *) &probe->timer, NULL);
}

void zk_probe_begin(struct zk_probe *probe, int64_t timeout_ms)
{
    probe->timeout_ms = timeout_ms;
    uv_timer_start(&probe->timer, zk_probe_on_lost, (uint64_t) timeout_ms, 0);
}

void zk_probe_end(struct zk_probe *probe)
{
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
