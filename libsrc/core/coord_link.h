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

struct coord_link;
struct core;
struct membership;

/* What the consumer of one topic hears of coordination.  Slots may be out of the topic's range:
 * what other processes write is not trusted.  A function may call coord_link functions, but not
 * free the link.  Thread: smq:io. */
struct coord_link_listener {
    void (*granted)(void *user, int32_t slot, struct token token);
    void (*revoked)(void *user, int32_t slot); /* coord_link_released() is awaited */
    void (*lost)(void *user, int32_t slot);    /* no answer is awaited */
    void (*failed)(void *user, smq_status status, const char *text); /* the topic is left, too */
    void (*left)(void *user);                      /* what coord_link_leave() has begun is done */
    void (*damaged)(void *user, const char *text); /* topic{T} is lost; NULL: it is there */
    void (*bound)(void *user, const char *coord);  /* Redis says that the topic is bound to it */
    void (*turn)(void *user);                      /* all of one notice was told */
    void *user;
};

struct coord_link *coord_link_new(struct core *core);

/* Leave coordination and free; no listener exists any more.  Blocks: 5 s.  Thread: none of the
 * core's. */
void coord_link_free(struct coord_link *link);

/* What topics are bound to: "standalone", "zookeeper:/root IDENTITY"; "" when coord_link_open() did
 * not succeed.  Thread: any. */
void coord_link_binding(char out[COORD_BINDING_MAX], struct coord_link *link);

/* Join coordination, unless that was done.  Blocks: session_timeout_ms.
 * Fails: UNAVAILABLE, DENIED, INVALID.  Thread: any but the core's. */
smq_status coord_link_open(struct coord_link *link, smq_error *err);

/* --- smq:io --- */

/* Take note of the consumer of a topic; `listener` is copied.  false: the topic has one already. */
bool coord_link_add(struct coord_link *link, const struct topic *topic,
                    const struct coord_link_listener *listener);

/* The listener hears nothing any more. */
void coord_link_remove(struct coord_link *link, const char *name, const void *user);

/* Begin to consume a topic that was added; grants follow.  coord_link_leave(): `left` follows,
 * maybe at once. */
void coord_link_join(struct coord_link *link, const struct coord_topic *join);
void coord_link_leave(struct coord_link *link, const char *name);

/* The generation of a topic that was joined is larger now: refused grants come again under it. */
void coord_link_raise(struct coord_link *link, const char *topic, uint32_t generation);

/* The owner's answers to coordination. */
void coord_link_acquired(struct coord_link *link, const char *topic, int32_t slot,
                         struct token token);
void coord_link_refused(struct coord_link *link, const char *topic, int32_t slot,
                        struct token token);
void coord_link_released(struct coord_link *link, const char *topic, int32_t slot,
                         struct token token);

/* May slots be claimed now?  Not when on_zk_loss is STOP and the lease of this member is over. */
bool coord_link_may_claim(const struct coord_link *link);

/* What handlers ask before they begin; the link's reference. */
struct membership *coord_link_membership(const struct coord_link *link);

/* A slot of ours has a newer owner: the others may have, too. */
void coord_link_doubt(const struct coord_link *link);

#endif
