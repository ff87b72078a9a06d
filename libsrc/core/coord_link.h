/* coord_link.h - the link of a client to coordination.  It opens coordination when the client
 * consumes its first exclusive topic, and passes grants and other notices on to the consumer of
 * each topic.
 *
 * Thread: as each function says. */
#ifndef CORE_COORD_LINK_H
#define CORE_COORD_LINK_H

#include <stddef.h>
#include <stdint.h>

#include <slotmq/client.h>
#include <slotmq/health.h>

#include "coord/coord.h"
#include "model/token.h"
#include "model/topic.h"

struct coord_link;
struct core;
struct membership;

/* The callbacks of the consumer of one topic.  The number of a slot may be out of the topic's
 * range, because it comes from other processes.  A callback may call functions of coord_link, but
 * must not free the link.  Thread: smq:io. */
struct coord_link_listener {
    void (*granted)(void *user, int32_t slot, struct token token);
    void (*revoked)(void *user, int32_t slot); /* the consumer answers COORD_RELEASED */
    void (*lost)(void *user, int32_t slot);    /* the consumer does not answer */
    void (*failed)(void *user, smq_status status, const char *text); /* the topic is left, too */
    void (*left)(void *user); /* coord_link_leave() has ended */
    /* topic{T} is lost; text NULL: it exists again */
    void (*damaged)(void *user, const char *text);
    /* Redis denies a call that is made again later; text NULL: it has done one */
    void (*denied)(void *user, const char *text);
    /* Redis has the topic bound to this coordination */
    void (*bound)(void *user, const char *coord);
    void (*explained)(void *user, enum coord_no_slot why); /* after coord_link_explain() */
    void (*turn)(void *user); /* all callbacks of one notice were called */
    void *user;
};

struct coord_link *coord_link_new(struct core *core);

/* Close coordination and free the link; no listener is left.  Blocks: 5 s.  Thread: none of the
 * core's. */
void coord_link_free(struct coord_link *link);

/* What topics are bound to: "zookeeper:/root IDENTITY" or "redis:/root"; "" if coord_link_open()
 * has not succeeded.  Thread: any. */
void coord_link_binding(char out[COORD_BINDING_MAX], struct coord_link *link);

/* As coord_reign(), after coord_link_open() has succeeded.  Thread: any. */
int64_t coord_link_reign(struct coord_link *link);

/* Is there a session with ZooKeeper, as far as this process knows?  Thread: any. */
smq_session coord_link_session(struct coord_link *link);

/* Open coordination, unless it is open.  Blocks: session_timeout_ms.  Fails: UNAVAILABLE, DENIED,
 * INVALID.  Thread: any but the core's. */
smq_status coord_link_open(struct coord_link *link, smq_error *err);

/* --- smq:io --- */

/* Add the consumer of a topic; `listener` is copied.  false: the topic has one already. */
bool coord_link_add(struct coord_link *link, const struct topic *topic,
                    const struct coord_link_listener *listener);

/* Remove the consumer; its callbacks are not called any more. */
void coord_link_remove(struct coord_link *link, const char *name, const void *user);

/* Begin to consume a topic that was added; grants follow.  After coord_link_leave() `left` is
 * called, perhaps before the function returns. */
void coord_link_join(struct coord_link *link, const struct coord_topic *join);
void coord_link_leave(struct coord_link *link, const char *name);

/* The generation of a joined topic was raised: slots that were refused are granted again under
 * it. */
void coord_link_raise(struct coord_link *link, const char *topic, uint32_t generation);

/* Redis has this token in a slot of a joined topic, and refuses a smaller one. */
void coord_link_surpassed(struct coord_link *link, const char *topic, struct token token);

/* Ask why no slot of a joined topic is owned; `explained` follows, unless the topic is left. */
void coord_link_explain(struct coord_link *link, const char *topic);

/* Answer coordination, as coord_answer(). */
void coord_link_answer(struct coord_link *link, enum coord_answer answer, const char *topic,
                       int32_t slot, struct token token);

/* May messages be claimed now?  No, if on_coordination_loss is STOP and the lease of this member
 * has expired. */
bool coord_link_may_claim(const struct coord_link *link);

/* The membership by which handlers decide whether they may begin; the reference belongs to the
 * link. */
struct membership *coord_link_membership(const struct coord_link *link);

/* A slot of this process has a newer owner: all its slots must be confirmed anew. */
void coord_link_invalidate(const struct coord_link *link);

#endif
