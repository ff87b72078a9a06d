/* coord.h - who owns which slot.  The only header of this folder that others include.
 *
 * Two kinds behind one interface: zookeeper (a fleet, COORDINATION in docs/) and standalone (one
 * process owns all slots of a topic, others stand by).  Knows nothing of Redis: standalone gets its
 * lease as functions.
 *
 * Thread: every function may be called from any thread but smq:call callbacks of its own; none
 * blocks except coord_free().  The listener is called on smq:coord, must not block, and may call
 * anything here but coord_free(). */
#ifndef COORD_COORD_H
#define COORD_COORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <slotmq/client.h>
#include <slotmq/fleet.h>
#include <slotmq/server.h>

#include "base/event.h"
#include "model/marks.h"
#include "model/token.h"

struct coord;

enum { COORD_BINDING_MAX = 320 };

struct coord_grant {
    int32_t slot;
    struct token token;
};

/* What the owner of slots must do.  `topic` is valid during the call. */
struct coord_listener {
    /* Take these slots over in Redis with their tokens, then call coord_acquired(), or
     * coord_refused(). */
    void (*granted)(void *user, const char *topic, const struct coord_grant *grants, size_t count);
    /* No longer granted: claim no more, settle what is in flight, then call coord_released(). */
    void (*revoked)(void *user, const char *topic, const int32_t *slots, size_t count);
    /* Gone already (session expired, own node lost): drop them, commit nothing, answer nothing. */
    void (*lost)(void *user, const char *topic, const int32_t *slots, size_t count);
    /* Is the topic in Redis still of this creation, and bound to `binding`?  Read it, then call
     * coord_checked(). */
    void (*check)(void *user, const char *topic, const char *binding);
    /* This topic cannot be consumed any more by this process: NO_TOPIC, NAME_TAKEN, DENIED, ... */
    void (*failed)(void *user, const char *topic, smq_status status, const char *text);
    /* coord_leave() is complete: nothing is held, and the others know. */
    void (*left)(void *user, const char *topic);
    /* zookeeper: the lease of this member lasts until `until_ms` by clock_now_ms(), `lease_ms` from
     * when it was asked for; 0 and 0: it has ended.  Others may own its slots then.  The first call
     * comes before the first grant. */
    void (*leased)(void *user, int64_t until_ms, int64_t lease_ms);
    void *user;
};

struct coord_options {
    const char *name;           /* of this member; required */
    const char *servers;        /* zookeeper: "host:port,.../root" */
    const char *auth;           /* zookeeper: digest "user:password", or NULL */
    int64_t session_timeout_ms; /* zookeeper */
    smq_zk_loss on_zk_loss;
    struct events *events;
    struct coord_listener listener;
};

/* A topic to consume. */
struct coord_topic {
    const char *name;
    const char *nonce;   /* of its creation; another one replaces what ZooKeeper knows */
    uint32_t generation; /* floor of the tokens' generation */
    int32_t slots;
    int32_t weight; /* threads */
    int64_t drain_timeout_ms;
};

/* --- standalone: the lease of a topic, kept in Redis by functions of the layer above --- */

struct coord_lease_reply {
    smq_status status;    /* OK: held by me.  IN_WORK: held by another.  Of class USAGE, such as
                             OTHER_FLEET: the topic cannot be consumed.  Else it is not known. */
    struct token token;   /* OK: generation; as epoch how often it was acquired, under 2^32 */
    int64_t remaining_ms; /* OK, IN_WORK: until the lease ends */
};

enum coord_lease_op { COORD_LEASE_ACQUIRE, COORD_LEASE_RENEW, COORD_LEASE_RELEASE };

/* Do `op` for `topic` in the name of `owner`; later, from any thread, call coord_lease_replied()
 * once with the same `cookie`.  RENEW answers IN_WORK when the lease was lost. */
typedef void coord_lease_fn(void *user, enum coord_lease_op op, const char *topic,
                            const char *owner, uint64_t cookie);

/* Blocks: up to session_timeout_ms, but no more than 8 s, for the first connection of zookeeper.
 * Fails: UNAVAILABLE, DENIED, INVALID (servers). */
smq_status coord_zookeeper_new(struct coord **out, const struct coord_options *options,
                               smq_error *err);
