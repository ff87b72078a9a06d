/* zk_internal.h - what zk_session.c, zk_call.c and zk_probe.c share.
 *
 * Thread: as each function says. */
#ifndef COORD_ZK_INTERNAL_H
#define COORD_ZK_INTERNAL_H

#include "coord/zk_session.h"

/* Drops what the library logs. */
void zk_session_log(const char *message);

/* The connection is lost: find out whether the session is refused (zk_probe.c); then
 * zk_session_refused() is called.  zk_probe_end(): it is connected, or closed. */
void zk_probe_begin(struct zk_session *session);
void zk_probe_end(struct zk_session *session);
void zk_session_refused(struct zk_session *session);

/* The one watcher of a handle.  Thread: the library's. */
void zk_session_watcher(zhandle_t *handle, int type, int state, const char *path, void *context);

/* No function of a call made before is called any more.  Thread: smq:coord. */
void zk_calls_drop(struct zk_session *session);

/* Free the calls that were dropped; their handle is closed.  Thread: smq:coord. */
void zk_calls_free(struct zk_session *session);

#endif
