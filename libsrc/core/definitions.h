/* definitions.h - the definitions of topics as this process knows them.
 *
 * Thread: smq:io, except definitions_forget(). */
#ifndef CORE_DEFINITIONS_H
#define CORE_DEFINITIONS_H

#include "model/topic.h"
#include "redis/redis.h"

struct definitions;

struct definitions *definitions_new(struct redis *redis, int64_t request_timeout_ms);
void definitions_free(struct definitions *definitions); /* after the Redis client was closed */

/* `topic` is NULL unless status is SMQ_OK, or SMQ_DAMAGED (topic{T} is lost: what a slot knows of
 * it), and is valid until the callback returns: copy it. */
typedef void definitions_fn(const struct topic *topic, smq_status status, const char *text,
                            void *user);

/* Get a definition: the known one at once, else read from Redis (one read at a time a topic).
 * `stale` is the stamp that a script refused, or NULL: a known definition with that stamp is
 * read again.  A topic that is being created or deleted is NO_TOPIC. */
void definitions_get(struct definitions *definitions, const char *topic, const char *stale,
                     definitions_fn *done, void *user);

/* The same, but always read from Redis after this call began. */
void definitions_read(struct definitions *definitions, const char *topic, definitions_fn *done,
                      void *user);

/* Forget it: NO_TOPIC was answered, or this process deleted it.  Thread: any. */
void definitions_forget(struct definitions *definitions, const char *topic);

#endif
