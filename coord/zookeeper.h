/* zookeeper.h - the parts of one member of a fleet, and how they call each other.
 *
 * root: the root of the fleet and its folders.  member: the session's node, its heartbeat and
 * lease.  ownership: the slots of one topic here.  election: who is the assigner.  assigner: who
 * owns which slot; runs in one member.
 *
 * Thread: smq:coord. */
#ifndef COORD_ZOOKEEPER_H
#define COORD_ZOOKEEPER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <sys/queue.h>

#include "base/buf.h"
#include "base/waiter.h"
#include "coord/assignment.h"
#include "coord/coord_internal.h"
#include "coord/member_text.h"
#include "coord/root_text.h"
#include "coord/zk_session.h"

/* Milliseconds; tests make them shorter. */
struct zookeeper_timings {
    int64_t join;         /* joins wait so long for more of them */
    int64_t cold;         /* the same when nobody owns anything yet; 3/10 of the session at most */
    int64_t ack;          /* changes of the own node are gathered */
    int64_t leave;        /* a leave waits so long for the assigner */
    int64_t revoke_extra; /* on top of a member's drain_timeout: then its slots move on */
    int64_t retry;        /* after a failed call; also the first back-off of refused slots */
    int64_t idle;         /* the nodes of a topic nobody asks for stay so long */
    int64_t hidden;       /* until the assigner looks again at what ZooKeeper did not show */
    int64_t marks;        /* between two writes of the own node because its marks are others */
    int64_t strangers;    /* members must work on different clusters for so long to be named */
    int64_t remind;       /* between two times that such members are named */
};

/* For the handles made after it is changed. */
extern struct zookeeper_timings zookeeper_timings;

/* The root of the fleet.  Invariant: `info` is changed with `lock` held, on smq:coord. */
struct root {
    char path[ZK_ROOT_MAX];
    pthread_mutex_t lock;
    struct root_info info; /* generation 0: not read yet */
    int step;              /* of making the root and its folders */
    bool open_said;        /* that everyone may write the nodes */
    bool making, entering; /* a call of it is out; of a member that enters */
};

enum member_state {
    MEMBER_OUT,      /* no session, or not yet looked at */
    MEMBER_READY,    /* the root was read; no topic is asked for yet */
    MEMBER_ENTERING, /* a call of the entry is out */
    MEMBER_WAITING,  /* another process has, or had, our name */
    MEMBER_IN,
    MEMBER_REFUSED /* it will never enter: every topic fails */
};

/* Our node.  Invariant: incarnation != 0 exactly in MEMBER_IN. */
struct member {
    enum member_state state;
    struct member_info info; /* without topics */
    char *path;
    int64_t incarnation;
    int32_t version;
    int64_t name_until;  /* WAITING: then the name is taken */
    bool hidden_said;    /* WAITING: that the node with our name may not be read */
    int64_t replaced_at; /* when we last took the name of a dead process; 0: never */
    smq_status refusal;  /* REFUSED: why */
    const char *refusal_text;
    bool beating; /* a heartbeat is out */
    int64_t beat_at;
    bool dirty, writing;
    bool stale;  /* a write failed, and may have been done: a heartbeat reads `version` before the
                    next one */
    bool marked; /* the marks are others than those written last, or about to be written */
    int64_t marked_at;  /* when that last made us write; 0: never */
    int64_t backoff_ms; /* before the next write, since one was denied; 0: none was */
    uv_timer_t beat, batch, retry;
};

/* What stands in the node of a topic. */
struct ownership_node {
    char nonce[MEMBER_WORD_MAX + 1]; /* "": there is none, or it cannot be read */
    int slots;
    char asked[MEMBER_WORD_MAX + 1]; /* the nonce under which another asks for it, or "" */
    char asked_by[MEMBER_WORD_MAX + 1], asked_from[MEMBER_WORD_MAX + 1]; /* name, host */
};

struct ownership_rival;

/* The slots of one topic at this member. */
struct ownership {
    LIST_ENTRY(ownership) link;
    struct zookeeper *zookeeper;
    char *name, *nonce, *path, *assignment_path;
    uint32_t generation;
    int32_t slots, weight;
    int64_t drain_timeout_ms;
    uint8_t *states;            /* enum slot_state */
    struct token *tokens;       /* of the slots that are not IDLE */
    bool *granted;              /* by the assignment read last */
    bool *refused;              /* IDLE until the back-off ends */
    struct token refused_token; /* the last that was refused */
    bool asked_anew;            /* since then */
    bool refusal_said;
    int32_t busy_slots; /* not IDLE */
    int32_t granted_slots;
    int64_t applied;
    int64_t backoff_ms;
    bool reading, again; /* a chain of calls is out; begin anew when it ends */
    bool unsynced;       /* the sync before the call that is out has failed */
    bool known;          /* the nodes of the topic were seen or made in this session */
    bool seen;           /* ... in any session */
    int64_t damaged;     /* mzxid of the assignment when it cannot be read, else 0 */
    bool missing;        /* there was no assignment, although there was the topic's node */
    /* whose the topic's node is: ownership_topic.c */
    struct ownership_node node;           /* as it was read last */
    char identity[ROOT_IDENTITY_LEN + 1]; /* of the root to which Redis binds the topic */
    char asked_identity[ROOT_IDENTITY_LEN + 1], told_identity[ROOT_IDENTITY_LEN + 1];
    char answered[MEMBER_WORD_MAX + 1]; /* the nonce of another that was looked into last */
    bool checking, checked;             /* Redis is read; was read in this chain */
    bool has_asked;                     /* through the node */
    struct ownership_rival *rivals;     /* members that may list the nonce of the node */
    size_t rival_count, rivals_out;
    bool rivals_failed, rival_said;
    int64_t rival_since; /* a living member lists it; 0: none does */
    char rival_name[MEMBER_WORD_MAX + 1], rival_host[MEMBER_WORD_MAX + 1];
    bool leaving, gone;
    bool late;         /* leaving: the assigner's time is over */
    bool omitted;      /* not in what our node was last told to say */
    int32_t version;   /* of the topic's node when it was looked at last */
    int64_t looked_at; /* mzxid of the assignment without us after which we looked again */
    int open_timers;
    uv_timer_t retry, leave;
};

