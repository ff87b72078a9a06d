/* zk_session.c - the handle of the ZooKeeper client library, its events, and its replacement.
 *
 * Thread: smq:coord; the watcher runs on a thread of the client library. */
#include "coord/zk/zk_session.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/owner_of.h"
#include "base/secret.h"
#include "base/steps.h"
#include "base/waiter.h"
#include "coord/zk/zk_calls.h"

enum { ZK_RETRY_MS = 1000, ZK_RESOLVE_MS = 60000, ZK_ANSWERS_MS = 500 };

/* An event, posted to smq:coord. */
struct zk_session_event {
    struct loop_task task;
    struct zk_session *session;
    uint64_t number; /* of the handle */
    int type, state;
    char path[];
};

/* The context of a handle's watcher.  It does not change while the handle exists. */
struct zk_session_context {
    struct zk_session *session;
    uint64_t number;
};

static void zk_session_open(struct zk_session *session);

static struct zk_session *zk_session_of(const struct session *door)
{
    return OWNER_OF(door, struct zk_session, door);
}

/* --- the state --- */

bool zk_session_may(enum zk_session_state from, enum zk_session_state to)
{
    static const unsigned steps[ZK_SESSION_STATES] = {
        [ZK_SESSION_NEW] = STEP(ZK_SESSION_NONE),
        [ZK_SESSION_NONE] =
            STEP(ZK_SESSION_NEW) | STEP(ZK_SESSION_NONE) | STEP(ZK_SESSION_CONNECTING),
        [ZK_SESSION_CONNECTING] =
            STEP(ZK_SESSION_NONE) | STEP(ZK_SESSION_CONNECTING) | STEP(ZK_SESSION_CONNECTED),
        [ZK_SESSION_CONNECTED] =
            STEP(ZK_SESSION_NONE) | STEP(ZK_SESSION_CONNECTING) | STEP(ZK_SESSION_CONNECTED),
    };

    return steps_allow(steps, from, to);
}

/* The one place where the state changes. */
static void zk_session_enter(struct zk_session *session, enum zk_session_state state)
{
    assert(zk_session_may(session->state, state));
    session->state = state;
}

static bool zk_session_is_connected(const struct session *door)
{
    return zk_session_of(door)->state == ZK_SESSION_CONNECTED;
}

static bool zk_session_is_closed(const struct session *door)
{
    const enum zk_session_state state = zk_session_of(door)->state;

    return state == ZK_SESSION_NEW || state == ZK_SESSION_NONE;
}

static int64_t zk_session_timeout(const struct session *door)
{
    const struct zk_session *session = zk_session_of(door);

    return session->handle == NULL ? door->options.timeout_ms : zoo_recv_timeout(session->handle);
}

/* --- the handle --- */

/* Ignore all further events of the handle; returns the handle, which the caller closes. */
static zhandle_t *zk_session_detach(struct zk_session *session)
{
    zhandle_t *handle = session->handle;

    zk_probe_end(&session->probe);
    zk_session_enter(session, ZK_SESSION_NONE);
    session->number++;
    session->handle = NULL;
    zk_calls_drop(session);
    return handle;
}

/* Thread: one of the client library. */
static void zk_session_on_answers(int rc, const struct Stat *stat, const void *waiter)
{
    (void) rc;
    (void) stat;
    waiter_done((struct waiter *) waiter);
}

/* Wait until the server has answered all that it was asked.  The client library waits for something
 * to read after it has asked to end the session, and then closes the socket.  An answer to
 * something else would let it close at once: the server may meet the reset of the connection before
 * the request, and the ephemeral nodes stay until the session times out.  `waiter` is used until
 * the handle is closed.  Blocks: 0.5 s at most. */
static void zk_session_await_answers(const struct zk_session *session, struct waiter *waiter)
{
    if (session->state == ZK_SESSION_CONNECTED &&
        zoo_aexists(session->handle, "/", 0, zk_session_on_answers, waiter) == ZOK) {
        (void) waiter_wait(waiter, ZK_ANSWERS_MS);
    }
}

