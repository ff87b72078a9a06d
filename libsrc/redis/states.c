/* states.c - see states.h.
 *
 * Pure. */
#include "redis/states.h"

#include "base/steps.h"

static const unsigned connection_steps[CONNECTION_STATES] = {
    [CONNECTION_RESOLVING] = STEP(CONNECTION_CONNECTING) | STEP(CONNECTION_CLOSING),
    [CONNECTION_CONNECTING] = STEP(CONNECTION_SWITCHING) | STEP(CONNECTION_SECURING) |
                              STEP(CONNECTION_GREETING) | STEP(CONNECTION_CLOSING),
    [CONNECTION_SWITCHING] = STEP(CONNECTION_CONNECTING) | STEP(CONNECTION_CLOSING),
    [CONNECTION_SECURING] = STEP(CONNECTION_GREETING) | STEP(CONNECTION_CLOSING),
    [CONNECTION_GREETING] = STEP(CONNECTION_READY) | STEP(CONNECTION_CLOSING),
    [CONNECTION_READY] = STEP(CONNECTION_CLOSING),
};

static const unsigned node_steps[NODE_STATES] = {
    [NODE_DOWN] = STEP(NODE_CONNECTING),
    [NODE_CONNECTING] = STEP(NODE_UP) | STEP(NODE_DOWN) | STEP(NODE_BAD),
    [NODE_UP] = STEP(NODE_DOWN) | STEP(NODE_BAD),
    [NODE_BAD] = STEP(NODE_CONNECTING),
};

static const unsigned replicas_steps[REPLICAS_STATES] = {
    [REPLICAS_UNKNOWN] = STEP(REPLICAS_ASKED) | STEP(REPLICAS_UNKNOWN),
    [REPLICAS_ASKED] = STEP(REPLICAS_FEW) | STEP(REPLICAS_OPEN) | STEP(REPLICAS_UNKNOWN),
    [REPLICAS_FEW] = STEP(REPLICAS_ASKED) | STEP(REPLICAS_WAITING) | STEP(REPLICAS_UNKNOWN),
    [REPLICAS_OPEN] = STEP(REPLICAS_WRITTEN) | STEP(REPLICAS_UNKNOWN),
    [REPLICAS_WRITTEN] = STEP(REPLICAS_WAITING) | STEP(REPLICAS_UNKNOWN),
    [REPLICAS_WAITING] = STEP(REPLICAS_OPEN) | STEP(REPLICAS_FEW) | STEP(REPLICAS_UNKNOWN),
};

static const unsigned hash_queue_steps[HASH_QUEUE_PLACES] = {
    [HASH_QUEUE_READY] = STEP(HASH_QUEUE_READY) | STEP(HASH_QUEUE_STALLED) |
                         STEP(HASH_QUEUE_UNROUTED) | STEP(HASH_QUEUE_SENT),
    [HASH_QUEUE_STALLED] = STEP(HASH_QUEUE_READY),
    [HASH_QUEUE_UNROUTED] = STEP(HASH_QUEUE_READY),
    [HASH_QUEUE_PAUSED] = STEP(HASH_QUEUE_READY),
    [HASH_QUEUE_SENT] = STEP(HASH_QUEUE_READY) | STEP(HASH_QUEUE_PAUSED),
};

static const unsigned channel_steps[CHANNEL_STATES] = {
    [CHANNEL_IDLE] = STEP(CHANNEL_IDLE) | STEP(CHANNEL_ASKED) | STEP(CHANNEL_GONE),
    [CHANNEL_ASKED] = STEP(CHANNEL_IDLE) | STEP(CHANNEL_ON) | STEP(CHANNEL_GONE),
    [CHANNEL_ON] = STEP(CHANNEL_IDLE) | STEP(CHANNEL_ON) | STEP(CHANNEL_GONE),
};

bool states_connection_may(enum connection_state from, enum connection_state to)
{
    return steps_allow(connection_steps, from, to);
}

bool states_node_may(enum node_state from, enum node_state to)
{
    return steps_allow(node_steps, from, to);
}

bool states_replicas_may(enum replicas_state from, enum replicas_state to)
{
    return steps_allow(replicas_steps, from, to);
}

bool states_hash_queue_may(enum hash_queue_place from, enum hash_queue_place to)
{
    return steps_allow(hash_queue_steps, from, to);
}

bool states_channel_may(enum channel_state from, enum channel_state to)
{
    return steps_allow(channel_steps, from, to);
}
