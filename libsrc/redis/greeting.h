/* greeting.h - may this server be used?
 *
 * Pure. */
#ifndef REDIS_GREETING_H
#define REDIS_GREETING_H

#include <stdbool.h>
#include <stddef.h>

#include <hiredis/hiredis.h>

#include <slotmq/core.h>

/* Check the reply to AUTH.  DENIED: `why` is the server's text, which never contains the
 * password. */
smq_status greeting_check_auth(char *why, size_t size, const redisReply *reply);

/* Check the reply to INFO.  BAD_SERVER: Redis before 7.0, Valkey before 7.2, or a server that
 * evicts keys without a time to live.  OK with a text in `why`: INFO is refused, so nothing is
 * known. */
smq_status greeting_check_info(char *why, size_t size, const redisReply *reply);

/* Is the server a node of a cluster? */
enum greeting_mode { GREETING_UNKNOWN, GREETING_SINGLE, GREETING_CLUSTER };

/* By the reply to INFO. */
enum greeting_mode greeting_mode(const redisReply *reply);

/* The number of replicas in sync with this master, by the reply to INFO replication; -1: the reply
 * does not say it, or the server is no master. */
int greeting_replicas(const redisReply *reply);

/* Why the connection was lost, from an error of libuv.  A server that closes it without having sent
 * one byte, `heard`, may be none of Redis: ZooKeeper does so. */
const char *greeting_cut(int failed, bool heard);

#endif
