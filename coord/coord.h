/* coord.h - coordination: which process owns which slot.  This is the only header of this folder
 * that others include.
 *
 * The nodes of a fleet are in ZooKeeper or in a tree in Redis (docs/coordination.md).  Coordination
 * knows nothing of Redis; the tree is reached through port.h.
 *
 * Thread: every function may be called from any thread; none blocks except coord_free().  The
 * listener is called on smq:coord, must not block, and may call every function but coord_free(). */
#ifndef COORD_COORD_H
#define COORD_COORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <slotmq/client.h>
#include <slotmq/ops.h>

#include "base/event.h"
#include "coord/port.h"
#include "model/fingerprint.h"
#include "model/token.h"

struct coord;

enum { COORD_BINDING_MAX = 320 };

struct coord_grant {
    int32_t slot;
    struct token token;
};

/* Why this process owns no slot of a topic that it consumes. */
enum coord_no_slot {
    COORD_NO_SLOT_ASSIGNER,  /* some slots are free, and the assigner has not granted them */
    COORD_NO_SLOT_GRANTING,  /* it grants slots at the moment, or granted some of them just now */
    COORD_NO_SLOT_STANDBY,   /* other members own all slots */
    COORD_NO_SLOT_FORMER,    /* a former session with the name of this member owns some of them */
    COORD_NO_SLOT_TAKEOVER,  /* slots are granted, and Redis has not confirmed it yet */
    COORD_NO_SLOT_REFUSED,   /* Redis has refused slots that are granted */
    COORD_NO_SLOT_ZOOKEEPER, /* ZooKeeper does not answer */
    COORD_NO_SLOT_NAME,      /* an earlier process with this name has a session that still lives */
    COORD_NO_SLOT_ENTRY,     /* this process has not entered the fleet yet */
    COORD_NO_SLOT_TOPIC,     /* the nodes of the topic cannot be used */
    COORD_NO_SLOT_REDIS,     /* no Redis node answers this process */
    COORD_NO_SLOT_LEASED     /* a process of version 0.2 has the whole topic */
};

enum { COORD_NO_SLOTS = COORD_NO_SLOT_LEASED + 1 };

/* The callbacks of the owner of slots.  `topic` is valid only during the call. */
struct coord_listener {
    /* Granted: take these slots over in Redis with their tokens, then answer COORD_ACQUIRED or
     * COORD_REFUSED. */
    void (*granted)(void *user, const char *topic, const struct coord_grant *grants, size_t count);
    /* Revoked: claim no more, settle messages in flight, then answer COORD_RELEASED. */
    void (*revoked)(void *user, const char *topic, const int32_t *slots, size_t count);
    /* Lost: the session expired or the own node is gone.  Drop the slots, store no answers of
     * messages, and do not answer. */
    void (*lost)(void *user, const char *topic, const int32_t *slots, size_t count);
    /* Check whether the topic in Redis is still of this creation and bound to `binding`, then call
     * coord_checked(). */
    void (*check)(void *user, const char *topic, const char *binding);
    /* This process cannot consume the topic any more: NO_TOPIC, NAME_TAKEN, DENIED, ... */
    void (*failed)(void *user, const char *topic, smq_status status, const char *text);
    /* coord_leave() has ended: no slot is held, and the other members know it. */
    void (*left)(void *user, const char *topic);
    /* Zookeeper: the lease of this member lasts until `until_ms` by clock_now_ms(), that is
     * `lease_ms` from when it was requested; 0 and 0: it has ended, and others may own its slots.
     * The first call comes before the first grant. */
    void (*leased)(void *user, int64_t until_ms, int64_t lease_ms);
    /* Zookeeper: this member is the assigner.  One owner did not release this number of slots in
     * time, and others get them. */
    void (*not_released)(void *user, size_t slots);
    /* The answer to coord_explain(). */
    void (*explained)(void *user, const char *topic, enum coord_no_slot why);
    void *user;
};

struct coord_options {
    const char *name; /* of this member; required */
    /* fleet in Redis: how it is reached, for this use alone, and the root; NULL: in ZooKeeper.
     * Kept by the caller until coord_free(), or until the operation of an operator has returned. */
    const struct coord_port *port;
    const char *root;
    const char *servers;        /* zookeeper: "host:port,.../root" */
    const char *auth;           /* zookeeper: digest "user:password", or NULL */
    const char *auth_file;      /* in its place: the file that has it, or NULL */
    int64_t session_timeout_ms; /* zookeeper */
    smq_coordination_loss on_coordination_loss;
    struct events *events;
    struct coord_listener listener;
};

/* A topic to consume. */
struct coord_topic {
    const char *name;
    const char *nonce;   /* of the topic's creation; another nonce replaces the one in ZooKeeper */
    uint32_t generation; /* generation that tokens have at least */
    int32_t slots;
    /* This process was the first to bind it, so no slot of it had an owner: in this reign, which
     * coord_reign() gave before it was bound; 0: another one was. */
    int64_t first_reign;
    bool first_is_sure; /* the server that says so has forgotten nothing since the creation */
    int32_t weight;     /* weight of this member for the topic */
    int64_t drain_timeout_ms;
};

/* Blocks: for the first connection of zookeeper session_timeout_ms, at most 8 s.  Fails:
 * UNAVAILABLE, DENIED, INVALID (servers). */
