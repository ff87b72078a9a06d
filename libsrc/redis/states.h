/* states.h - the states of connections, of nodes and of their replicas, and which may follow which.
 *
 * Pure. */
#ifndef REDIS_STATES_H
#define REDIS_STATES_H

#include <stdbool.h>

/* SWITCHING: the socket of an address that failed closes, then the next address is tried. */
enum connection_state {
    CONNECTION_RESOLVING,
    CONNECTION_CONNECTING,
    CONNECTION_SWITCHING,
    CONNECTION_GREETING,
    CONNECTION_READY,
    CONNECTION_CLOSING,
    CONNECTION_STATES /* how many there are */
};

/* DOWN: not connected.  BAD: not connected, because the server refuses the client or cannot be
 * used. */
enum node_state { NODE_DOWN, NODE_CONNECTING, NODE_UP, NODE_BAD, NODE_STATES };

/* UNKNOWN: it is not known whether there are enough replicas.  ASKED: the server was asked.  FEW:
 * there are not, or fewer acknowledged; the server is asked again at `due_ms`.  OPEN: there are
 * enough.  WRITTEN: commands were written in this turn.  WAITING: WAIT was sent behind them. */
enum replicas_state {
    REPLICAS_UNKNOWN,
    REPLICAS_ASKED,
    REPLICAS_FEW,
    REPLICAS_OPEN,
    REPLICAS_WRITTEN,
    REPLICAS_WAITING,
    REPLICAS_STATES
};

bool states_connection_may(enum connection_state from, enum connection_state to);
bool states_node_may(enum node_state from, enum node_state to);
bool states_replicas_may(enum replicas_state from, enum replicas_state to);

#endif
