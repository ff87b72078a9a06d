/* ownership.h - the slots of each topic at this member: reading the topic's nodes and its
 * assignment, passing grants and revocations to the owner, leaving.
 *
 * It is one module of three files in layers, with the internal header ownership_internal.h:
 * ownership_node.c (whose the topic's node is) is above ownership.c (the chain of calls of a topic,
 * which reaches the node by struct ownership_node_calls), which is above ownership_slots.c.
 *
 * Below: member.h, root.h, session.h, coord_internal.h, assignment.h, topic_node.h,
 * slot_state.h, refusal.h, no_slot.h.  Thread: smq:coord. */
#ifndef COORD_MEMBER_OWNERSHIP_H
#define COORD_MEMBER_OWNERSHIP_H

#include <stdbool.h>
#include <stdint.h>

#include <sys/queue.h>

#include "coord/coord_internal.h"
#include "coord/member/member.h"
#include "coord/member/refusal.h"
#include "coord/member/topic_node.h"
#include "coord/no_slot.h"

LIST_HEAD(ownership_list, ownership);

/* What a chain of calls does about the topic's node. */
struct ownership_node_calls {
    void (*look)(struct ownership *topic);      /* read the node, then the assignment */
    void (*make_lost)(struct ownership *topic); /* create its missing assignment */
};

/* The topics of this member. */
struct ownership_set {
    const struct zookeeper_env *env;
    struct session *session;
    struct root *root;
    struct member *member;
    struct coord *coord; /* its listener is the owner of the slots */
    const struct ownership_node_calls *node_calls;
    struct ownership_list topics;
    size_t text;                    /* member_text_topic_size() of all of them */
    struct ownership_list departed; /* removed topics with a call in progress or a timer */
};

/* The text of a topic's node. */
struct ownership_node {
    char nonce[MEMBER_WORD_MAX + 1]; /* "": there is no node, or it cannot be read */
    int slots;
    char asked[MEMBER_WORD_MAX + 1]; /* the nonce for which another member asks, or "" */
    /* name and host of that member */
    char asked_by[MEMBER_WORD_MAX + 1], asked_from[MEMBER_WORD_MAX + 1];
};

struct ownership_holder;

enum ownership_phase {
    OWNERSHIP_JOINED,
    OWNERSHIP_LEAVING,
    OWNERSHIP_LATE, /* leaving, and the assigner did not answer in time */
    OWNERSHIP_GONE  /* in the list of the departed */
};

/* The slots of one topic at this member.
 *
 * Invariants: `busy_slots` counts the slots that are not IDLE, `granted_slots` those in `granted`,
 * but 0 once the topic leaves late.  What is `refused` is IDLE.  While the node is neither UNREAD
 * nor OURS a chain is `reading`, unless the topic is gone.
 */
struct ownership {
    LIST_ENTRY(ownership) link;
    struct ownership_set *set;
    char *name, *nonce, *path, *assignment_path;
    uint32_t generation;
    int32_t slots, weight;
    int64_t drain_timeout_ms;
    uint8_t *states;            /* enum slot_state */
    struct token *tokens;       /* tokens of the slots that are not IDLE */
    bool *granted;              /* by the assignment that was read last */
    bool *refused;              /* IDLE until the back-off ends */
    enum refusal_state refusal; /* of `refused_slot` and `refused_token` */
    int32_t refused_slot;
    struct token refused_token;
    bool refusal_logged;
    int32_t busy_slots; /* slots that are not IDLE */
    int32_t granted_slots;
    int64_t granted_at; /* when slots were granted last; 0: never */
    /* by the assignment that was read last: slots that other members own, and those of them that a
     * former session with the name of this member owns */
    int32_t others, former;
    int64_t applied;
    int64_t backoff_ms;
    bool reading, again; /* a chain of calls is in progress; another must follow */
    bool unsynced;       /* the sync before the call in progress has failed */
    bool seen;           /* the node was OURS in any session */
    int64_t damaged;     /* mzxid of an assignment that cannot be read, else 0 */
    int64_t fresh;       /* in this reign it was joined, and no slot had an owner; 0: else */
    /* the reign of the store whose assignment is of an earlier one, so that the node of the member
     * states what it owns; 0: none is */
    int64_t stated;
    bool missing; /* the topic's node existed without an assignment */
    enum topic_node_state node_state;
    struct ownership_node node;           /* as it was read last */
    char identity[ROOT_IDENTITY_LEN + 1]; /* of the root to which the topic is bound in Redis */
    char asked_identity[ROOT_IDENTITY_LEN + 1], logged_identity[ROOT_IDENTITY_LEN + 1];
    char answered[MEMBER_WORD_MAX + 1]; /* the nonce of another member that was answered last */
    bool has_asked;                     /* it has asked through the node */
    struct ownership_holder *holders;   /* members that may list the nonce of the node */
    size_t holder_count, holders_out;
    bool holders_failed, holder_logged;
    int64_t holder_since; /* since when a living member lists it; 0: none does */
    char holder_name[MEMBER_WORD_MAX + 1], holder_host[MEMBER_WORD_MAX + 1];
    struct fingerprint holder_fingerprint;
    enum ownership_phase phase;
    bool omitted;    /* the member's node was last written without this topic */
    int64_t version; /* version of the topic's node when it was read last */
    /* mzxid of the last assignment without this member for which the node was read */
    int64_t looked_at;
    int open_timers;
    uv_timer_t retry, leave;
};

/* The arguments must live as long as the set. */
void ownership_init(struct ownership_set *set, const struct zookeeper_env *env,
                    struct session *session, struct root *root, struct member *member,
                    struct coord *coord, const struct ownership_node_calls *node_calls);

/* Those of ownership_node.c. */
extern const struct ownership_node_calls ownership_node_calls;

/* Close the timers of all topics, and free the topics with them. */
void ownership_stop(struct ownership_set *set);

/* Does this member own a slot, or is it about to take one over or to give one up? */
bool ownership_is_owner(const struct ownership_set *set);

/* Set what of `facts` is known of the topic. */
void ownership_know(const struct ownership *topic, struct no_slot_facts *facts);

/* Is there a topic to consume? */
bool ownership_is_asked(const struct ownership_set *set);

/* The topic of this name, or NULL. */
struct ownership *ownership_find(struct ownership_set *set, const char *name);

void ownership_join(struct ownership_set *set, const struct coord_topic *from);
void ownership_leave(struct ownership *topic);
void ownership_checked(struct ownership *topic, smq_status status, const char *text);
void ownership_answer(struct ownership *topic, const struct coord_command *command);
void ownership_raise(struct ownership *topic, uint32_t generation);
void ownership_surpassed(struct ownership *topic, struct token token);

/* Read the assignments of all topics again, and act on them. */
void ownership_read_all(struct ownership_set *set);

/* The watch on the node at `path`, which may belong to a topic, fired. */
void ownership_changed(struct ownership_set *set, const char *path);

void ownership_expired(struct ownership_set *set);

/* The fence generation was raised: ask again at once for slots that were refused. */
void ownership_ask_anew(struct ownership_set *set);

/* No topic can be consumed any more. */
void ownership_fail_all(struct ownership_set *set, smq_status status, const char *text);

/* Append the lines of the member's node about the topics; `out` is no longer than MEMBER_TEXT_MAX
 * then, if it had less than a sixteenth of that. */
void ownership_encode_all(struct ownership_set *set, struct buf *out);

/* The member's node now has the content that was encoded last. */
void ownership_written(struct ownership_set *set);

#endif
