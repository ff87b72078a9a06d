/* greeting.h - may this server be used?
 *
 * Pure. */
#ifndef REDIS_GREETING_H
#define REDIS_GREETING_H

#include <stddef.h>

#include <hiredis/hiredis.h>

#include <slotmq/core.h>

/* The reply of AUTH.  DENIED: `why` holds what the server said, which never holds the password. */
smq_status greeting_check_auth(char *why, size_t size, const redisReply *reply);

/* The reply of INFO.  BAD_SERVER: Redis before 7.0, Valkey before 7.2, or one that evicts keys
 * without a time to live.
 * DENIED: not allowed to look, nothing is known. */
smq_status greeting_check_info(char *why, size_t size, const redisReply *reply);

/* The reply of INFO replication: how many replicas are in step with this master.  -1: it does not
 * say, or is no master. */
int greeting_replicas(const redisReply *reply);

#endif