smq_status coord_standalone_new(struct coord **out, const struct coord_options *options,
                                coord_lease_fn *lease, void *lease_user, smq_error *err);

/* The fence of a fleet after it was raised. */
struct coord_fence {
    uint32_t generation;
    char binding[COORD_BINDING_MAX]; /* as coord_binding() gives it */
};

/* Raise the fence generation in the root at options->servers above what it was and above `above`. A
 * root that is missing is made, with the identity in `bound`, a text as coord_binding() gives it,
 * or with a new one (""). Blocks: up to session_timeout_ms, but no more than 8 s, and 5 s for
 * closing. Fails: UNAVAILABLE, DENIED, OTHER_FLEET (no root of a fleet), INVALID (servers). */
smq_status coord_raise_fence(struct coord_fence *out, const struct coord_options *options,
                             uint32_t above, const char *bound, smq_error *err);

/* Read all nodes of the fleet at options->servers and show them.  The visitor's functions are
 * called on the calling thread.  Blocks and fails: as coord_raise_fence(). */
smq_status coord_fleet_each(const struct coord_options *options, const smq_fleet_visitor *visitor,
                            smq_error *err);

/* Delete the node of a member, and the leader's if it is that; `incarnation` 0: whoever has the
 * name.  Blocks: as coord_raise_fence().  Fails: INVALID (no such member), UNAVAILABLE, DENIED. */
smq_status coord_fleet_evict(const struct coord_options *options, const char *member,
                             int64_t incarnation, smq_error *err);

/* Ask each of checked servers "host:port,.../root" for its version and role, and show it.  Blocks:
 * the look-up of names, and `timeout_ms` for all together. */
void coord_zookeeper_each(const char *servers, int64_t timeout_ms, smq_server_fn *visit,
                          void *user);

/* Check "host:port,.../root", where a port may be left out, and give the root ("/slotmq" when none
 * is named); `root` has `size` bytes. Fails: INVALID. */
smq_status coord_check_servers(char *root, size_t size, const char *servers, smq_error *err);

/* Of checked servers "host:port,host:port" with every port, for the ZooKeeper client; to be freed.
 */
char *coord_servers_hosts(const char *servers);

void coord_lease_replied(struct coord *coord, uint64_t cookie,
                         const struct coord_lease_reply *reply);

/* What topics that are consumed through this coordination are bound to in Redis: "standalone", or
 * "zookeeper:ROOT IDENTITY". */
void coord_binding(struct coord *coord, char out[COORD_BINDING_MAX]);

/* Begin to consume a topic; grants follow. */
void coord_join(struct coord *coord, const struct coord_topic *topic);

/* Give a topic up gracefully (LEAVING): its slots are revoked, then `left` is called. */
void coord_leave(struct coord *coord, const char *topic);

/* Answers of the owner.  `token` names the grant; an answer to an older one is ignored. */
void coord_acquired(struct coord *coord, const char *topic, int32_t slot, struct token token);
/* Redis knows a larger token (or fenced a call): read again; grants come again, with back-off. */
void coord_refused(struct coord *coord, const char *topic, int32_t slot, struct token token);
void coord_released(struct coord *coord, const char *topic, int32_t slot, struct token token);

/* The answer to `check`.  OK: all is as before.  NO_TOPIC: that creation is gone.  OTHER_FLEET: it
 * is bound to `text`.  Any other: it is not known, and asked again. */
void coord_checked(struct coord *coord, const char *topic, smq_status status, const char *text);

/* The generation of a topic that is consumed is larger now: later grants are under it, and what
 * Redis refused is granted again at once.  Standalone: nothing, the lease gives the generation. */
void coord_raise(struct coord *coord, const char *topic, uint32_t generation);

/* The marks of the cluster on which this process works are these now.  zookeeper: its node shows
 * them, so that the assigner notices members of one topic that work on different clusters.
 * standalone: nothing. */
void coord_mark(struct coord *coord, const struct marks *marks);

/* Leave: close the session within 5 s, whatever answers.  Slots still granted are not handed over
 * cleanly; coord_leave() first.  No listener call comes after it returns.  Blocks: 5 s at most. */
void coord_free(struct coord *coord);

#endif
