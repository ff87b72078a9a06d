/* ownership_internal.h - what ownership.c (the chain of calls of a topic), ownership_node.c (its
 * node) and ownership_slots.c (its slots) share.
 *
 * Below: ownership.h.  Thread: smq:coord. */
#ifndef COORD_MEMBER_OWNERSHIP_INTERNAL_H
#define COORD_MEMBER_OWNERSHIP_INTERNAL_H

#include "coord/member/ownership.h"
#include "coord/node/assignment.h"

/* A member that may list the nonce of the node. */
struct ownership_holder {
    struct ownership *topic;
    char *name;
};

/* ownership.c */
/* The one place where the state of the node changes. */
void ownership_enter_node(struct ownership *topic, enum topic_node_state state);
void ownership_drop_holders(struct ownership *topic);
void ownership_read(struct ownership *topic); /* sync, read the nodes, act */
struct session *ownership_session(struct ownership *topic);
void ownership_fail(struct ownership *topic, smq_status status, const char *text);
void ownership_retry_later(struct ownership *topic, int64_t delay_ms);
void ownership_back_off(struct ownership *topic); /* ownership_retry_later() with a growing delay */
/* The chain of calls has ended, and a node that is not OURS is UNREAD; returns whether the topic
 * may be used. */
bool ownership_chain_over(struct ownership *topic, const struct session_reply *reply);
/* The sync before the read has failed: the reply may be old, and the chain has ended. */
bool ownership_unsynced(struct ownership *topic);
void ownership_read_assignment(struct ownership *topic);

/* ownership_slots.c: the slots of a topic, without ZooKeeper */
void ownership_apply(struct ownership *topic, const struct assignment *assignment, int64_t mzxid);
void ownership_lose(struct ownership *topic);
void ownership_lose_taken(struct ownership *topic); /* those that are being taken over */
void ownership_revoke_all(struct ownership *topic);
void ownership_slot_answer(struct ownership *topic, const struct coord_command *command);
/* The token of what the assignment with this number grants. */
struct token ownership_token(const struct ownership *topic, int64_t mzxid);

/* ownership_node.c */
/* When to check the members that list the nonce of the topic's node again, `waited_ms` after they
 * were met: after the back-off, but not later than the end of the wait, at `limit_ms`.  Pure. */
int64_t ownership_holder_delay(int64_t backoff_ms, int64_t waited_ms, int64_t limit_ms);
/* What is known of a member that lists that nonce, by the clusters of this member and of that one,
 * and what to do.  Pure. */
const char *ownership_holder_advice(const struct fingerprint *own,
                                    const struct fingerprint *holder);
/* `fresh` of a topic after a write of its node, which said it.  It is said once, because it is not
 * true of a node that is lost later; but not when another member has made the node first.
 * Pure. */
int64_t ownership_fresh_after(int64_t fresh, enum session_status status);

#endif
