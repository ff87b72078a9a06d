/* zk_internal.h - what zk_session.c and zk_call.c share.
 *
 * Thread: as each function says. */
#ifndef COORD_ZK_INTERNAL_H
#define COORD_ZK_INTERNAL_H

#include "coord/zk_session.h"

/* The one watcher of a handle.  Thread: the library's. */
void zk_session_watcher(zhandle_t *handle, int type, int state, const char *path, void *context);

/* No function of a call made before is called any more.  Thread: smq:coord. */
void zk_calls_drop(struct zk_session *session);

/* Free the calls that were dropped; their handle is closed.  Thread: smq:coord. */
void zk_calls_free(struct zk_session *session);

#endif
