/* assigner.h - what assigner.c (reading and writing) and assigner_decide.c (deciding) share.
 *
 * Thread: smq:coord. */
#ifndef COORD_ASSIGNER_H
#define COORD_ASSIGNER_H

#include "coord/zookeeper.h"

/* A member as read in this round. */
struct assigner_member {
    char *id;
    int64_t incarnation;
    struct member_info info;
};

/* When a slot's revocation was first seen. */
struct assigner_revocation {
    int64_t mzxid; /* of a version in which it already was REVOKING; 0: it is not */
    int64_t at_ms;
};

/* A topic, kept from round to round.  Invariant: `old` is the assignment of version `version`. */
struct assigner_topic {
    LIST_ENTRY(assigner_topic) link;
    char *name;
    char nonce[MEMBER_WORD_MAX + 1];
    int32_t slots; /* 0: its node cannot be read; it is left alone */
    struct assignment old, next;
    int32_t version, node_version; /* of the assignment and of the topic's node */
    int64_t mzxid;
    bool read;          /* in this round; or damaged, then `old` is the last good one */
    bool write;         /* next differs from old */
    bool remove;        /* nobody asks for it any more */
    bool corrupt;       /* said already */
    int64_t idle_since; /* 0: somebody asks for it */
    struct assigner_revocation *revocations;
    int64_t pending_first, pending_last; /* when members that wait came */
    size_t pending_count;
};

LIST_HEAD(assigner_topics, assigner_topic);

struct assigner {
    struct zookeeper *zookeeper;
    bool active, busy, again;
    struct assigner_member *members; /* of this round, by incarnation */
    size_t member_count;
    char **names; /* still to be read */
    size_t name_count, name_at;
    struct assigner_topics topics;
    struct assigner_topic *current;
    uint64_t sequence;
    int64_t wake_at; /* the next round, if nothing happens before; 0: none */
    struct buf text;
    uv_timer_t timer;
};

/* Make `next`, `write` and `remove` of every topic that was read, and `wake_at`. */
void assigner_decide(struct assigner *assigner, int64_t now_ms);

#endif
