/* coord_link.h - the link of one client to coordination: joins it when the first exclusive topic is
 * consumed, and passes on what it says about a topic to whoever consumes that topic here.
 *
 * Thread: as each function says. */
#ifndef CORE_COORD_LINK_H
#define CORE_COORD_LINK_H

#include <stddef.h>
#include <stdint.h>

#include <slotmq/client.h>

#include "coord/coord.h"
#include "model/token.h"
#include "model/topic.h"

struct fleet;
struct hub;
struct membership;

/* What the consumer of one topic hears of coordination.  Slots may be out of the topic's range:
 * what other processes write is not trusted.  A function may call coord_link functions, but not
 * free the link.  Thread: smq:io. */
struct fleet_listener {
    void (*granted)(void *user, int32_t slot, struct token token);
    void (*revoked)(void *user, int32_t slot); /* fleet_released() is awaited */
    void (*lost)(void *user, int32_t slot);    /* no answer is awaited */
    void (*failed)(void *user, smq_status status, const char *text); /* the topic is left, too */
    void (*left)(void *user);                      /* what fleet_leave() has begun is done */
    void (*damaged)(void *user, const char *text); /* topic{T} is lost; NULL: it is there */
    void *user;
};

struct fleet *fleet_new(struct hub *hub);

/* Leave coordination and free; no listener exists any more.  Blocks: 5 s.  Thread: none of the
 * hub's. */
void fleet_free(struct fleet *fleet);

/* What topics are bound to: "standalone", "zookeeper:/root IDENTITY"; "" when fleet_open() did not
 * succeed.  Thread: any. */
enum { FLEET_KIND_MAX = COORD_BINDING_MAX };
void fleet_kind(char out[FLEET_KIND_MAX], struct fleet *fleet);

/* Join coordination, unless that was done.  Blocks: session_timeout_ms.
 * Fails: UNAVAILABLE, DENIED, INVALID.  Thread: any but the hub's. */
smq_status fleet_open(struct fleet *fleet, smq_error *err);

/* --- smq:io --- */

/* Take note of the consumer of a topic; `listener` is copied.  false: the topic has one already. */
bool fleet_add(struct fleet *fleet, const struct topic *topic,
               const struct fleet_listener *listener);

/* The listener hears nothing any more. */
void fleet_remove(struct fleet *fleet, const char *topic, const void *user);

/* Begin to consume a topic that was added; grants follow.  fleet_leave(): `left` follows, maybe at
 * once. */
void fleet_join(struct fleet *fleet, const struct coord_topic *topic);
void fleet_leave(struct fleet *fleet, const char *topic);

/* The generation of a topic that was joined is larger now: refused grants come again under it. */
void fleet_raise(struct fleet *fleet, const char *topic, uint32_t generation);

/* The owner's answers to coordination. */
void fleet_acquired(struct fleet *fleet, const char *topic, int32_t slot, struct token token);
void fleet_refused(struct fleet *fleet, const char *topic, int32_t slot, struct token token);
void fleet_released(struct fleet *fleet, const char *topic, int32_t slot, struct token token);

/* May slots be claimed now?  Not when on_zk_loss is STOP and the lease of this member is over. */
bool fleet_may_claim(const struct fleet *fleet);

/* What handlers ask before they begin; the fleet's reference. */
struct membership *fleet_membership(const struct fleet *fleet);

/* A slot of ours has a newer owner: the others may have, too. */
void fleet_doubt(const struct fleet *fleet);

#endif
