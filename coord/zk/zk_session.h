/* zk_session.h - a session with ZooKeeper: the kind of session whose store is an ensemble.
 *
 * Only asynchronous functions of the client library are used; its threads only post to smq:coord.
 * A call that is made without a connection fails at once, because the client library would keep it
 * and send it later.
 *
 * Below: session.h.  Thread: smq:coord. */
#ifndef COORD_ZK_ZK_SESSION_H
#define COORD_ZK_ZK_SESSION_H

#include <stdbool.h>

#include <slotmq/core.h>

#include "coord/session/session.h"

struct zk_servers {
    const char *hosts;     /* "host:port,..." without a root */
    const char *auth;      /* "user:password" or NULL */
    const char *auth_file; /* in its place: the file that has it, read when a session begins */
};

/* A session that was not started.  Fails: INVALID, if the library was built without ZooKeeper. */
smq_status zk_session_new(struct session **out, const struct zk_servers *servers, smq_error *err);

enum zk_session_state {
    ZK_SESSION_NEW,  /* not started, or stopped */
    ZK_SESSION_NONE, /* no handle: none could be made, or the credentials were refused */
    ZK_SESSION_CONNECTING,
    ZK_SESSION_CONNECTED
};

enum { ZK_SESSION_STATES = ZK_SESSION_CONNECTED + 1 };

/* May a session go from `from` to `to`?  Pure. */
bool zk_session_may(enum zk_session_state from, enum zk_session_state to);

#endif
