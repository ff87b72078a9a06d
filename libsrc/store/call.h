/* call.h - what the functions of the store share: building a call, reading a reply.
 *
 * Thread: smq:io. */
#ifndef STORE_CALL_H
#define STORE_CALL_H

#include <slotmq/message.h>

#include "model/token.h"
#include "store/store.h"

/* Begin a call of `script`, or of a plain command when it is NULL, on one hash slot. */
void call_begin(struct store_call *call, const struct script *script, int32_t hash_slot);

/* Leave out the keys of a script that only keyed topics have, if the topic is not one of them. */
void call_drop_keyed(struct store_call *call, const struct store_slot *slot);

/* Begin a call of `script` on a slot, with all keys of the slot; call_begin_slot() also adds the
 * stamp of the definition. */
void call_begin_keys(struct store_call *call, const struct script *script,
                     const struct store_slot *slot);
void call_begin_slot(struct store_call *call, const struct script *script,
                     const struct store_slot *slot);

/* Begin a call on the hash topic{T}, with its key.  `script` as for call_begin(). */
void call_begin_topic(struct store_call *call, const struct script *script, const char *topic);

/* Add the key of another definition in the same hash slot, for the tail of the script's keys. */
void call_key_topic(struct store_call *call, const char *topic);

/* Send the call; the reply may have `max_elements` elements at any level. */
void call_submit(struct store_call *call, struct redis *redis, size_t max_elements,
                 int64_t timeout_ms);

/* As call_submit(), of a script whose reply may end with a command that failed, so `max_elements`
 * need not count that. */
void call_submit_publishing(struct store_call *call, struct redis *redis, size_t max_elements,
                            int64_t timeout_ms);

/* Report what failed in the script of such a call, if the right to it is missing. */
void call_report_lack(const struct store_call *call, const redisReply *reply);

/* How many elements the reply of such a script has without the command that failed. */
size_t reply_elements(const redisReply *reply);

/* The command of a call, to which the caller adds the argument at `place`: SCRIPT_..._ARGV_... of
 * scripts.h.  Arguments must be added in their order. */
struct redis_command *call_argv(struct store_call *call, int place);

/* Add the argument at `place` that the name of the function says. */
void call_token(struct store_call *call, int place, const struct store_slot *slot,
                struct token token);
void call_kind(struct store_call *call, int place, const struct store_slot *slot);
void call_state(struct store_call *call, int place, smq_state state, bool scheduled);

/* Add the names of all counters of a slot, in the order of statistic_table, as the tail that begins
 * at `place`. */
void call_counters(struct store_call *call, int place);

/* Read element `index` of the reply: a string, or a number that is an integer or a string.  false:
 * there is no such element, or it has another type. */
bool reply_string(const char **data, size_t *len, const redisReply *reply, size_t index);
bool reply_number(int64_t *out, const redisReply *reply, size_t index);
bool reply_count(uint64_t *out, const redisReply *reply, size_t index);

/* As reply_number(), but an empty string is -1. */
bool reply_time(int64_t *out, const redisReply *reply, size_t index);

/* Read a string of exactly `count` characters, each one of `allowed`. */
bool reply_results(const char **out, const redisReply *reply, size_t index, size_t count,
                   const char *allowed);

/* Read a string without a NUL that fits into `out` with its end. */
bool reply_text(char *out, size_t size, const redisReply *reply, size_t index);

/* Read "SINCE OWNER ENTRY", or nothing; `entry` points into the reply. */
bool reply_note(struct store_note *out, const redisReply *reply, size_t index);

/* Read a token as text; "" if the topic is shared. */
bool reply_token(char out[TOKEN_TEXT_LEN + 1], const redisReply *reply, size_t index);

#endif
