/* slot.c - what a slot knows of its topic: it is opened, read, altered, paused, and sealed and
 * cleared by a deletion.
 *
 * Thread: smq:io. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scripts.h"
#include "store/call.h"
#include "store/slot.h"
#include "store/topic.h"

enum { CLEAR_LIMIT = 1000, DIVIDE_LIMIT = 200 };

static void slot_add_definition(struct store_call *call, int place, const struct topic *topic)
{
    struct buf definition = {0};

    topic_format(&definition, topic);
    redis_arg(call_argv(call, place), definition.data, definition.len);
    buf_fini(&definition);
}

static void slot_begin_slot_hash(struct store_call *call, const struct script *script,
                                 const struct store_slot *slot)
{
    call_begin(call, script, slot->keys.hash_slot);
    redis_arg_string(&call->command, slot->keys.slot);
    redis_arg_string(&call->command, slot->stamp);
}

/* "tombstone{T_I}" of "slot{T_I}". */
static void slot_add_tombstone(struct store_call *call, int place, const struct store_slot *slot)
{
    char key[SLOT_KEY_MAX + sizeof(SLOT_TOMBSTONE)];

    (void) snprintf(key, sizeof(key), SLOT_TOMBSTONE "%s", slot->keys.slot + strlen("slot"));
    redis_arg_string(call_argv(call, place), key);
}

void store_slot_open(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                     const struct topic *topic, int64_t timeout_ms)
{
    call_begin_slot(call, &script_slot_open, slot);
    call_kind(call, SCRIPT_SLOT_OPEN_ARGV_KIND, slot);
    redis_arg_string(call_argv(call, SCRIPT_SLOT_OPEN_ARGV_CHANNEL), slot->keys.wake);
    redis_arg_int(call_argv(call, SCRIPT_SLOT_OPEN_ARGV_SHARED), slot->shared ? 1 : 0);
    slot_add_definition(call, SCRIPT_SLOT_OPEN_ARGV_DEFINITION, topic);
    redis_arg_int(call_argv(call, SCRIPT_SLOT_OPEN_ARGV_GENERATION), topic->generation);
    redis_arg_int(call_argv(call, SCRIPT_SLOT_OPEN_ARGV_PAUSES), topic->pauses);
    redis_arg_int(call_argv(call, SCRIPT_SLOT_OPEN_ARGV_PAUSED), topic->paused ? 1 : 0);
    redis_arg_int(call_argv(call, SCRIPT_SLOT_OPEN_ARGV_DELETES), topic->deletes);
    slot_add_tombstone(call, SCRIPT_SLOT_OPEN_ARGV_TOMBSTONE, slot);
    call_submit_publishing(call, redis, 8, timeout_ms);
}

static bool slot_read_flag(bool *out, const struct store_result *result, size_t index)
{
    int64_t number;

    if (!reply_number(&number, result->reply, index)) {
        return false;
    }
    *out = number != 0;
    return true;
}

bool store_slot_open_read(bool *made, const struct store_result *result)
{
    return slot_read_flag(made, result, 1);
}

bool store_slot_foreign_read(char key[SLOT_KEY_MAX], const struct store_result *result)
{
    return result->outcome == STORE_REFUSED && strcmp(result->word, "FOREIGN") == 0 &&
           reply_text(key, SLOT_KEY_MAX, result->reply, 1);
}

static void slot_begin_read(struct store_call *call, const struct store_slot *slot)
{
    call_begin_keys(call, &script_slot_read, slot);
    slot_add_tombstone(call, SCRIPT_SLOT_READ_ARGV_TOMBSTONE, slot);
}

void store_slot_old_senders(struct store_call *call, struct redis *redis,
                            const struct store_slot *slot, int64_t sent_ms)
{
    slot_begin_read(call, slot);
    redis_arg_int(call_argv(call, SCRIPT_SLOT_READ_ARGV_SENT_MS), sent_ms);
    call_submit(call, redis, 16, 0);
}

bool store_slot_old_senders_read(uint64_t *out, const struct store_result *result)
{
    return reply_count(out, result->reply, 12);
}

void store_slot_read(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                     int64_t timeout_ms)
{
    slot_begin_read(call, slot);
    redis_arg_string(call_argv(call, SCRIPT_SLOT_READ_ARGV_SENT_MS), "");
    call_submit(call, redis, 16, timeout_ms);
}

