/* disuse.h - topics that expire: while this client uses one it marks it in Redis, and it has those
 * deleted that nobody marks any more.
 *
 * A mark is the time of the last use in topic{T}.  A client makes one when it begins to use the
 * topic, and then at most one in each tenth of expires_ms, so sends cost nothing.  A list in Redis
 * says when to look at which topic; all clients that have used such a topic ask for those that are
 * due, and each goes to one of them (docs/decisions/0059-topics-that-expire.md).
 *
 * Thread: smq:io, except where a function says another. */
#ifndef CORE_DISUSE_H
#define CORE_DISUSE_H

#include "model/topic.h"

struct core;
struct disuse;
struct disuse_use; /* of one topic by this client */

/* Delete the topic if it expires and was not used for long enough, or note when to look again.
 * Blocks.  Thread: smq:expire, which ends with the core. */
typedef void disuse_expire_fn(struct core *core, const char *topic);

struct disuse *disuse_new(struct core *core, disuse_expire_fn *expire);

/* Send nothing any more; call disuse_join() next, and then the Redis client may be closed. */
void disuse_close(struct disuse *disuse);

/* Wait for the thread that deletes, if there is one.  Thread: that which frees the core. */
void disuse_join(struct disuse *disuse);
void disuse_free(struct disuse *disuse); /* after the Redis client was closed */

/* Messages are sent to the topic now.  Nothing is done for one that does not expire. */
void disuse_sent(struct disuse *disuse, const struct topic *topic);

/* A consumer of the topic, or of a group of it, exists; `held` is what it held before, or NULL.
 * Returns what it holds: NULL if the topic does not expire. */
struct disuse_use *disuse_hold(struct disuse *disuse, struct disuse_use *held,
                               const struct topic *topic);

/* The consumer has ended; NULL: nothing was held. */
void disuse_release(struct disuse_use *use);

/* Ask from now on for topics that are due, because this client knows one that expires. */
void disuse_watch(struct disuse *disuse, int64_t expires_ms);

#endif
