/* states.h - the states of connections, of nodes and their replicas, of the queues of requests and
 * of subscribed channels, and which may follow which.
 *
 * Pure. */
#ifndef REDIS_STATES_H
#define REDIS_STATES_H

#include <stdbool.h>

/* SWITCHING: the socket of an address that failed closes, then the next address is tried.
 * SECURING: the handshake of TLS. */
enum connection_state {
    CONNECTION_RESOLVING,
    CONNECTION_CONNECTING,
    CONNECTION_SWITCHING,
    CONNECTION_SECURING,
    CONNECTION_GREETING,
    CONNECTION_READY,
    CONNECTION_CLOSING,
    CONNECTION_STATES /* number of states */
};

/* DOWN: not connected.  BAD: not connected, because the server refuses the client or cannot be
 * used. */
enum node_state { NODE_DOWN, NODE_CONNECTING, NODE_UP, NODE_BAD, NODE_STATES };

/* UNKNOWN: it is not known whether there are enough replicas.  ASKED: the server was asked.  FEW:
 * there are too few, or too few acknowledged; the server is asked again at `due_ms`.  OPEN: there
 * are enough.  WRITTEN: commands were written in this turn.  WAITING: WAIT was sent after them. */
enum replicas_state {
    REPLICAS_UNKNOWN,
    REPLICAS_ASKED,
    REPLICAS_FEW,
    REPLICAS_OPEN,
    REPLICAS_WRITTEN,
    REPLICAS_WAITING,
    REPLICAS_STATES
};

/* READY: the queue's first request is sent in the next turn of the loop.  STALLED: it waits for its
 * node.  UNROUTED: it waits for a slot map.  PAUSED: it waits until `until_ms`.  SENT: its request
 * is in flight. */
enum hash_queue_place {
    HASH_QUEUE_READY,
    HASH_QUEUE_STALLED,
    HASH_QUEUE_UNROUTED,
    HASH_QUEUE_PAUSED,
    HASH_QUEUE_SENT,
    HASH_QUEUE_PLACES
};

/* IDLE: the channel is subscribed as soon as its node is ready.  ASKED: SSUBSCRIBE is in flight.
 * ON: the subscription is confirmed.  GONE: the channel has no listeners any more, and is freed
 * once its last notice has returned. */
enum channel_state { CHANNEL_IDLE, CHANNEL_ASKED, CHANNEL_ON, CHANNEL_GONE, CHANNEL_STATES };

bool states_connection_may(enum connection_state from, enum connection_state to);
bool states_node_may(enum node_state from, enum node_state to);
bool states_replicas_may(enum replicas_state from, enum replicas_state to);
bool states_hash_queue_may(enum hash_queue_place from, enum hash_queue_place to);
bool states_channel_may(enum channel_state from, enum channel_state to);

#endif