static bool slot_read_number(uint32_t *out, const struct store_result *result, size_t index)
{
    uint64_t number;

    if (!reply_count(&number, result->reply, index) || number > UINT32_MAX) {
        return false;
    }
    *out = (uint32_t) number;
    return true;
}

/* "nonce.version"; "": the slot is not open. */
static bool slot_read_stamp(struct slot_notes *out, const struct store_result *result, size_t index)
{
    char stamp[TOPIC_STAMP_MAX];
    const char *dot;
    char *end = NULL;
    unsigned long version;

    if (!reply_text(stamp, sizeof(stamp), result->reply, index)) {
        return false;
    }
    out->open = stamp[0] != '\0';
    if (!out->open) {
        return true;
    }
    dot = strchr(stamp, '.');
    if (dot == NULL || dot - stamp != TOPIC_NONCE_LEN) {
        return false;
    }
    memcpy(out->nonce, stamp, TOPIC_NONCE_LEN);
    version = strtoul(dot + 1, &end, 10);
    out->version = (uint32_t) version;
    return end != dot + 1 && *end == '\0' && version >= 1 && version <= UINT32_MAX;
}

/* "": there is no token yet; "shared": the slot never has one. */
static bool slot_read_token(struct token *out, const struct store_result *result, size_t index)
{
    const char *data;
    size_t len;

    *out = (struct token){0};
    if (!reply_string(&data, &len, result->reply, index)) {
        return false;
    }
    return len == 0 || (len == strlen("shared") && memcmp(data, "shared", len) == 0) ||
           token_parse(out, data, len);
}

/* "GENERATION COORD"; "": the slot does not know the binding. */
static bool slot_read_bound(struct slot_notes *out, const struct store_result *result, size_t index)
{
    unsigned long long generation;
    const char *data;
    char *end = NULL;
    size_t len;

    if (!reply_string(&data, &len, result->reply, index)) {
        return false;
    }
    if (len == 0) {
        return true;
    }
    generation = strtoull(data, &end, 10); /* hiredis ends every string with a NUL of its own */
    if (end == data || *end != ' ' || generation > UINT32_MAX || strlen(data) != len) {
        return false;
    }
    out->bound_at = (uint32_t) generation;
    out->coord = end + 1;
    return out->coord[0] != '\0' && strlen(out->coord) < DAMAGE_COORD_MAX;
}

bool store_slot_notes_read(struct slot_notes *out, const struct store_result *result)
{
    *out = (struct slot_notes){.open = false};
    return slot_read_stamp(out, result, 1) &&
           reply_string(&out->text, &out->text_len, result->reply, 2) &&
           slot_read_number(&out->text_version, result, 3) &&
           slot_read_number(&out->generation, result, 4) &&
           slot_read_token(&out->token, result, 5) && slot_read_number(&out->pauses, result, 6) &&
           slot_read_flag(&out->paused, result, 7) && slot_read_number(&out->sealed, result, 8) &&
           reply_count(&out->messages, result->reply, 9) &&
           slot_read_flag(&out->complete, result, 10) && slot_read_bound(out, result, 11);
}

void store_slot_alter(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                      const struct topic *topic, int64_t timeout_ms)
{
    call_begin(call, &script_slot_alter, slot->keys.hash_slot);
    redis_arg_string(&call->command, slot->keys.slot);
    if (slot->keyed) {
        redis_arg_string(&call->command, slot->keys.done);
    }
    call_drop_keyed(call, slot);
    redis_arg_string(&call->command, slot->stamp);
    redis_arg_string(call_argv(call, SCRIPT_SLOT_ALTER_ARGV_CHANNEL), slot->keys.wake);
    slot_add_definition(call, SCRIPT_SLOT_ALTER_ARGV_DEFINITION, topic);
    redis_arg_int(call_argv(call, SCRIPT_SLOT_ALTER_ARGV_GENERATION), topic->generation);
    redis_arg_int(call_argv(call, SCRIPT_SLOT_ALTER_ARGV_DEDUP_MS), slot->dedup_ms);
    call_submit_publishing(call, redis, 8, timeout_ms);
}

void store_slot_pause(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                      const struct topic *topic, int64_t timeout_ms)
{
    slot_begin_slot_hash(call, &script_slot_pause, slot);
    redis_arg_string(call_argv(call, SCRIPT_SLOT_PAUSE_ARGV_CHANNEL), slot->keys.wake);
    redis_arg_int(call_argv(call, SCRIPT_SLOT_PAUSE_ARGV_PAUSES), topic->pauses);
    redis_arg_int(call_argv(call, SCRIPT_SLOT_PAUSE_ARGV_PAUSED), topic->paused ? 1 : 0);
    call_submit_publishing(call, redis, 8, timeout_ms);
}

