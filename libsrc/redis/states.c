/* states.c - the states of connections, of nodes and of their replicas.
 *
 * Pure. */
#include "redis/states.h"

#define TO(state) (1U << (state))

static const unsigned connection_steps[CONNECTION_STATES] = {
    [CONNECTION_RESOLVING] = TO(CONNECTION_CONNECTING) | TO(CONNECTION_CLOSING),
    [CONNECTION_CONNECTING] =
        TO(CONNECTION_SWITCHING) | TO(CONNECTION_GREETING) | TO(CONNECTION_CLOSING),
    [CONNECTION_SWITCHING] = TO(CONNECTION_CONNECTING) | TO(CONNECTION_CLOSING),
    [CONNECTION_GREETING] = TO(CONNECTION_READY) | TO(CONNECTION_CLOSING),
    [CONNECTION_READY] = TO(CONNECTION_CLOSING),
};

static const unsigned node_steps[NODE_STATES] = {
    [NODE_DOWN] = TO(NODE_CONNECTING),
    [NODE_CONNECTING] = TO(NODE_UP) | TO(NODE_DOWN) | TO(NODE_BAD),
    [NODE_UP] = TO(NODE_DOWN) | TO(NODE_BAD),
    [NODE_BAD] = TO(NODE_CONNECTING),
};

static const unsigned replicas_steps[REPLICAS_STATES] = {
    [REPLICAS_UNKNOWN] = TO(REPLICAS_ASKED) | TO(REPLICAS_UNKNOWN),
    [REPLICAS_ASKED] = TO(REPLICAS_FEW) | TO(REPLICAS_OPEN) | TO(REPLICAS_UNKNOWN),
    [REPLICAS_FEW] = TO(REPLICAS_ASKED) | TO(REPLICAS_WAITING) | TO(REPLICAS_UNKNOWN),
    [REPLICAS_OPEN] = TO(REPLICAS_WRITTEN) | TO(REPLICAS_UNKNOWN),
    [REPLICAS_WRITTEN] = TO(REPLICAS_WAITING) | TO(REPLICAS_UNKNOWN),
    [REPLICAS_WAITING] = TO(REPLICAS_OPEN) | TO(REPLICAS_FEW) | TO(REPLICAS_UNKNOWN),
};

bool states_connection_may(enum connection_state from, enum connection_state to)
{
    return (connection_steps[from] & TO(to)) != 0;
}

bool states_node_may(enum node_state from, enum node_state to)
{
    return (node_steps[from] & TO(to)) != 0;
}

bool states_replicas_may(enum replicas_state from, enum replicas_state to)
{
    return (replicas_steps[from] & TO(to)) != 0;
}
