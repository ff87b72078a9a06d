/* member.h - the node of this member in ZooKeeper: entering the fleet with it, keeping it up to
 * date, and the heartbeat that renews the lease of the member.
 *
 * To enter, a member reads the root, or creates it (root.h), waits for its first topic, and creates
 * members/NAME with the topics and reads it back in one round trip.  A node without topics would
 * tell the assigner that its name needs no slots, and adding the topics would cost another write.
 * Any call of this chain that fails ends it; the chain begins again after a while or with the next
 * connection.  Every step may be repeated.
 *
 * Below: root.h, session.h, member_state.h, member_text.h, no_slot.h, process.h.  Thread:
 * smq:coord. */
#ifndef COORD_MEMBER_MEMBER_H
#define COORD_MEMBER_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include <slotmq/client.h>

#include "base/buf.h"
#include "coord/member/member_state.h"
#include "coord/no_slot.h"
#include "coord/node/member_text.h"
#include "coord/session/root.h"

struct member_listener {
    void (*encode)(void *user, struct buf *out); /* append the topics' lines of the node */
    void (*written)(void *user); /* the node now has the content that was encoded last */
    void (*entered)(void *user);
    void (*resumed)(void *user); /* the lease had ended and is valid again */
    void (*leased)(void *user, int64_t until_ms, int64_t lease_ms); /* as in coord_listener */
    /* this member will never enter */
    void (*refused)(void *user, smq_status status, const char *text);
    void *user;
};

/* Invariant: incarnation is not 0 exactly in MEMBER_IN. */
struct member {
    const struct zookeeper_env *env;
    struct session *session;
    struct root *root;
    struct member_listener listener;
    enum member_state state;
    struct member_info info; /* without topics */
    char *path;
    int64_t incarnation;
    int64_t lease_until; /* by clock_now_ms() */
    int64_t version;
    int64_t name_until;  /* WAITING: after this time the name counts as taken */
    bool hidden_logged;  /* WAITING: it was logged that the node with this name cannot be read */
    int64_t replaced_at; /* when the node of a dead process was replaced last; 0: never */
    smq_status refusal;  /* REFUSED: the cause */
    const char *refusal_text;
    int64_t entry_at; /* ENTERING: since when ZooKeeper has been asked */
    bool beating;     /* a heartbeat is in progress */
    int64_t beat_at;
    bool dirty, writing;
    /* a write failed, and may have been done: a heartbeat reads `version` before the next write */
    bool stale;
    bool fingerprint_changed; /* it differs from the one that was written last, or is being written
                               */
    int64_t fingerprint_at;   /* when a changed fingerprint last caused a write; 0: never */
    int64_t backoff_ms; /* back-off before the next write after a denied one; 0: none was denied */
    bool unreadable;    /* ZooKeeper has denied the last read of the node */
    bool denied_logged; /* a denied read or write was logged, and not its end */
    uv_timer_t beat, batch, retry;
};

/* The arguments must live as long as the member, which must not move in memory. */
void member_init(struct member *member, const struct zookeeper_env *env, struct session *session,
                 struct root *root, const struct member_listener *listener);
void member_stop(struct member *member);
void member_fini(struct member *member);

/* The session is connected.  Returns true if the member is in the fleet and its node was not lost;
 * otherwise it enters. */
bool member_connected(struct member *member);

/* The session has ended.  member_end_lease() is called first, so that the owner of the slots learns
 * of it before anything else happens. */
void member_end_lease(struct member *member);
void member_expired(struct member *member);

/* The watch on the node at `path`, which may be this member's, fired. */
void member_node_changed(struct member *member, const char *path);

/* The root was read.  `asked`: there is a topic to enter with. */
void member_ready(struct member *member, bool asked);

/* The root cannot be read now: begin to enter again after a while. */
void member_later(struct member *member);

/* A topic was added. */
void member_joined(struct member *member);

/* The member will never enter. */
void member_refuse(struct member *member, smq_status status, const char *text);

/* Set the fingerprint of the cluster on which this process works. */
void member_set_fingerprint(struct member *member, const struct fingerprint *fingerprint);

/* Set whether any Redis node answers this process. */
void member_set_reachable(struct member *member, bool reachable);

/* The content of the node is out of date: write it soon. */
void member_write_soon(struct member *member);

bool member_is_in(const struct member *member);

/* Does the member use the root that was read last? */
bool member_follows_root(const struct member *member);

/* May slots be granted to this member?  They may while its lease has not ended. */
bool member_lease_valid(const struct member *member);

/* The incarnation of this member's node while it is in the fleet, else 0. */
int64_t member_incarnation(const struct member *member);

/* Set what of `facts` the member knows.  `silent` also becomes true if ZooKeeper is late with the
 * answer to a heartbeat, or to a question of the entry. */
void member_know(const struct member *member, struct no_slot_facts *facts);

/* The description of this process, without topics. */
const struct member_info *member_self(const struct member *member);

/* Why the member will never enter; the text stays valid.  OK: it may enter. */
smq_status member_refusal(const struct member *member, const char **text);

#endif
