/* zk_calls.h - what zk_session.c (the handle and its events) and zk_call.c (the calls) share.
 *
 * Below: zk_session.h, zk_log.h, zk_probe.h.  Thread: smq:coord. */
#ifndef COORD_ZK_ZK_CALLS_H
#define COORD_ZK_ZK_CALLS_H

#include <stdint.h>

#include <sys/queue.h>
#include <zookeeper/zookeeper.h>

#include "coord/zk/zk_log.h"
#include "coord/zk/zk_probe.h"
#include "coord/zk/zk_session.h"

struct zk_call;
LIST_HEAD(zk_calls, zk_call);

/* Invariant: `calls` are the calls whose function was not called yet; `handle` is NULL unless the
 * session is connecting or connected. */
struct zk_session {
    struct session door;
    struct zk_servers servers;
    enum zk_session_state state;
    zhandle_t *handle;
    char *auth;         /* what `auth_file` had last, or NULL */
    uint64_t number;    /* of the handle; events of earlier handles are dropped */
    watcher_fn watcher; /* of the handle, and of each watch set with it */
    uv_timer_t retry;   /* before the next try to make a handle */
    struct zk_log log;
    struct zk_probe probe;
    struct zk_calls calls;
};

/* The session ends: no function of a call in progress is called any more. */
void zk_calls_drop(struct zk_session *session);

/* The handle is closed: free the calls that were dropped. */
void zk_calls_free(struct zk_session *session);

/* The functions of the kind that make calls. */
void zk_get(struct session *door, const char *path, bool watch, session_reply_fn *fn, void *user);
void zk_children(struct session *door, const char *path, bool watch, session_reply_fn *fn,
                 void *user);
void zk_sync(struct session *door, const char *path, session_reply_fn *fn, void *user);
void zk_write(struct session *door, const struct session_op *ops, size_t count,
              session_reply_fn *fn, void *user);

#endif
