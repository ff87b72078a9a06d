/* tree_session.h - a session with a tree in Redis: the kind of session that needs no ZooKeeper.
 *
 * It calls one script through its port (`lua/tree.lua`), one call at a time; reads that wait are
 * sent together.  Each call keeps the session; when none has for a sixth of the time-out, one that
 * reads nothing does, which also asks what was missed of the publications.
 *
 * Where no answer comes, or a right is missing, the tree is away, and the session is not ended.  A
 * new reign of the tree (tree.lua) is met with what this session knows: it resumes with its nodes
 * below "members/" and their incarnations, all watches fire, and the session is unsettled until the
 * grace is over.
 *
 * Below: session.h, port.h, tree_text.h, tree_watch.h.  Thread: smq:coord. */
#ifndef COORD_TREE_TREE_SESSION_H
#define COORD_TREE_TREE_SESSION_H

#include <stdbool.h>

#include "coord/port.h"
#include "coord/session/session.h"

/* A session that was not started; the port is kept by the caller, and serves this session alone. */
struct session *tree_session_new(const struct coord_port *port);

enum tree_state {
    TREE_NEW,     /* not started, or stopped */
    TREE_NONE,    /* it has ended, or was refused */
    TREE_OPENING, /* it begins */
    TREE_CONNECTED,
    TREE_AWAY /* no answer comes, or none that can be used */
};

enum { TREE_STATES = TREE_AWAY + 1 };

/* May a session go from `from` to `to`?  Pure. */
bool tree_state_may(enum tree_state from, enum tree_state to);

#endif
