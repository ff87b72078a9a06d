/* assign.h - which member should own which slot: with few moves, with shares that are even to one
 * slot, and even over all topics.
 *
 * Below: nothing of this folder.  Pure. */
#ifndef COORD_ASSIGNER_ASSIGN_H
#define COORD_ASSIGNER_ASSIGN_H

#include <stddef.h>
#include <stdint.h>

/* One topic.  Entries of `slots` are as in an assignment (assignment.h): 0, i, or REVOKING | i,
 * with i = 1 ..  count of the members.  Invariant: no entry names a member that is gone, and slots
 * that were given back are 0. */
struct assign_topic {
    const char *name;
    const int32_t *weights; /* per member; 0: it may own nothing */
    uint16_t *slots;
    /* per slot: its previous owner, the member that had it before it left or ended; or 0 */
    const uint16_t *previous;
    int32_t slot_count;
    int32_t *quotas; /* result: per member, how many slots it is to have in the end */
};

/* Give slots without an owner to members, and mark slots that must move as REVOKING.  Of all even
 * shares the one with the fewest moves is chosen, and of these the one that gives most slots to
 * their previous owners.  Extra slots go to members with the fewest slots over all topics; `ids`
 * (of the members) only break ties, so the order of members does not matter.  O(slots + members log
 * members) per topic. */
void assign(struct assign_topic *topics, size_t topic_count, const char *const *ids, size_t count);

#endif
