/* message.h - messages: their states by name, shown as JSON and in tables. */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include <jansson.h>

#include <slotmq/slotmq.h>

#include "cli/topic/topic.h"

/* The state of that name; 0: there is none. */
smq_state message_state_named(const char *name);

/* "waiting,dead" as smq_state, or-ed.  On any other result than EXIT_DONE the error has been
 * printed. */
enum exit_code message_states_read(unsigned *out, const char *text);

/* Was it sent with a key?  Without one it has none, or its id is the key. */
bool message_has_own_key(const smq_message_info *message);

/* Has it an id beside its body?  It has in layout keyed. */
bool message_has_id(const smq_message_info *message);

/* A message as message_line.h reads it: topic, slot, state, body, key, id (null in layout inline),
 * priority, due_at_ms, sent_at_ms, expires_at_ms, attempt, retries_left, headers.  A delivery also
 * has its token, and a stored message lease_at_ms, dead_at_ms, claimed_at_ms and claimed_by (null:
 * not known), token, reason, tries and cursor. */
json_t *message_delivery_json(const smq_message_info *message);
json_t *message_info_json(const smq_message_info *message);

#endif