enum election_state { ELECTION_OUT, ELECTION_TRYING, ELECTION_WATCHING, ELECTION_WON };

struct election {
    enum election_state state;
    bool busy;
    int32_t epoch;
    uv_timer_t delay;
};

struct assigner;

struct zookeeper {
    struct coord *coord;
    struct root root;
    char *hosts;
    struct zookeeper_timings timings;
    struct zk_session session;
    struct member member;
    LIST_HEAD(, ownership) topics;
    LIST_HEAD(, ownership) departed; /* gone, with a call or timer still out */
    struct election election;
    struct assigner *assigner;
    int64_t lease_until; /* by clock_now_ms() */
    struct loop_task start;
    struct waiter *waiter;   /* of coord_zookeeper_new(), until the first answer */
    smq_status first_status; /* the first answer */
    const char *first_text;
};

/* zookeeper.c */
/* The first answer, of any kind, ends coord_zookeeper_new(). */
void zookeeper_answered(struct zookeeper *zookeeper, smq_status status, const char *text);
/* What topics of this fleet are bound to in Redis. */
void zookeeper_binding(struct zookeeper *zookeeper, char out[COORD_BINDING_MAX]);

/* root.c */
void root_enter(struct zookeeper *zookeeper);   /* read or make the root; then member_ready() */
void root_changed(struct zookeeper *zookeeper); /* the watch on it fired */
void root_mend(struct zookeeper *zookeeper);    /* one of its folders is missing: make them again */
void root_expired(struct zookeeper *zookeeper);

/* member.c */
void member_init(struct zookeeper *zookeeper);
void member_stop(struct zookeeper *zookeeper);
void member_fini(struct zookeeper *zookeeper);
void member_connected(struct zookeeper *zookeeper);
void member_expired(struct zookeeper *zookeeper);
void member_node_changed(struct zookeeper *zookeeper); /* the watch on our node fired */
void member_ready(struct zookeeper *zookeeper);        /* the root was read */
void member_joined(struct zookeeper *zookeeper);       /* there is another topic */
/* A step of entering failed, or must wait: begin anew in a while. */
void member_later(struct zookeeper *zookeeper, enum member_state state, int64_t delay_ms);
void member_refuse(struct zookeeper *zookeeper, smq_status status, const char *text);
void member_marked(struct zookeeper *zookeeper, const struct marks *marks);
void member_write_soon(struct zookeeper *zookeeper); /* what the node says is out of date */
bool member_lease_valid(const struct zookeeper *zookeeper);

/* ownership.c */
struct ownership *ownership_find(struct zookeeper *zookeeper, const char *name);
void ownership_join(struct zookeeper *zookeeper, const struct coord_topic *from);
void ownership_leave(struct ownership *topic);
void ownership_checked(struct ownership *topic, smq_status status, const char *text);
void ownership_answer(struct ownership *topic, const struct coord_command *command);
void ownership_read(struct ownership *topic); /* sync, read, act */
void ownership_expired(struct zookeeper *zookeeper);
void ownership_ask_anew(struct zookeeper *zookeeper); /* under another fence generation */
void ownership_raise(struct ownership *topic, uint32_t generation);
void ownership_fail_all(struct zookeeper *zookeeper, smq_status status, const char *text);
void ownership_stop(struct zookeeper *zookeeper);
void ownership_encode(struct ownership *topic, struct buf *out);
void ownership_written(struct zookeeper *zookeeper); /* what was encoded last now stands there */

/* ownership_slots.c: the slots of a topic, without ZooKeeper */
void ownership_apply(struct ownership *topic, const struct assignment *assignment, int64_t mzxid);
void ownership_lose(struct ownership *topic);
void ownership_revoke_all(struct ownership *topic);
void ownership_slot_answer(struct ownership *topic, const struct coord_command *command);

/* election.c */
void election_init(struct zookeeper *zookeeper);
void election_stop(struct zookeeper *zookeeper);
void election_begin(struct zookeeper *zookeeper);  /* we are a member */
void election_again(struct zookeeper *zookeeper);  /* reconnected, or the leader's node changed */
void election_resign(struct zookeeper *zookeeper); /* the epoch is another's */
void election_expired(struct zookeeper *zookeeper);

/* assigner.c */
void assigner_init(struct zookeeper *zookeeper);
void assigner_begin(struct zookeeper *zookeeper); /* elected */
void assigner_end(struct zookeeper *zookeeper);
void assigner_wake(struct zookeeper *zookeeper); /* something may have changed */
void assigner_stop(struct zookeeper *zookeeper);
void assigner_fini(struct zookeeper *zookeeper);

#endif