/* Close a detached handle.  Blocks: 4.5 s at most, if its session still exists. */
static void zk_session_release(struct zk_session *session, zhandle_t *handle)
{
    struct zk_session_context *context = NULL;

    if (handle != NULL) {
        context = (struct zk_session_context *) zoo_get_context(handle);
        (void) zookeeper_close(handle);
    }
    zk_calls_free(session);
    free(context);
}

static void zk_session_close(struct zk_session *session)
{
    zk_session_release(session, zk_session_detach(session));
}

/* The listener is called first, because closing may take its time. */
static void zk_session_renew(struct session *door)
{
    struct zk_session *session = zk_session_of(door);
    zhandle_t *handle = zk_session_detach(session);

    session->door.options.expired(session->door.options.user);
    zk_session_release(session, handle);
    zk_session_open(session);
}

static void zk_session_on_refused(void *user)
{
    struct zk_session *session = user;

    session->door.options.refused(session->door.options.user);
    zk_session_renew(&session->door);
}

static void zk_session_changed(struct zk_session *session, const char *path)
{
    size_t len = strlen(session->door.options.root);

    if (strncmp(path, session->door.options.root, len) != 0) {
        return;
    }
    path += len;
    session->door.options.changed(session->door.options.user, *path == '/' ? path + 1 : path);
}

static void zk_session_on_state(struct zk_session *session, int state)
{
    if (state == ZOO_CONNECTED_STATE) {
        zk_session_enter(session, ZK_SESSION_CONNECTED);
        zk_probe_end(&session->probe);
        session->door.options.connected(session->door.options.user);
    } else if (state == ZOO_EXPIRED_SESSION_STATE) {
        zk_session_renew(&session->door);
    } else if (state == ZOO_AUTH_FAILED_STATE) {
        zk_session_close(session);
        session->door.options.denied(session->door.options.user,
                                     "ZooKeeper refused the credentials");
    } else if (session->state == ZK_SESSION_CONNECTED) {
        zk_session_enter(session, ZK_SESSION_CONNECTING);
        zk_probe_begin(&session->probe, zk_session_timeout(&session->door));
        session->door.options.disconnected(session->door.options.user);
    }
}

static void zk_session_on_event(struct loop_task *task)
{
    struct zk_session_event *event = OWNER_OF(task, struct zk_session_event, task);
    struct zk_session *session = event->session;

    if (event->number == session->number) {
        if (event->type == ZOO_SESSION_EVENT) {
            zk_session_on_state(session, event->state);
        } else {
            zk_session_changed(session, event->path);
        }
    }
    free(event);
}

/* The only watcher of a handle.  Thread: that of the client library. */
static void zk_session_watcher(zhandle_t *handle, int type, int state, const char *path,
                               void *context)
{
    const struct zk_session_context *from = context;
    size_t len = path != NULL ? strlen(path) : 0;
    struct zk_session_event *event = memory_new(sizeof(*event) + len + 1);

    (void) handle;
    event->task.run = zk_session_on_event;
    event->session = from->session;
    event->number = from->number;
    event->type = type;
    event->state = state;
    if (len > 0) {
        memcpy(event->path, path, len);
    }
    loop_post(from->session->door.options.loop, &event->task);
}

static void zk_session_on_retry(uv_timer_t *timer)
{
    zk_session_open(timer->data);
}

/* What the session authenticates with, "" without; NULL: the file has never been readable. */
static const char *zk_session_auth(struct zk_session *session)
{
    const struct zk_servers *servers = &session->servers;
    smq_error err;

    if (servers->auth_file == NULL) {
        return servers->auth != NULL ? servers->auth : "";
    }
    char *auth = secret_read(servers->auth_file, &err);
    if (auth == NULL) {
        events_log(session->door.options.events, SMQ_LEVEL_ERROR, "zookeeper_auth_file: %s",
                   err.text);
        return session->auth;
    }
    secret_free(session->auth);
    session->auth = auth;
    return auth;
}

