/* short_session.h - a session with the store of its own for one blocking operation of an operator;
 * it does not join the fleet and leaves nothing behind.
 *
 * Below: session.h, coord.h.  Thread: as each function says. */
#ifndef COORD_FLEET_SHORT_SESSION_H
#define COORD_FLEET_SHORT_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/waiter.h"
#include "coord/coord.h"
#include "coord/session/session.h"
#include "coord/store.h"

/* The operation. */
struct short_question {
    void (*ask)(void *user); /* connected: begin; called again after each reconnect */
    /* the session expired, so earlier calls get no reply; NULL: there is nothing to do then */
    void (*dropped)(void *user);
    void *user;
    bool looks; /* it only reads */
    /* the end of the text of UNAVAILABLE when the time has passed: what is unknown then */
    const char *late;
};

/* Invariant: `ended` is set once, together with `result`. */
struct short_session {
    struct short_question question;
    struct loop *loop;
    struct loop_task start, stop;
    struct coord_store store;
    struct session *session; /* the store's */
    struct session_options options;
    struct waiter waiter;
    bool ended;
    smq_error result;
};

/* Connect to the root at options->servers, begin the operation, and wait until short_session_end()
 * is called.  `session` is zeroed before.  Blocks: session_timeout_ms, at most 8 s, and 5 s more to
 * close the session.  Fails: with the status given to short_session_end(), UNAVAILABLE, INVALID
 * (servers).  Thread: any but smq:io. */
smq_status short_session_run(struct short_session *session, const struct coord_options *options,
                             const struct short_question *question, smq_error *err);

/* End the operation; further calls are ignored.  Thread: smq:coord. */
void short_session_end(struct short_session *session, smq_status status, const char *text);

/* The same with OTHER_FLEET: the root node cannot be read.  Thread: smq:coord. */
void short_session_end_other_fleet(struct short_session *session);

#endif
