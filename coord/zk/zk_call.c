/* zk_call.c - asynchronous calls, and the list of calls in progress.
 *
 * The client library drops completions when a handle is closed.  So each call stays in the list of
 * its session until its function was called or the handle is gone.
 *
 * Thread: smq:coord; completions run on a thread of the client library. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/owner_of.h"
#include "coord/zk/zk_calls.h"

/* Invariant: once `completed` is set the task is posted, and will free the call. */
struct zk_call {
    struct loop_task task;
    LIST_ENTRY(zk_call) link;
    struct zk_session *session;
    session_reply_fn *fn;
    void *user;
    atomic_bool completed;
    bool dropped; /* the session ended before the reply was handled */
    struct session_reply reply;
    char *path, *data;
    struct Stat stats[SESSION_OPS_MAX];
    zoo_op_result_t results[SESSION_OPS_MAX];
    size_t ops;
    char path_buffer[1]; /* for create, whose name is known */
};

static enum session_status zk_call_status(int rc)
{
    static const struct {
        int rc;
        enum session_status status;
    } statuses[] = {{ZOK, SESSION_OK},
                    {ZNONODE, SESSION_NO_NODE},
                    {ZNODEEXISTS, SESSION_EXISTS},
                    {ZBADVERSION, SESSION_CHANGED},
                    {ZNOTEMPTY, SESSION_NOT_EMPTY},
                    {ZNOAUTH, SESSION_DENIED},
                    {ZCONNECTIONLOSS, SESSION_AWAY}};

    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        if (statuses[i].rc == rc) {
            return statuses[i].status;
        }
    }
    return SESSION_FAILED;
}

static struct session_stat zk_call_stat(const struct Stat *stat)
{
    return (struct session_stat){.version = stat->version,
                                 .writes = stat->version,
                                 .czxid = stat->czxid,
                                 .mzxid = stat->mzxid,
                                 .pzxid = stat->pzxid,
                                 .ctime = stat->ctime,
                                 .mtime = stat->mtime,
                                 .owner = stat->ephemeralOwner};
}

static void zk_call_free(struct zk_call *call)
{
    for (size_t i = 0; i < call->reply.count; i++) {
        free(call->reply.names[i]);
    }
    free(call->reply.names);
    free(call->path);
    free(call->data);
    free(call);
}

static void zk_call_run(struct loop_task *task)
{
    struct zk_call *call = OWNER_OF(task, struct zk_call, task);

    if (!call->dropped) {
        LIST_REMOVE(call, link);
        for (size_t i = 0; i < call->ops; i++) {
            call->reply.errors[i] = zk_call_status(call->results[i].err);
            call->reply.stats[i] = zk_call_stat(&call->stats[i]);
        }
        if (call->ops == 1) {
            call->reply.stat = call->reply.stats[0];
        }
        call->fn(call->user, &call->reply);
    }
    zk_call_free(call);
}

static char *zk_call_path(const struct zk_session *session, const char *path)
{
    size_t size = strlen(session->door.options.root) + strlen(path) + 2;
    char *out = NULL;

    if (*path == '/') {
        return memory_string(path);
    }
    out = memory_new(size);
    (void) snprintf(out, size, "%s%s%s", session->door.options.root, *path != '\0' ? "/" : "",
                    path);
    return out;
}

/* A call for the node at `path`; "": the call has paths of its own, or none. */
static struct zk_call *zk_call_new(struct zk_session *session, const char *path,
                                   session_reply_fn *fn, void *user)
{
    struct zk_call *call = memory_new(sizeof(*call));

    call->task.run = zk_call_run;
    call->session = session;
    call->path = zk_call_path(session, path);
    call->fn = fn;
    call->user = user;
    LIST_INSERT_HEAD(&session->calls, call, link);
    return call;
}

static void zk_call_complete(struct zk_call *call, int rc)
{
    call->reply.status = zk_call_status(rc);
    atomic_store(&call->completed, true);
    loop_post(call->session->door.options.loop, &call->task);
}

void zk_calls_drop(struct zk_session *session)
{
    struct zk_call *call = NULL;

    LIST_FOREACH(call, &session->calls, link)
    {
        call->dropped = true;
    }
}

void zk_calls_free(struct zk_session *session)
{
    struct zk_call *call = LIST_FIRST(&session->calls);

    while (call != NULL) {
        struct zk_call *next = LIST_NEXT(call, link);

        if (call->dropped) {
            LIST_REMOVE(call, link);
            if (!atomic_load(&call->completed)) {
                zk_call_free(call);
            }
        }
        call = next;
    }
}

static void zk_call_on_void(int rc, const void *data)
{
    zk_call_complete((struct zk_call *) data, rc);
}

static void zk_call_on_data(int rc, const char *value, int len, const struct Stat *stat,
                            const void *data)
{
    struct zk_call *call = (struct zk_call *) data;

    call->reply.len = value != NULL && len > 0 ? (size_t) len : 0;
    call->data = memory_copy(value != NULL ? value : "", call->reply.len);
    call->reply.data = call->data;
    if (stat != NULL) {
        call->reply.stat = zk_call_stat(stat);
    }
    zk_call_complete(call, rc);
}

