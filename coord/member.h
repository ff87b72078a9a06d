/* member.h - our node in ZooKeeper: entering with it, keeping it up to date, and the heartbeat that
 * renews the lease of this member.
 *
 * To enter: read the root, or make it (root.h), wait for the first topic, create members/NAME with
 * the topics and look at it in one round trip.  A node without topics would tell the assigner that
 * its name needs no slots, and adding them would cost another write.  Any call of this chain that
 * fails ends it; it begins anew after a while or with the next connection.  Every step may be
 * repeated.
 *
 * Below: root.h, zk_session.h, member_state.h, member_text.h, process.h.  Thread: smq:coord. */
#ifndef COORD_MEMBER_H
#define COORD_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include <slotmq/client.h>

#include "base/buf.h"
#include "coord/member_state.h"
#include "coord/member_text.h"
#include "coord/root.h"

struct member_listener {
    void (*encode)(void *user, struct buf *out); /* append what the node says of the topics */
    void (*written)(void *user); /* what was encoded last is what the node says now */
    void (*entered)(void *user);
    void (*resumed)(void *user); /* the lease had ended and is valid again */
    void (*leased)(void *user, int64_t until_ms, int64_t lease_ms);   /* as in coord_listener */
    void (*refused)(void *user, smq_status status, const char *text); /* it will never enter */
    void *user;
};

/* Invariant: incarnation != 0 exactly in MEMBER_IN. */
struct member {
    const struct zookeeper_env *env;
    struct zk_session *session;
    struct root *root;
    struct member_listener listener;
    enum member_state state;
    struct member_info info; /* without topics */
    char *path;
    int64_t incarnation;
    int64_t lease_until; /* by clock_now_ms() */
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

/* What is given must live as long as the member, which must stay where it is. */
void member_init(struct member *member, const struct zookeeper_env *env, struct zk_session *session,
                 struct root *root, const struct member_listener *listener);
void member_stop(struct member *member);
void member_fini(struct member *member);

/* The session is connected.  true: the member is in, and its node was not lost; else it enters. */
bool member_connected(struct member *member);

/* The session has ended.  member_end_lease() comes first, so that the owner of the slots hears of
 * it before anything else. */
void member_end_lease(struct member *member);
void member_expired(struct member *member);

/* The watch on the node at `path` fired, which may be ours. */
void member_node_changed(struct member *member, const char *path);

/* The root was read.  `asked`: there is a topic to enter with. */
void member_ready(struct member *member, bool asked);

/* The root cannot be read now: begin to enter anew in a while. */
void member_later(struct member *member);

/* There is another topic. */
void member_joined(struct member *member);

/* The member will never enter. */
void member_refuse(struct member *member, smq_status status, const char *text);

/* The marks of our cluster are these now. */
void member_marked(struct member *member, const struct marks *marks);

/* What the node says is out of date. */
void member_write_soon(struct member *member);

bool member_is_in(const struct member *member);

/* Does the member go by the root that was read last? */
bool member_follows_root(const struct member *member);

/* May slots be granted to us?  The lease is not over. */
bool member_lease_valid(const struct member *member);

/* Of our node, as long as the member is in; else 0. */
int64_t member_incarnation(const struct member *member);

/* This process, without topics. */
const struct member_info *member_self(const struct member *member);

/* Why the member will never enter, as a text that stays; OK: it may. */
smq_status member_refusal(const struct member *member, const char **text);

#endif