smq_status coord_fleet_new(struct coord **out, const struct coord_options *options, smq_error *err);

/* The fence of a fleet after it was raised. */
struct coord_fence {
    uint32_t generation;
    char binding[COORD_BINDING_MAX]; /* as by coord_binding() */
};

/* Raise the fence generation of the root at options->servers above its value and above `above`.  A
 * missing root is created with the identity in `bound`, a text as by coord_binding(), or with a new
 * one ("").  Blocks: session_timeout_ms, at most 8 s, and 5 s more to close the session.  Fails:
 * UNAVAILABLE, DENIED, OTHER_FLEET (it is no root of a fleet), INVALID (servers). */
smq_status coord_raise_fence(struct coord_fence *out, const struct coord_options *options,
                             uint32_t above, const char *bound, smq_error *err);

/* Read all nodes of the fleet at options->servers and show them.  The visitor's functions are
 * called on the calling thread.  Blocks and fails: as coord_raise_fence(). */
smq_status coord_fleet_each(const struct coord_options *options, const smq_fleet_visitor *visitor,
                            smq_error *err);

/* Delete the node of a member, and the node of the assigner if this member is it; `incarnation` 0:
 * any member of this name.  Blocks: as coord_raise_fence().  Fails: INVALID (no such member),
 * UNAVAILABLE, DENIED. */
smq_status coord_fleet_evict(const struct coord_options *options, const char *member,
                             int64_t incarnation, smq_error *err);

/* Do the nodes of a topic stay, though no member asks for it? */
typedef bool coord_keep_fn(const char *topic, void *user);

/* Delete the nodes of topics that no member asks for, unless `keep` says that they stay; *removed:
 * of how many topics at least, also after a failure.  Nothing is deleted while the node of any
 * member cannot be read.  `keep` is called on the calling thread.  Blocks and fails: as
 * coord_raise_fence(), but twice as long. */
smq_status coord_fleet_forget(size_t *removed, const struct coord_options *options,
                              coord_keep_fn *keep, void *user, smq_error *err);

/* Check a root of a fleet in Redis: "/slotmq".  Fails: INVALID. */
smq_status coord_check_root(const char *root, smq_error *err);

/* Check "host:port,.../root", where a port may be left out, and copy the root, "/slotmq" by
 * default, into `root` of `size` bytes.  Fails: INVALID. */
smq_status coord_check_servers(char *root, size_t size, const char *servers, smq_error *err);

/* The hosts of checked servers as "host:port,host:port" with every port, for the ZooKeeper client;
 * the caller frees the text. */
char *coord_servers_hosts(const char *servers);

/* What topics of this coordination are bound to in Redis: "zookeeper:ROOT IDENTITY" or
 * "redis:ROOT". */
void coord_binding(struct coord *coord, char out[COORD_BINDING_MAX]);

/* The reign of the store, in which it has forgotten nothing; 0: not known, or it never forgets. */
int64_t coord_reign(struct coord *coord);

/* Begin to consume a topic; grants follow. */
void coord_join(struct coord *coord, const struct coord_topic *topic);

/* Stop consuming a topic (LEAVING): its slots are revoked, then `left` is called. */
void coord_leave(struct coord *coord, const char *topic);

/* Ask why no slot of a joined topic is owned; `explained` follows, unless the topic is left. */
void coord_explain(struct coord *coord, const char *topic);

/* What the owner answers. */
enum coord_answer {
    COORD_ACQUIRED,
    /* Redis has a larger token, or fenced a call: the assignment is read again, and grants come
     * again, with back-off. */
    COORD_REFUSED,
    COORD_RELEASED
};

/* `token` names the grant; an answer to an older grant is ignored. */
void coord_answer(struct coord *coord, enum coord_answer answer, const char *topic, int32_t slot,
                  struct token token);

/* The reply to `check`.  OK: nothing has changed.  NO_TOPIC: that creation of the topic is gone.
 * OTHER_FLEET: the topic is bound to `text`.  Any other: unknown, and `check` is called again. */
void coord_checked(struct coord *coord, const char *topic, smq_status status, const char *text);

/* The generation of a consumed topic was raised: later grants have it, and slots that Redis refused
 * are granted again at once. */
void coord_raise(struct coord *coord, const char *topic, uint32_t generation);

/* Redis has refused a slot of a consumed topic, because it has `token`.  A tree in Redis, which may
 * have forgotten numbers, goes above it, and grants again; nothing else does so. */
void coord_surpassed(struct coord *coord, const char *topic, struct token token);

/* Set the fingerprint of the cluster on which this process works.  The node of the member shows it,
 * so that the assigner notices members of one topic that work on different clusters. */
void coord_set_fingerprint(struct coord *coord, const struct fingerprint *fingerprint);

/* Set whether any Redis node answers this process; at first one does.  The node of the member shows
 * it, so that its slots move to members that reach Redis. */
void coord_set_reachable(struct coord *coord, bool reachable);

/* Close the session, within 5 s in any case, and free.  Slots that are still granted are not handed
 * over; call coord_leave() first.  The listener is not called after it returns.  Blocks: 5 s at
 * most. */
void coord_free(struct coord *coord);

#endif