static void zk_call_on_strings(int rc, const struct String_vector *strings, const void *data)
{
    struct zk_call *call = (struct zk_call *) data;

    if (rc == ZOK && strings != NULL && strings->count > 0) {
        call->reply.count = (size_t) strings->count;
        call->reply.names = memory_new(call->reply.count * sizeof(*call->reply.names));
        for (size_t i = 0; i < call->reply.count; i++) {
            call->reply.names[i] = memory_string(strings->data[i]);
        }
    }
    zk_call_complete(call, rc);
}

static void zk_call_on_string(int rc, const char *value, const void *data)
{
    (void) value;
    zk_call_complete((struct zk_call *) data, rc);
}

/* The client library refused the call, or there is no connection: complete it here. */
static void zk_call_sent(struct zk_call *call, int rc)
{
    if (rc != ZOK) {
        zk_call_complete(call, rc);
    }
}

static bool zk_call_possible(const struct zk_session *session)
{
    return session->state == ZK_SESSION_CONNECTED &&
           zoo_state(session->handle) == ZOO_CONNECTED_STATE;
}

/* The context with which watches are set: all share the watcher and the context of the handle. */
static void *zk_call_context(const struct zk_session *session)
{
    return (void *) zoo_get_context(session->handle);
}

void zk_get(struct session *door, const char *path, bool watch, session_reply_fn *fn, void *user)
{
    struct zk_session *session = OWNER_OF(door, struct zk_session, door);
    struct zk_call *call = zk_call_new(session, path, fn, user);
    int rc = ZCONNECTIONLOSS;

    if (zk_call_possible(session)) {
        rc = zoo_awget(session->handle, call->path, watch ? session->watcher : NULL,
                       zk_call_context(session), zk_call_on_data, call);
    }
    zk_call_sent(call, rc);
}

void zk_children(struct session *door, const char *path, bool watch, session_reply_fn *fn,
                 void *user)
{
    struct zk_session *session = OWNER_OF(door, struct zk_session, door);
    struct zk_call *call = zk_call_new(session, path, fn, user);
    int rc = ZCONNECTIONLOSS;

    if (zk_call_possible(session)) {
        rc = zoo_awget_children(session->handle, call->path, watch ? session->watcher : NULL,
                                zk_call_context(session), zk_call_on_strings, call);
    }
    zk_call_sent(call, rc);
}

void zk_sync(struct session *door, const char *path, session_reply_fn *fn, void *user)
{
    struct zk_session *session = OWNER_OF(door, struct zk_session, door);
    struct zk_call *call = zk_call_new(session, path, fn, user);
    int rc = ZCONNECTIONLOSS;

    if (zk_call_possible(session)) {
        rc = zoo_async(session->handle, call->path, zk_call_on_string, call);
    }
    zk_call_sent(call, rc);
}

static void zk_call_op_init(zoo_op_t *out, const struct session_op *op, const char *full,
                            const struct ACL_vector *acl, struct zk_call *call, struct Stat *stat)
{
    switch (op->kind) {
    case SESSION_CHECK:
        zoo_check_op_init(out, full, (int) op->version);
        break;
    case SESSION_CREATE:
    case SESSION_CREATE_EPHEMERAL:
        zoo_create_op_init(out, full, op->data, (int) op->len, acl,
                           op->kind == SESSION_CREATE ? ZOO_PERSISTENT : ZOO_EPHEMERAL,
                           call->path_buffer, sizeof(call->path_buffer));
        break;
    case SESSION_SET:
        zoo_set_op_init(out, full, op->data, (int) op->len, (int) op->version, stat);
        break;
    case SESSION_DELETE:
        zoo_delete_op_init(out, full, (int) op->version);
        break;
    case SESSION_RAISE: /* not called: ZooKeeper has no reigns */
        break;
    }
}

void zk_write(struct session *door, const struct session_op *ops, size_t count,
              session_reply_fn *fn, void *user)
{
    struct zk_session *session = OWNER_OF(door, struct zk_session, door);
    struct zk_call *call = zk_call_new(session, "", fn, user);
    const struct ACL_vector *acl =
        session->servers.auth != NULL || session->servers.auth_file != NULL ? &ZOO_CREATOR_ALL_ACL
                                                                            : &ZOO_OPEN_ACL_UNSAFE;
    zoo_op_t zoo_ops[SESSION_OPS_MAX];
    char *paths[SESSION_OPS_MAX];
    int rc = ZCONNECTIONLOSS;

    call->ops = count;
    for (size_t i = 0; i < count; i++) {
        paths[i] = zk_call_path(session, ops[i].path);
        zk_call_op_init(&zoo_ops[i], &ops[i], paths[i], acl, call, &call->stats[i]);
    }
    if (zk_call_possible(session)) {
        rc =
            zoo_amulti(session->handle, (int) count, zoo_ops, call->results, zk_call_on_void, call);
    }
    for (size_t i = 0; i < count; i++) {
        free(paths[i]);
    }
    zk_call_sent(call, rc);
}
