/* short_session.h - a session with ZooKeeper of its own for one blocking question of an operator:
 * it joins nothing and leaves nothing behind.
 *
 * Below: zk_session.h, coord.h.  Thread: as each function says. */
#ifndef COORD_SHORT_SESSION_H
#define COORD_SHORT_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/waiter.h"
#include "coord/coord.h"
#include "coord/zk_session.h"

/* What is asked. */
struct short_question {
    void (*ask)(void *user);     /* connected: begin; called again after each reconnect */
    void (*dropped)(void *user); /* the session expired: no call made before is answered */
    void *user;
    const char *late; /* ends the text of UNAVAILABLE when time runs out: what is not known then */
};

/* Invariant: `ended` is set once, together with `result`. */
struct short_session {
    struct short_question question;
    struct loop *loop;
    struct loop_task start, stop;
    struct zk_session session;
    struct zk_session_options options;
    char root[ZK_ROOT_MAX];
    struct waiter waiter;
    bool ended;
    smq_error result;
};

/* Connect to the root at options->servers, ask, and wait until short_session_end() was called.
 * `session` is all zero before.  Blocks: up to session_timeout_ms, but no more than 8 s, and 5 s
 * for closing.  Fails: as short_session_end() was told, UNAVAILABLE, INVALID (servers). Thread: any
 * but smq:io. */
smq_status short_session_run(struct short_session *session, const struct coord_options *options,
                             const struct short_question *question, smq_error *err);

/* The question is answered; what comes after the first call is ignored.  Thread: smq:coord. */
void short_session_end(struct short_session *session, smq_status status, const char *text);

#endif
