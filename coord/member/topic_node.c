/* topic_node.c - UNREAD -> READING -> OURS, with CHECKING and CHECKED, or MAKING, or FOREIGN and
 * ASKING between.  From each of them a failed call leads back to UNREAD.
 *
 * Pure. */
#include "coord/member/topic_node.h"

#include "base/steps.h"

bool topic_node_may(enum topic_node_state from, enum topic_node_state to)
{
    static const unsigned steps[TOPIC_NODE_STATES] = {
        [TOPIC_NODE_UNREAD] =
            STEP(TOPIC_NODE_UNREAD) | STEP(TOPIC_NODE_READING) | STEP(TOPIC_NODE_MAKING),
        [TOPIC_NODE_READING] = STEP(TOPIC_NODE_UNREAD) | STEP(TOPIC_NODE_CHECKING) |
                               STEP(TOPIC_NODE_MAKING) | STEP(TOPIC_NODE_FOREIGN) |
                               STEP(TOPIC_NODE_OURS),
        [TOPIC_NODE_CHECKING] = STEP(TOPIC_NODE_UNREAD) | STEP(TOPIC_NODE_CHECKED),
        [TOPIC_NODE_CHECKED] = STEP(TOPIC_NODE_UNREAD) | STEP(TOPIC_NODE_CHECKING) |
                               STEP(TOPIC_NODE_MAKING) | STEP(TOPIC_NODE_FOREIGN) |
                               STEP(TOPIC_NODE_OURS),
        [TOPIC_NODE_MAKING] = STEP(TOPIC_NODE_UNREAD),
        [TOPIC_NODE_FOREIGN] =
            STEP(TOPIC_NODE_UNREAD) | STEP(TOPIC_NODE_MAKING) | STEP(TOPIC_NODE_ASKING),
        [TOPIC_NODE_ASKING] = STEP(TOPIC_NODE_UNREAD),
        [TOPIC_NODE_OURS] = STEP(TOPIC_NODE_UNREAD) | STEP(TOPIC_NODE_MAKING),
    };

    return steps_allow(steps, from, to);
}
