/* message.h - messages: named by words, shown as JSON and in tables. */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include <jansson.h>

#include <slotmq/slotmq.h>

#include "topic.h"

/* The message that ID and --key name: in layout inline ID is its body.  The texts are borrowed. */
smq_message_ref message_named(const struct topic_facts *topic, const char *id, const char *key);

/* Says why a call about one message failed; `key` as for message_named(). */
enum exit_code message_say_failure(const smq_error *err, const char *key);

/* The state of that name; 0: there is none. */
smq_state message_state_named(const char *name);

/* "waiting,dead" as smq_state, or-ed.  On any other result than EXIT_DONE the error has been
 * printed. */
enum exit_code message_states_read(unsigned *out, const char *text);

/* Has it an id beside its body?  It has in layout keyed. */
bool message_has_id(const smq_message_info *message);

/* A message as message_line.h reads it: topic, slot, state, body, key, id (null in layout inline),
 * priority, due_at_ms, sent_at_ms, expires_at_ms, attempt, retries_left, headers.  A delivery also
 * has its token, and a stored message lease_at_ms, dead_at_ms, token, reason, tries and cursor. */
json_t *message_delivery_json(const smq_message_info *message);
json_t *message_info_json(const smq_message_info *message);

#endif
