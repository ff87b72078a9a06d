/* fleet_tree.h - a fleet as its nodes in ZooKeeper describe it, for operators.
 *
 * fleet_read.c reads the nodes, and fleet_tree.c interprets them.
 *
 * Below: assignment.h, member_text.h, root_text.h.  Pure. */
#ifndef COORD_FLEET_FLEET_TREE_H
#define COORD_FLEET_FLEET_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <slotmq/ops.h>

#include "coord/node/assignment.h"
#include "coord/node/member_text.h"
#include "coord/node/root_text.h"

/* Why a node could not be read.  Where it was read, the field is NULL. */
extern const char fleet_tree_denied[], fleet_tree_damaged[];

struct fleet_tree_member {
    char *name;
    int64_t incarnation; /* 0: its node may not be read, and it has no slots */
    int64_t since_ms;    /* when its node was created; 0: its node may not be read */
    bool exists;         /* its node existed when it was read */
    const char *unread;
    struct member_info info; /* empty if the node could not be read */
};

struct fleet_tree_topic {
    char *name;
    char nonce[MEMBER_WORD_MAX + 1];
    int32_t slots; /* 0: its node could not be read */
    bool exists;   /* its node existed when it was read */
    const char *unread;
    int64_t mzxid;      /* of the assignment; 0: there is none */
    int64_t written_ms; /* when the assignment was last written; 0: never */
    struct assignment assignment;
};

/* A zeroed tree is empty and has no root.  Invariant: after fleet_tree_sort() members and topics
 * are in the order of their names. */
struct fleet_tree {
    const char *path;      /* of the root; belongs to the caller */
    const char *server;    /* as smq_fleet_info has it; belongs to the caller */
    struct root_info root; /* generation 0: the root is missing */
    char assigner[MEMBER_WORD_MAX + 1];
    int64_t assigner_since_ms;
    int32_t epoch;           /* -1: unknown */
    int64_t zxid;            /* the largest zxid of all nodes that were read */
    int64_t reign, grace_ms; /* as a session has them */
    struct fleet_tree_member *members;
    size_t member_count;
    struct fleet_tree_topic *topics;
    size_t topic_count;
};

void fleet_tree_fini(struct fleet_tree *tree);

/* Remove members and topics that were listed, but did not exist when they were read. */
void fleet_tree_drop_gone(struct fleet_tree *tree);

/* Complete members whose nodes may not be read: their incarnations are those that the assignments
 * name. */
void fleet_tree_find_hidden(struct fleet_tree *tree);
void fleet_tree_sort(struct fleet_tree *tree);

/* Remove topics that a member asks for, or may ask for because its node cannot be read; those whose
 * nodes may not be read; and those of which `keep` says so. */
void fleet_tree_drop_asked(struct fleet_tree *tree, bool (*keep)(const char *topic, void *user),
                           void *user);

/* Read untrusted bytes of one node; false: they are damaged, which is noted in the tree where it
 * has a field for that. */
bool fleet_tree_read_assigner(struct fleet_tree *tree, const char *data, size_t len);
bool fleet_tree_read_member(struct fleet_tree_member *member, const char *data, size_t len);
bool fleet_tree_read_topic(struct fleet_tree_topic *topic, const char *data, size_t len);
bool fleet_tree_read_assignment(struct fleet_tree_topic *topic, const char *data, size_t len);

/* Show a sorted tree. */
void fleet_tree_visit(const struct fleet_tree *tree, const smq_fleet_visitor *visitor);

#endif
