/* assigner.h - the assigner: decides which member owns which slot of which topic.  It runs in one
 * member.
 *
 * It is one module of files in layers: assigner.c (the loop, writing) is above assigner_read.c,
 * which is above assigner_gather.c; assigner_mismatch.c is above assigner_decide.c, which is above
 * assigner_previous.c, assigner_reachability.c and assign.c.
 *
 * Below: root.h, session.h, assignment.h, member_text.h.  Thread: smq:coord. */
#ifndef COORD_ASSIGNER_ASSIGNER_H
#define COORD_ASSIGNER_ASSIGNER_H

#include <sys/queue.h>

#include "base/buf.h"
#include "base/hash.h"
#include "coord/node/assignment.h"
#include "coord/node/member_text.h"
#include "coord/session/root.h"

/* A member as read in this round. */
struct assigner_member {
    char *id;
    int64_t incarnation; /* 0: its node may not be read, and it has no slots */
    struct member_info info;
    bool unread; /* its node cannot be read, so `info` is empty; it keeps its slots */
};

/* When a slot's revocation was first seen. */
struct assigner_revocation {
    int64_t mzxid; /* of a version in which the slot was REVOKING; 0: it is not */
    int64_t at_ms; /* without the time in which the store was away */
    bool late;     /* its time has passed, which was reported */
};

/* Does Redis answer a member?  MISSED: no longer, and its slots stay for now.  AWAY: no, and its
 * slots move.  RETURNED: again, and it waits until it gets slots. */
enum assigner_presence { ASSIGNER_PRESENT, ASSIGNER_MISSED, ASSIGNER_AWAY, ASSIGNER_RETURNED };

enum { ASSIGNER_PRESENCES = ASSIGNER_RETURNED + 1 };

/* A member that Redis does not answer, or did not answer a while ago. */
struct assigner_reachability {
    int64_t incarnation;
    enum assigner_presence state;
    /* since when it is in the state; MISSED: and another member reaches Redis; 0: none does */
    int64_t since_ms;
    int64_t hold_ms; /* how long it is RETURNED; 0: no slot of it has moved for long */
};

/* A topic, kept between rounds.  Invariant: `old` is the assignment of version `version`. */
struct assigner_topic {
    LIST_ENTRY(assigner_topic) link;
    char *name;
    char nonce[MEMBER_WORD_MAX + 1];
    int32_t slots; /* 0: its node cannot be read, and nothing of it is changed */
    struct assignment old, next;
    int64_t version, node_version; /* of the assignment; of the topic's node */
    int64_t mzxid;
    bool listed;        /* its node exists in this round */
    bool bare;          /* and its assignment is missing */
    bool fresh;         /* no slot of it had an owner before this reign of the store */
    bool past;          /* members may be missing that own slots of it: nothing of it is changed */
    bool denied;        /* ZooKeeper denies access to its nodes in this round */
    bool unwritable;    /* ZooKeeper denied the last write of its assignment */
    bool denied_logged; /* the denial was logged, and access was not granted since */
    /* it was read in this round; if damaged, `old` is the last good assignment */
    bool read;
    bool write;         /* `next` differs from `old` */
    bool remove;        /* no member asks for it any more; it may be unread or damaged */
    bool damaged;       /* its assignment cannot be read in this round */
    bool corrupt;       /* the damage was logged */
    bool oversized;     /* its next assignment was too large for a node, which was logged */
    int64_t idle_since; /* 0: a member asks for it */
    struct assigner_revocation *revocations;
    /* per slot: assigner_owner_hash() of the member that had it before it left or ended; 0: none */
    uint32_t *previous;
    struct assigner_reachability *reachability; /* members without an entry are PRESENT */
    size_t reachability_count;
    /* when no slot had an owner: nothing is granted until then; 0: some slot had one */
    int64_t cold_until;
    int64_t cold_last;                   /* the same: when the last member came to the topic */
    int64_t cold_most;                   /* and until when it may wait, while more of them come */
    size_t cold_count;                   /* and how many they were */
    int64_t pending_first, pending_last; /* when the first and the last waiting member came */
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
    bool kept;         /* what was read before is kept: it is not sent */
    UT_hash_handle hh; /* by `path` */
};

/* A node whose watch was set when it was read, and has not fired since. */
struct assigner_watch {
    UT_hash_handle hh; /* by `path` */
    char path[];
};

/* The warning about members of one topic that work on different clusters.  All times are
 * milliseconds. */
struct assigner_mismatch {
    int64_t since_ms;   /* since when there are such members; 0: there are none */
    int64_t logged_ms;  /* when the warning was logged last; 0: never */
    int64_t one, other; /* incarnations of the members that it named; 0: none since `since_ms` */
};

/* When members came to the fleet, as far as this assigner has seen; it counts as one that came when
 * its office began. */
struct assigner_arrivals {
    int64_t newest; /* incarnation of the member that came last; 0: no round was decided */
    int64_t last_ms;
    int64_t other_ms; /* when the last one before it came */
};

/* What the assigner uses, and its callback. */
struct assigner_ports {
    struct session *session;
    struct root *root;              /* its folders are created again when one is missing */
    void (*superseded)(void *user); /* another member has a newer epoch: stop being the assigner */
    /* one owner did not release this number of slots in time, and others get them */
    void (*not_released)(void *user, size_t slots);
    void *user;
};

