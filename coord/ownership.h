/* ownership.h - the slots of each topic at this member: reading its nodes and its assignment,
 * telling the owner what is granted and revoked, leaving.
 *
 * ownership.c and ownership_topic.c are one module, which shares ownership_internal.h: one chain of
 * calls per topic goes through both.  ownership_slots.c is below them and makes no calls.
 *
 * Below: member.h, root.h, zk_session.h, coord_internal.h, assignment.h, slot_state.h.
 * Thread: smq:coord. */
#ifndef COORD_OWNERSHIP_H
#define COORD_OWNERSHIP_H

#include <stdbool.h>
#include <stdint.h>

#include <sys/queue.h>

#include "coord/coord_internal.h"
#include "coord/member.h"

LIST_HEAD(ownership_list, ownership);

/* The topics of this member. */
struct ownership_set {
    const struct zookeeper_env *env;
    struct zk_session *session;
    struct root *root;
    struct member *member;
    struct coord *coord; /* whose listener owns the slots */
    struct ownership_list topics;
    struct ownership_list departed; /* gone, with a call or timer still out */
};

/* The text of a topic's node. */
struct ownership_node {
    char nonce[MEMBER_WORD_MAX + 1]; /* "": there is none, or it cannot be read */
    int slots;
    char asked[MEMBER_WORD_MAX + 1]; /* the nonce under which another asks for it, or "" */
    char asked_by[MEMBER_WORD_MAX + 1], asked_from[MEMBER_WORD_MAX + 1]; /* name, host */
};

struct ownership_rival;

enum ownership_phase {
    OWNERSHIP_JOINED,
    OWNERSHIP_LEAVING,
    OWNERSHIP_LATE, /* leaving, and the assigner did not answer in time */
    OWNERSHIP_GONE  /* in the list of the departed */
};

/* Was Redis read in this chain of calls, to learn whose the topic's node is? */
enum ownership_checked { OWNERSHIP_UNCHECKED, OWNERSHIP_CHECKING, OWNERSHIP_CHECKED };

/* The slots of one topic at this member.
 *
 * Invariants: `busy_slots` counts the slots that are not IDLE, `granted_slots` those in `granted`,
 * but 0 once the topic leaves late.  What is `refused` is IDLE.  While CHECKING it is `reading`.
 */
struct ownership {
    LIST_ENTRY(ownership) link;
    struct ownership_set *set;
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
    enum ownership_checked checked;
    bool has_asked;                 /* through the node */
    struct ownership_rival *rivals; /* members that may list the nonce of the node */
    size_t rival_count, rivals_out;
    bool rivals_failed, rival_said;
    int64_t rival_since; /* a living member lists it; 0: none does */
    char rival_name[MEMBER_WORD_MAX + 1], rival_host[MEMBER_WORD_MAX + 1];
    enum ownership_phase phase;
    bool omitted;      /* our node was last written without this topic */
    int32_t version;   /* of the topic's node when it was looked at last */
    int64_t looked_at; /* mzxid of the assignment without us after which we looked again */
    int open_timers;
    uv_timer_t retry, leave;
};

/* What is given must live as long as the set. */
void ownership_init(struct ownership_set *set, const struct zookeeper_env *env,
                    struct zk_session *session, struct root *root, struct member *member,
                    struct coord *coord);

/* Close the timers of all topics, whose memory goes with them. */
void ownership_stop(struct ownership_set *set);

/* Is a topic asked for? */
bool ownership_is_asked(const struct ownership_set *set);

/* The topic of this name, or NULL. */
struct ownership *ownership_find(struct ownership_set *set, const char *name);

void ownership_join(struct ownership_set *set, const struct coord_topic *from);
void ownership_leave(struct ownership *topic);
void ownership_checked(struct ownership *topic, smq_status status, const char *text);
void ownership_answer(struct ownership *topic, const struct coord_command *command);
void ownership_raise(struct ownership *topic, uint32_t generation);

/* Read the assignments of all topics again, and act on them. */
void ownership_read_all(struct ownership_set *set);

/* The watch on the node at `path` fired, which may be one of a topic. */
void ownership_changed(struct ownership_set *set, const char *path);

void ownership_expired(struct ownership_set *set);

/* The fence generation is another: ask for what was refused at once. */
void ownership_ask_anew(struct ownership_set *set);

/* No topic can be consumed any more. */
void ownership_fail_all(struct ownership_set *set, smq_status status, const char *text);

/* Append what our node says of the topics. */
void ownership_encode_all(struct ownership_set *set, struct buf *out);

/* What was encoded last is what our node says now. */
void ownership_written(struct ownership_set *set);

#endif