void store_slot_bind(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                     uint32_t generation, const char *coord, int64_t timeout_ms)
{
    slot_begin_slot_hash(call, &script_slot_bind, slot);
    redis_arg_int(call_argv(call, SCRIPT_SLOT_BIND_ARGV_GENERATION), generation);
    redis_arg_string(call_argv(call, SCRIPT_SLOT_BIND_ARGV_COORD), coord);
    call_submit(call, redis, 8, timeout_ms);
}

void store_slot_seal(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                     bool force, uint32_t deletion, int64_t timeout_ms)
{
    call_begin_slot(call, &script_slot_seal, slot);
    redis_arg_int(call_argv(call, SCRIPT_SLOT_SEAL_ARGV_FORCE), force ? 1 : 0);
    redis_arg_int(call_argv(call, SCRIPT_SLOT_SEAL_ARGV_DELETION), deletion);
    call_submit(call, redis, 8, timeout_ms);
}

bool store_slot_seal_read(uint64_t *messages, const struct store_result *result)
{
    return reply_count(messages, result->reply, 1);
}

void store_slot_unseal(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                       uint32_t deletion, int64_t timeout_ms)
{
    slot_begin_slot_hash(call, &script_slot_unseal, slot);
    redis_arg_int(call_argv(call, SCRIPT_SLOT_UNSEAL_ARGV_DELETION), deletion);
    call_submit(call, redis, 8, timeout_ms);
}

void store_slot_clear(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                      uint32_t deletion, int64_t timeout_ms)
{
    call_begin_keys(call, &script_slot_clear, slot);
    redis_arg_int(call_argv(call, SCRIPT_SLOT_CLEAR_ARGV_DELETION), deletion);
    redis_arg_int(call_argv(call, SCRIPT_SLOT_CLEAR_ARGV_LIMIT), CLEAR_LIMIT);
    call_counters(call, SCRIPT_SLOT_CLEAR_ARGV_COUNTERS);
    call_submit(call, redis, 8, timeout_ms);
}

bool store_slot_clear_read(bool *more, const struct store_result *result)
{
    return slot_read_flag(more, result, 1);
}

void store_slot_divide(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                       const char *cursor, int64_t timeout_ms)
{
    call_begin(call, &script_slot_divide, slot->keys.hash_slot);
    redis_arg_string(&call->command, slot->keys.slot);
    redis_arg_string(&call->command, slot->keys.body);
    redis_arg_string(call_argv(call, SCRIPT_SLOT_DIVIDE_ARGV_DEF), slot->stamp);
    redis_arg_string(call_argv(call, SCRIPT_SLOT_DIVIDE_ARGV_CURSOR), cursor);
    redis_arg_int(call_argv(call, SCRIPT_SLOT_DIVIDE_ARGV_LIMIT), DIVIDE_LIMIT);
    call_submit(call, redis, 8, timeout_ms);
}

bool store_slot_divide_read(char cursor[STORE_DIVIDED_MAX], uint64_t *divided,
                            const struct store_result *result)
{
    return reply_text(cursor, STORE_DIVIDED_MAX, result->reply, 1) &&
           reply_count(divided, result->reply, 2);
}

void store_slot_forget(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                       uint32_t deletion, int64_t timeout_ms)
{
    call_begin_keys(call, &script_slot_forget, slot);
    if (deletion > 0) {
        redis_arg_int(call_argv(call, SCRIPT_SLOT_FORGET_ARGV_DELETION), deletion);
    } else {
        redis_arg_string(call_argv(call, SCRIPT_SLOT_FORGET_ARGV_DELETION), "");
    }
    slot_add_tombstone(call, SCRIPT_SLOT_FORGET_ARGV_TOMBSTONE, slot);
    redis_arg_int(call_argv(call, SCRIPT_SLOT_FORGET_ARGV_KEEP_MS), STORE_TOMBSTONE_MS);
    redis_arg_string(call_argv(call, SCRIPT_SLOT_FORGET_ARGV_SCHEDULE), slot->keys.schedule);
    call_submit(call, redis, 8, timeout_ms);
}

void store_slot_remove(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                       int64_t timeout_ms)
{
    call_begin_slot(call, &script_slot_remove, slot);
    call_submit(call, redis, 8, timeout_ms);
}