/* The threads of the client library inherit from smq:coord that every signal is blocked. */
static void zk_session_open(struct zk_session *session)
{
    const char *auth = zk_session_auth(session);
    struct zk_session_context *context = NULL;

    if (auth == NULL) {
        uv_timer_start(&session->retry, zk_session_on_retry, ZK_RETRY_MS, 0);
        return;
    }
    context = memory_new(sizeof(*context));
    context->session = session;
    context->number = session->number;
    session->handle = zookeeper_init2(session->servers.hosts, session->watcher,
                                      (int) session->door.options.timeout_ms, NULL, context,
                                      ZOO_NO_LOG_CLIENTENV, zk_log_line);
    if (session->handle == NULL) {
        free(context);
        uv_timer_start(&session->retry, zk_session_on_retry, ZK_RETRY_MS, 0);
        return;
    }
    zk_session_enter(session, ZK_SESSION_CONNECTING);
    (void) zoo_set_servers_resolution_delay(session->handle, ZK_RESOLVE_MS);
    if (*auth != '\0') {
        (void) zoo_add_auth(session->handle, "digest", auth, (int) strlen(auth), NULL, NULL);
    }
}

static void zk_session_start(struct session *door)
{
    struct zk_session *session = zk_session_of(door);
    const struct zk_probe_options probe = {.loop = door->options.loop,
                                           .servers = session->servers.hosts,
                                           .timeout_ms = door->options.timeout_ms,
                                           .refused = zk_session_on_refused,
                                           .user = session};

    session->watcher = zk_session_watcher;
    LIST_INIT(&session->calls);
    uv_timer_init(loop_uv(door->options.loop), &session->retry);
    session->retry.data = session;
    zk_log_begin(&session->log, door->options.events);
    zk_probe_init(&session->probe, &probe);
    zk_session_enter(session, ZK_SESSION_NONE);
    zk_session_open(session);
}

static void zk_session_stop(struct session *door)
{
    struct zk_session *session = zk_session_of(door);
    struct waiter answers;

    if (session->state == ZK_SESSION_NEW) {
        return;
    }
    waiter_init(&answers, 1);
    zk_session_await_answers(session, &answers);
    zk_session_close(session);
    waiter_fini(&answers);
    zk_session_enter(session, ZK_SESSION_NEW);
    secret_free(session->auth);
    session->auth = NULL;
    uv_close((uv_handle_t *) &session->retry, NULL);
    zk_probe_stop(&session->probe);
    zk_log_end(&session->log);
}

static void zk_session_free(struct session *door)
{
    struct zk_session *session = zk_session_of(door);

    free((char *) session->servers.hosts);
    secret_free((char *) session->servers.auth);
    free((char *) session->servers.auth_file);
    free(session);
}

static int64_t zk_session_id(const struct session *door)
{
    const struct zk_session *session = zk_session_of(door);

    return session->handle == NULL ? 0 : zoo_client_id(session->handle)->client_id;
}

smq_status zk_session_new(struct session **out, const struct zk_servers *servers, smq_error *err)
{
    static const struct session_kind kind = {.start = zk_session_start,
                                             .stop = zk_session_stop,
                                             .free = zk_session_free,
                                             .renew = zk_session_renew,
                                             .is_connected = zk_session_is_connected,
                                             .is_closed = zk_session_is_closed,
                                             .id = zk_session_id,
                                             .timeout = zk_session_timeout,
                                             .get = zk_get,
                                             .children = zk_children,
                                             .sync = zk_sync,
                                             .write = zk_write};
    struct zk_session *session = memory_new(sizeof(*session));

    (void) err;
    session->door.kind = &kind;
    session->servers = (struct zk_servers){.hosts = memory_string(servers->hosts),
                                           .auth = memory_string(servers->auth),
                                           .auth_file = memory_string(servers->auth_file)};
    *out = &session->door;
    return SMQ_OK;
}
