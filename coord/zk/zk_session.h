/* zk_session.h - one session with ZooKeeper, and the calls made in it.
 *
 * Only asynchronous functions of the client library are used; its threads only post to smq:coord.
 * A call that is made without a connection fails with ZCONNECTIONLOSS, because the client library
 * would keep it and send it later.  When the session ends its calls in progress are dropped:
 * `expired` is called, and their functions are not.
 *
 * Paths are relative to the root: "members/a"; "" is the root itself.  Paths with a leading '/' are
 * absolute.
 *
 * Below: zk_log.h, zk_probe.h; zk_call.c makes the calls.  Thread: smq:coord. */
#ifndef COORD_ZK_ZK_SESSION_H
#define COORD_ZK_ZK_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/queue.h>
#include <zookeeper/zookeeper.h>

#include "base/event.h"
#include "base/loop.h"
#include "coord/zk/zk_log.h"
#include "coord/zk/zk_probe.h"

enum { ZK_OPS_MAX = 3, ZK_ROOT_MAX = 256 };

struct zk_session;

/* The reply to a call; valid only during the callback. */
struct zk_reply {
    int rc;           /* ZOK, or an error code of the client library */
    struct Stat stat; /* get, set */
    const char *data; /* get */
    size_t len;
    char **names; /* children */
    size_t count;
    int errors[ZK_OPS_MAX]; /* multi: one per operation, valid only if the server replied */
    struct Stat stats[ZK_OPS_MAX];
};

typedef void zk_reply_fn(void *user, const struct zk_reply *reply);

enum zk_op_kind { ZK_CHECK, ZK_CREATE, ZK_CREATE_EPHEMERAL, ZK_SET, ZK_DELETE };

struct zk_op {
    enum zk_op_kind kind;
    const char *path;
    const char *data;
    size_t len;
    int32_t version;
};

struct zk_session_options {
    struct loop *loop;
    struct events *events; /* for the log of the client library; may be NULL */
    const char *servers;   /* "host:port,..." without a root; kept by the caller */
    const char *root;
    const char *auth;      /* "user:password" or NULL */
    const char *auth_file; /* in its place: the file that has it, read when a session begins */
    int64_t timeout_ms;
    void (*connected)(void *user); /* also called after a reconnect within the session */
    void (*disconnected)(void *user);
    /* the old session has ended with all its calls; a new one begins */
    void (*expired)(void *user);
    void (*refused)(void *user); /* expired, because the servers refuse this session */
    void (*denied)(void *user);  /* the credentials were refused; no further callback follows */
    /* a watch fired: read the node again; NULL: no call sets a watch */
    void (*changed)(void *user, const char *path);
    void *user;
};

enum zk_session_state {
    ZK_SESSION_NEW,  /* not started, or stopped */
    ZK_SESSION_NONE, /* no handle: none could be made, or the credentials were refused */
    ZK_SESSION_CONNECTING,
    ZK_SESSION_CONNECTED
};

enum { ZK_SESSION_STATES = ZK_SESSION_CONNECTED + 1 };

/* May a session go from `from` to `to`?  Pure. */
bool zk_session_may(enum zk_session_state from, enum zk_session_state to);

struct zk_call;
LIST_HEAD(zk_calls, zk_call);

/* Invariant: `calls` are the calls whose function was not called yet; `handle` is NULL unless the
 * session is connecting or connected. */
struct zk_session {
    struct zk_session_options options;
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

/* Begin a session; the callbacks follow.  The struct must not move in memory. */
void zk_session_start(struct zk_session *session, const struct zk_session_options *options);

/* Close the session and drop all calls.  Blocks: 5 s at most. */
void zk_session_stop(struct zk_session *session);

/* End the session as if it had expired, and begin another. */
void zk_session_renew(struct zk_session *session);

/* Is the session connected, as far as this process knows? */
bool zk_session_is_connected(const struct zk_session *session);

/* Has the session no handle?  Then no earlier call will get a reply. */
bool zk_session_is_closed(const struct zk_session *session);

/* The id of the session at the servers, which is the owner of its ephemeral nodes. */
int64_t zk_session_id(const struct zk_session *session);

/* The agreed timeout in milliseconds. */
int64_t zk_session_timeout(const struct zk_session *session);

/* ZNOAUTH: the node exists, nothing else is known of it, and no watch is set.  There is no call for
 * the Stat alone, because since ZooKeeper 3.9 it needs the same right. */
void zk_get(struct zk_session *session, const char *path, bool watch, zk_reply_fn *fn, void *user);
void zk_children(struct zk_session *session, const char *path, bool watch, zk_reply_fn *fn,
                 void *user);
void zk_sync(struct zk_session *session, const char *path, zk_reply_fn *fn, void *user);

/* Send one or several write operations, which succeed or fail together. */
void zk_write(struct zk_session *session, const struct zk_op *ops, size_t count, zk_reply_fn *fn,
              void *user);

#endif
