/* topic_node.h - whose the node of a topic in ZooKeeper is, as far as a member knows, and which
 * state may follow which.
 *
 * Below: nothing of this folder.  Pure. */
#ifndef COORD_MEMBER_TOPIC_NODE_H
#define COORD_MEMBER_TOPIC_NODE_H

#include <stdbool.h>

enum topic_node_state {
    TOPIC_NODE_UNREAD,   /* it was not read in this session, or may have changed since */
    TOPIC_NODE_READING,  /* it is being read */
    TOPIC_NODE_CHECKING, /* Redis is being read, to learn whether the topic is still that of this
                          * member
                          */
    TOPIC_NODE_CHECKED,  /* the topic is; the node is being read again */
    TOPIC_NODE_MAKING,   /* it is being created, or replaced, or gets its missing assignment */
    TOPIC_NODE_FOREIGN,  /* it has another nonce, and the members that may list that are being read
                          */
    TOPIC_NODE_ASKING,   /* one lists it, and the question of this member is being written into the
                            node */
    TOPIC_NODE_OURS      /* it is that of the topic of this member, whose assignment counts */
};

enum { TOPIC_NODE_STATES = TOPIC_NODE_OURS + 1 };

/* Is this change of state allowed? */
bool topic_node_may(enum topic_node_state from, enum topic_node_state to);

#endif
