/* call.h - what the functions of the store share: building a call, reading a reply.
 *
 * Thread: smq:io. */
#ifndef STORE_CALL_H
#define STORE_CALL_H

#include "store/store.h"

/* Begin a call of `script`, or of a plain command when it is NULL, on one hash slot. */
void call_begin(struct store_call *call, const struct script *script, int32_t hash_slot);

/* The last key of a script that takes bodies: given for keyed topics, left out for others. */
void call_body(struct store_call *call, const struct store_slot *slot);

/* Begin a call of `script` on a slot: with all its keys; and with the definition stamp, too. */
void call_begin_keys(struct store_call *call, const struct script *script,
                     const struct store_slot *slot);
void call_begin_slot(struct store_call *call, const struct script *script,
                     const struct store_slot *slot);

/* Begin a call on the hash topic{T}: with its key.  `script` as above. */
void call_begin_topic(struct store_call *call, const struct script *script, const char *topic);

/* Send it; the reply may have `max_elements` elements at any level. */
void call_submit(struct store_call *call, struct redis *redis, size_t max_elements,
                 int64_t timeout_ms);

/* The command of a call, to be given the argument at `place`: SCRIPT_..._ARGV_... of scripts.h.
 * This must be the next one. */
struct redis_command *call_argv(struct store_call *call, int place);

/* The argument at `place`, of the word for it. */
void call_token(struct store_call *call, int place, const struct store_slot *slot,
                struct token token);
void call_kind(struct store_call *call, int place, const struct store_slot *slot);
void call_state(struct store_call *call, int place, smq_state state);

/* Element `index` of the reply: a string, or a number written as an integer or a string.  false:
 * there is none, or it is something else. */
bool reply_string(const char **data, size_t *len, const redisReply *reply, size_t index);
bool reply_number(int64_t *out, const redisReply *reply, size_t index);
bool reply_count(uint64_t *out, const redisReply *reply, size_t index);

/* As reply_number(), but an empty string is -1. */
bool reply_time(int64_t *out, const redisReply *reply, size_t index);

/* A string of exactly `count` characters, each of `allowed`. */
bool reply_results(const char **out, const redisReply *reply, size_t index, size_t count,
                   const char *allowed);

/* A string without NUL that fits `out` with its end. */
bool reply_text(char *out, size_t size, const redisReply *reply, size_t index);

/* A token, as text; "" when the topic is shared. */
bool reply_token(char out[TOKEN_TEXT_LEN + 1], const redisReply *reply, size_t index);

#endif
