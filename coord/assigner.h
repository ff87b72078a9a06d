/* assigner.h - the assigner: which member owns which slot of which topic.  It runs in one member.
 *
 * One module of files in layers: assigner.c (the loop, writing) is above assigner_read.c, which is
 * above assigner_gather.c; assigner_strangers.c is above assigner_decide.c, which is above
 * assigner_home.c and assign.c.
 *
 * Below: root.h, zk_session.h, assignment.h, member_text.h.  Thread: smq:coord. */
#ifndef COORD_ASSIGNER_H
#define COORD_ASSIGNER_H

#include <sys/queue.h>

#include "base/buf.h"
#include "base/hash.h"
#include "coord/assignment.h"
#include "coord/member_text.h"
#include "coord/root.h"

/* A member as read in this round. */
struct assigner_member {
    char *id;
    int64_t incarnation;
    struct member_info info;
    bool unread; /* its node cannot be read, and `info` is empty: it keeps what it has */
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
    bool listed;        /* in this round its node exists */
    bool denied;        /* in this round ZooKeeper denies access to its nodes */
    bool unwritable;    /* ... and did so when its assignment was written last */
    bool denied_said;   /* that was logged, and access was not granted since then */
    bool read;          /* in this round; or damaged, then `old` is the last good one */
    bool write;         /* next differs from old */
    bool remove;        /* no member asks for it any more */
    bool damaged;       /* in this round: its assignment cannot be read */
    bool corrupt;       /* that was logged */
    int64_t idle_since; /* 0: a member asks for it */
    struct assigner_revocation *revocations;
    uint32_t *homes;    /* per slot: assigner_home() of the member that left it or ended; 0: none */
    int64_t cold_until; /* no slot had an owner: nothing is granted until then; 0: some had one */
    int64_t pending_first, pending_last; /* when members that wait came */
    size_t pending_count;
};

LIST_HEAD(assigner_topics, assigner_topic);

enum assigner_job_kind { ASSIGNER_MEMBER, ASSIGNER_TOPIC, ASSIGNER_ASSIGNMENT };

/* A node to be read in this round. */
struct assigner_job {
    struct assigner *assigner;
    enum assigner_job_kind kind;
    char *name; /* of the member or topic */
    char path[MEMBER_WORD_MAX + 32];
    UT_hash_handle hh; /* by `path` */
};

/* Members of one topic that work on different clusters, and when that was said.  All times are
 * milliseconds. */
struct assigner_strangers {
    int64_t since_ms;   /* there have been such members all the time; 0: there are none */
    int64_t said_ms;    /* when they were named last; 0: never */
    int64_t one, other; /* incarnations of those that were named; 0: nobody since `since_ms` */
};

/* What the assigner uses, and whom it tells. */
struct assigner_ports {
    struct zk_session *session;
    struct root *root;              /* whose folders are made again when one is missing */
    void (*superseded)(void *user); /* the epoch is another's: no longer be the assigner */
    void *user;
};

struct assigner {
    const struct zookeeper_env *env;
    struct assigner_ports ports;
    bool active;      /* between assigner_begin() and assigner_end() */
    bool busy, again; /* in a round; another is to follow */
    int32_t epoch;
    struct assigner_member *members; /* of this round, by incarnation */
    size_t member_count;
    struct assigner_job *jobs;   /* of this round, in the order in which they are sent */
    struct assigner_job *unsent; /* the first that is still to be sent, or NULL */
    size_t out;                  /* replies to come */
    bool failed;                 /* one of them did not come */
    bool unlisted;               /* it was logged that a folder may not be listed */
    bool hidden; /* ZooKeeper denied a read or a write: no watch tells when it is allowed */
    void (*read)(struct assigner *assigner, bool good); /* assigner_read() has ended */
    int64_t *unread; /* incarnations of members that were logged as unreadable */
    size_t unread_count;
    struct assigner_strangers strangers;
    struct assigner_topics topics;
    struct assigner_topic *current;
    uint64_t sequence;
    int64_t wake_at; /* the next round, if nothing happens before; 0: none */
    struct buf text;
    uv_timer_t timer;
};

/* assigner.c: what is given must live as long as the assigner, which must stay where it is. */
void assigner_init(struct assigner *assigner, const struct zookeeper_env *env,
                   const struct assigner_ports *ports);
void assigner_stop(struct assigner *assigner);
void assigner_fini(struct assigner *assigner);
void assigner_begin(struct assigner *assigner, int32_t epoch); /* elected */
void assigner_end(struct assigner *assigner);
void assigner_wake(struct assigner *assigner); /* something may have changed */

/* assigner_read.c: read members and topics; then `read` is called. */
void assigner_read(struct assigner *assigner);

/* ZooKeeper denies access to the nodes of the topic: log it, unless it was logged and access was
 * not granted since then. */
void assigner_deny_topic(struct assigner *assigner, struct assigner_topic *topic);

/* Forget what was read.  No reply may be on its way. */
void assigner_forget(struct assigner *assigner);

/* Make `old` of every damaged topic of which it is not known from what the members own, as soon as
 * all of them have said it. */
void assigner_gather(struct assigner *assigner);

/* Make `next`, `write` and `remove` of every topic that was read, and `wake_at`. */
void assigner_decide(struct assigner *assigner, int64_t now_ms);

/* The next round is no later than `at_ms`. */
void assigner_wake_at(struct assigner *assigner, int64_t at_ms);

/* assigner_strangers.c: say which members of one topic work on different clusters, when that was so
 * for a while; sets `wake_at`, too. */
void assigner_name_strangers(struct assigner *assigner, int64_t now_ms);

/* The members `one` and `other`, by incarnation, are such ones; 0 and 0: there are none.  When they
 * are to be named: now, if that is not after `now_ms`, and then they count as named; 0: nobody is
 * to be. */
int64_t assigner_strangers_note(struct assigner_strangers *strangers,
                                const struct zookeeper_timings *timings, int64_t one, int64_t other,
                                int64_t now_ms);

/* assigner_home.c: what is kept of the name of a member that left a slot or died; never 0. */
uint32_t assigner_home(const char *id);

/* Per slot the number of the member that is home to it and may own slots, or 0. */
void assigner_find_homes(const struct assigner *assigner, const struct assigner_topic *topic,
                         const int32_t *weights, uint16_t *out);

#endif
