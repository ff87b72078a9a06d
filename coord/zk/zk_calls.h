/* zk_calls.h - the calls of a session that are in progress.
 *
 * Below: zk_session.h, of which zk_call.c uses only the struct and no function.
 *
 * Thread: smq:coord. */
#ifndef COORD_ZK_ZK_CALLS_H
#define COORD_ZK_ZK_CALLS_H

#include "coord/zk/zk_session.h"

/* Drop all calls: their functions are not called any more. */
void zk_calls_drop(struct zk_session *session);

/* Free the dropped calls, after their handle was closed. */
void zk_calls_free(struct zk_session *session);

#endif
