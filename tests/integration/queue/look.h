/* look.h - a real cluster of three masters for the tests of a folder, clients of it, and a view of
 * the keys that does not use the library.
 *
 * Thread: main. */
#ifndef TEST_QUEUE_LOOK_H
#define TEST_QUEUE_LOOK_H

#include <hiredis/hiredis.h>

#include <slotmq/slotmq.h>

#include "support/servers.h"

enum { WAIT_MS = 60000 };

/* The servers, between look_start() and look_stop(); group fixtures of cmocka. */
extern struct servers *look_servers;
int look_start(void **state);
int look_stop(void **state);

/* A client or a producer; the test fails when there is none. */
smq_client *client_made(void);
smq_producer *producer_made(smq_client *client, const smq_producer_options *options);

/* SMQ_OK, or the test fails with the text of `err`. */
void must(smq_status status, const smq_error *err);

smq_topic_options topic_of(const char *name, smq_topic_type type, int32_t slots);
void topic_made(smq_client *client, const smq_topic_options *options);

/* A message with a body of text and no key. */
smq_message message_of(const char *body);

/* Send one, blocking; it must be stored.  Was it merged? */
bool sent(smq_producer *producer, const char *topic, const smq_message *message);

/* A command (format as redisCommand()) to the node that holds `key`; freed by the caller, who gets
 * no error replies. */
redisReply *look(const char *key, const char *format, ...);

/* The same to one node. */
redisReply *look_at(const struct server *server, const char *format, ...);

/* What it answers as text ("" for nil), or as a number.  `out` has 512 bytes. */
const char *look_text(char *out, const char *key, const char *format, ...);
int64_t look_number(const char *key, const char *format, ...);

/* The members of the store of a slot in their order, without the sentinel, as "a,b,c". */
const char *look_order(char *out, const char *topic, int32_t slot, const char *set);

/* Make room in all nodes. */
void look_flush(void);

#endif