struct assigner {
    const struct zookeeper_env *env;
    struct assigner_ports ports;
    bool active;      /* between assigner_begin() and assigner_end() */
    bool busy, again; /* a round runs; another one must follow */
    int64_t epoch;
    int64_t reign;                   /* of the store when the round began */
    bool unsettled;                  /* the store was it then: members may have been missing */
    int64_t away_ms;                 /* for how long the store was away or unsettled, in all */
    struct assigner_member *members; /* of this round, by incarnation */
    size_t member_count;
    struct assigner_watch *watches;
    bool whole;                  /* this round reads all nodes */
    int64_t whole_at;            /* when the next round may do so; 0: it must */
    struct assigner_job *jobs;   /* of this round, in the order in which they are sent */
    struct assigner_job *unsent; /* the first one that is not sent yet, or NULL */
    size_t out;                  /* replies that are still to come */
    bool failed;                 /* one of the replies did not come */
    bool unlisted;               /* it was logged that a folder may not be listed */
    bool hidden; /* ZooKeeper denied a read or write; no watch fires when that changes */
    void (*read)(struct assigner *assigner, bool good); /* assigner_read() has ended */
    size_t ignored;      /* members that were read in this round, and are too many */
    bool ignored_logged; /* there were some in the last round, which was logged */
    char **unread;       /* the names of members that were logged as unreadable */
    size_t unread_count;
    struct assigner_mismatch mismatch;
    struct assigner_arrivals arrivals;
    struct assigner_topics topics;
    struct assigner_topic *current;
    uint64_t sequence;
    int64_t wake_at; /* when the next round begins without an event; 0: never */
    struct buf text;
    uv_timer_t timer;
};

/* assigner.c: the arguments must live as long as the assigner, which must not move in memory. */
void assigner_init(struct assigner *assigner, const struct zookeeper_env *env,
                   const struct assigner_ports *ports);
void assigner_stop(struct assigner *assigner);
void assigner_fini(struct assigner *assigner);
void assigner_begin(struct assigner *assigner, int64_t epoch); /* this member was elected */
void assigner_end(struct assigner *assigner);
void assigner_wake(struct assigner *assigner);                      /* something may have changed */
void assigner_changed(struct assigner *assigner, const char *path); /* a watch fired */

/* assigner_read.c: read members and topics; then `read` is called.  All of them when the last such
 * round was long enough ago for their number, else those whose watches have fired since they were
 * read; then the next whole round is scheduled. */
void assigner_read(struct assigner *assigner);

/* The node may have changed: the next round reads it.  NULL: all nodes. */
void assigner_doubt(struct assigner *assigner, const char *path);

/* ZooKeeper denies access to the nodes of the topic: log it, unless it was logged and access was
 * not granted since then. */
void assigner_deny_topic(struct assigner *assigner, struct assigner_topic *topic);

/* Forget what was read.  No call may be in progress. */
void assigner_forget(struct assigner *assigner);

/* Build `old` of every damaged topic that has no last good assignment from the slots that the
 * members own, once all of them have stated these. */
void assigner_gather(struct assigner *assigner);

/* Let the members' word stand beside that of assignments of an earlier reign of the store: they are
 * written again, with the slots that members own.  Before all members can have come back nothing of
 * a topic is changed, but for topics that are new. */
void assigner_adopt(struct assigner *assigner);

/* Set `next`, `write` and `remove` of every topic that was read, and `wake_at`. */
void assigner_decide(struct assigner *assigner, int64_t now_ms);

/* Begin the next round at `at_ms` or earlier. */
void assigner_wake_at(struct assigner *assigner, int64_t at_ms);

/* assigner_mismatch.c: warn if members of one topic have worked on different clusters for a while;
 * sets `wake_at`, too. */
void assigner_log_mismatch(struct assigner *assigner, int64_t now_ms);

/* Note that the members `one` and `other`, by incarnation, work on different clusters; 0 and 0: no
 * members do.  Returns when to log them: if that is not after `now_ms` they count as logged; 0:
 * never. */
int64_t assigner_mismatch_note(struct assigner_mismatch *mismatch,
                               const struct zookeeper_timings *timings, int64_t one, int64_t other,
                               int64_t now_ms);

/* assigner_reachability.c: may a member go from one state to the other?  Pure. */
bool assigner_presence_may(enum assigner_presence from, enum assigner_presence to);

/* Note whether Redis answers a member, and whether it answers `others` of the topic.  Returns when
 * to note it again; 0: with the next change. */
int64_t assigner_reachability_note(struct assigner_reachability *reachability,
                                   const struct zookeeper_timings *timings, bool reachable,
                                   bool others, int64_t now_ms);

/* Note it for all members that ask for the topic: those with a weight, which is negative if the
 * member is not in the assignment.  Returns when to note it again; 0: with the next change. */
int64_t assigner_reachability_read(const struct assigner *assigner, struct assigner_topic *topic,
                                   const int32_t *weights, int64_t now_ms);

/* Take the weights away from members that must get no slots.  Returns true if no member with a
 * weight reaches Redis: then nothing may move. */
bool assigner_reachability_limit(const struct assigner *assigner,
                                 const struct assigner_topic *topic, int32_t *weights);

bool assigner_reachability_is_present(const struct assigner_topic *topic, int64_t incarnation);
bool assigner_reachability_is_away(const struct assigner_topic *topic, int64_t incarnation);

/* assigner_previous.c: the hash that is kept of the name of a member that left a slot or ended;
 * never 0. */
uint32_t assigner_owner_hash(const char *id);

/* Per slot: the number of its previous owner, if that may own slots, or 0. */
void assigner_find_previous(const struct assigner *assigner, const struct assigner_topic *topic,
                            const int32_t *weights, uint16_t *out);

#endif
