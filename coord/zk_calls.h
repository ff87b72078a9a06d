/* zk_calls.h - the calls of a session that are out.
 *
 * Below: zk_session.h, of which zk_call.c uses only the struct and never a function.
 *
 * Thread: smq:coord. */
#ifndef COORD_ZK_CALLS_H
#define COORD_ZK_CALLS_H

#include "coord/zk_session.h"

/* No function of a call made before is called any more. */
void zk_calls_drop(struct zk_session *session);

/* Free the calls that were dropped; their handle is closed. */
void zk_calls_free(struct zk_session *session);

#endif
