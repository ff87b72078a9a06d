/* definitions.h - the definitions of topics that this process has read.
 *
 * Thread: smq:io, except definitions_forget(). */
#ifndef CORE_DEFINITIONS_H
#define CORE_DEFINITIONS_H

#include "model/topic.h"
#include "redis/redis.h"

struct definitions;

struct definitions *definitions_new(struct redis *redis, int64_t request_timeout_ms);
void definitions_free(struct definitions *definitions); /* after the Redis client was closed */

/* `topic` is NULL unless status is SMQ_OK, or SMQ_DAMAGED (topic{T} is lost; `topic` is what a slot
 * knows of it).  It is valid only during the callback. */
typedef void definitions_fn(const struct topic *topic, smq_status status, const char *text,
                            void *user);

/* Get a definition: the known one at once, else from Redis (one read at a time per topic).  `stale`
 * is the stamp that a script refused, or NULL; a known definition with that stamp is read again.  A
 * topic that is being created or deleted is NO_TOPIC. */
void definitions_get(struct definitions *definitions, const char *topic, const char *stale,
                     definitions_fn *done, void *user);

/* As definitions_get(), but always read from Redis after this call. */
void definitions_read(struct definitions *definitions, const char *topic, definitions_fn *done,
                      void *user);

/* Forget a definition, because Redis answered NO_TOPIC or this process deleted the topic.  Thread:
 * any. */
void definitions_forget(struct definitions *definitions, const char *topic);

#endif
