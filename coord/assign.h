/* assign.h - which member shall own which slot: few moves, shares even to one slot, even over
 * topics.
 *
 * Below: nothing of this folder.  Pure. */
#ifndef COORD_ASSIGN_H
#define COORD_ASSIGN_H

#include <stddef.h>
#include <stdint.h>

/* One topic.  Entries of `slots` are as in an assignment (assignment.h): 0, i, or REVOKING | i,
 * with i = 1 .. count of the members.
 * Invariant: no entry names a member that is gone, and what its owner gave back is 0. */
struct assign_topic {
    const char *name;
    const int32_t *weights; /* per member; 0: may own nothing */
    uint16_t *slots;
    const uint16_t *homes; /* per slot: the member that had it before it went away, or 0 */
    int32_t slot_count;
    int32_t *quotas; /* out: per member, the slots it shall have in the end */
};

/* Fill the holes and mark as REVOKING what must move.  Of all even shares the one with the fewest
 * moves, and of these the one that brings most slots home; `ids` (of the members) only break ties,
 * so the order of members does not matter.  Among equals the extra slot goes to the one that has
 * least over all topics.  O(slots + members log members) for a topic. */
void assign(struct assign_topic *topics, size_t topic_count, const char *const *ids, size_t count);

#endif
