/* fleet_tree.h - a fleet as its nodes in ZooKeeper say, for an operator who looks at it.
 *
 * fleet_read.c reads the nodes, fleet_tree.c says what they mean.
 *
 * Below: assignment.h, member_text.h, root_text.h.  Pure. */
#ifndef COORD_FLEET_TREE_H
#define COORD_FLEET_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <slotmq/fleet.h>

#include "coord/assignment.h"
#include "coord/member_text.h"
#include "coord/root_text.h"

/* Why a node is not read; NULL elsewhere: it is. */
extern const char fleet_tree_denied[], fleet_tree_damaged[];

struct fleet_tree_member {
    char *name;
    int64_t incarnation;
    int64_t since_ms; /* its node was made */
    const char *unread;
    struct member_info info; /* empty when it is unread */
};

struct fleet_tree_topic {
    char *name;
    char nonce[MEMBER_WORD_MAX + 1];
    int32_t slots; /* 0: its node is unread */
    bool exists;   /* its node was there when it was read */
    const char *unread;
    int64_t mzxid;      /* of the assignment; 0: there is none */
    int64_t written_ms; /* when it was written last; 0: never */
    struct assignment assignment;
};

/* Zero is an empty tree without a root.  Invariant: members and topics are in the order of their
 * names after fleet_tree_sort(). */
struct fleet_tree {
    const char *path;      /* of the root; the caller's */
    struct root_info root; /* generation 0: it is missing */
    char leader[MEMBER_WORD_MAX + 1];
    int64_t leader_since_ms;
    int32_t epoch; /* -1: not known */
    int64_t zxid;  /* the largest of all nodes that were read */
    struct fleet_tree_member *members;
    size_t member_count;
    struct fleet_tree_topic *topics;
    size_t topic_count;
};

void fleet_tree_fini(struct fleet_tree *tree);
void fleet_tree_sort(struct fleet_tree *tree);

/* Read untrusted bytes of one node; false: they are damaged, which is noted where the tree has room
 * for it. */
bool fleet_tree_take_leader(struct fleet_tree *tree, const char *data, size_t len);
bool fleet_tree_take_member(struct fleet_tree_member *member, const char *data, size_t len);
bool fleet_tree_take_topic(struct fleet_tree_topic *topic, const char *data, size_t len);
bool fleet_tree_take_assignment(struct fleet_tree_topic *topic, const char *data, size_t len);

/* Show all of a sorted tree. */
void fleet_tree_visit(const struct fleet_tree *tree, const smq_fleet_visitor *visitor);

#endif
