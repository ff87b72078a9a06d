/* topic.c - the hash of a topic, topic{T}, and the registry of topics.
 *
 * Thread: smq:io. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "scripts.h"
#include "store/call.h"
#include "store/topic.h"

enum { REGISTRY_PAGE = 500, REGISTRY_MAX_ELEMENTS = 8192, SCAN_MAX_ELEMENTS = 65536 };

/* A definition as it is stored, before it is checked. */
struct stored {
    const char *state, *definition;
    size_t state_len, definition_len;
    char nonce[TOPIC_NONCE_LEN + 1];
    int64_t version, generation, pauses, deletes;
    bool paused, disused;
};

static bool topic_state_parse(enum store_topic_state *out, const char *text, size_t len)
{
    static const char *const names[] = {[STORE_TOPIC_CREATING] = "creating",
                                        [STORE_TOPIC_READY] = "ready",
                                        [STORE_TOPIC_DELETING] = "deleting"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i]) == len && memcmp(names[i], text, len) == 0) {
            *out = (enum store_topic_state) i;
            return true;
        }
    }
    return false;
}

static bool topic_number_fits(int64_t number, int64_t least)
{
    return number >= least && number <= UINT32_MAX;
}

static smq_status stored_read(struct topic *out, enum store_topic_state *state, const char *name,
                              const struct stored *stored, smq_error *err)
{
    smq_status status;
    char key[SLOT_KEY_MAX];

    if (!topic_state_parse(state, stored->state, stored->state_len) ||
        strlen(stored->nonce) != TOPIC_NONCE_LEN || !topic_number_fits(stored->version, 1) ||
        !topic_number_fits(stored->generation, 1) || !topic_number_fits(stored->pauses, 0) ||
        !topic_number_fits(stored->deletes, 0)) {
        slot_topic_key(key, name);
        return status_set(err, SMQ_INTERNAL,
                          "the stored definition of topic %s cannot be read; look at HGETALL %s",
                          name, key);
    }
    status = topic_parse(out, name, stored->definition, stored->definition_len, err);
    if (status != SMQ_OK) {
        return status;
    }
    memcpy(out->nonce, stored->nonce, sizeof(out->nonce));
    out->version = (uint32_t) stored->version;
    out->generation = (uint32_t) stored->generation;
    out->paused = stored->paused;
    out->pauses = (uint32_t) stored->pauses;
    out->deletes = (uint32_t) stored->deletes;
    out->disused = *state == STORE_TOPIC_DELETING && stored->disused;
    return SMQ_OK;
}

void store_topic_get(struct store_call *call, struct redis *redis, const char *topic,
                     int64_t timeout_ms)
{
    char key[SLOT_KEY_MAX];

    slot_topic_key(key, topic);
    call_begin(call, NULL, slot_hash(key, strlen(key)));
    redis_arg_string(&call->command, "HGETALL");
    redis_arg_string(&call->command, key);
    call_submit(call, redis, 64, timeout_ms);
}

/* The index of the value of `field` in a reply to HGETALL, or 0. */
static size_t topic_field_find(const redisReply *reply, const char *field)
{
    const char *data;
    size_t len;

    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        if (reply_string(&data, &len, reply, i) && strlen(field) == len &&
            memcmp(field, data, len) == 0) {
            return i + 1;
        }
    }
    return 0;
}

smq_status store_topic_get_read(struct topic *out, enum store_topic_state *state, const char *name,
                                const struct store_result *result, smq_error *err)
{
    const redisReply *reply = result->reply;
    struct stored stored = {.state = "", .definition = ""};
    const char *deleter;
    size_t deleter_len;

    (void) reply_number(&stored.generation, reply, topic_field_find(reply, "generation"));
    (void) reply_number(&stored.deletes, reply, topic_field_find(reply, "deletes"));
    if (reply->type != REDIS_REPLY_ARRAY || topic_field_find(reply, "state") == 0) {
        *state = STORE_TOPIC_MISSING;
        out->generation =
            topic_number_fits(stored.generation, 1) ? (uint32_t) stored.generation : 0;
        out->deletes = topic_number_fits(stored.deletes, 1) ? (uint32_t) stored.deletes : 0;
        return status_set(err, SMQ_NO_TOPIC, "no topic %s; create it first", name);
    }
    (void) reply_string(&stored.state, &stored.state_len, reply, topic_field_find(reply, "state"));
    (void) reply_string(&stored.definition, &stored.definition_len, reply,
                        topic_field_find(reply, "definition"));
    (void) reply_text(stored.nonce, sizeof(stored.nonce), reply, topic_field_find(reply, "nonce"));
    (void) reply_number(&stored.version, reply, topic_field_find(reply, "version"));
    (void) reply_number(&stored.pauses, reply, topic_field_find(reply, "pauses"));
    stored.paused = topic_field_find(reply, "paused") != 0;
    stored.disused =
        reply_string(&deleter, &deleter_len, reply, topic_field_find(reply, "deleter")) &&
        deleter_len > 0 && *deleter == STORE_DISUSED;
    return stored_read(out, state, name, &stored, err);
}

smq_status store_topic_get_failed(const char *name, const struct store_result *result,
                                  smq_error *err)
{
    char key[SLOT_KEY_MAX];

    if (result->status == SMQ_INVALID) {
        slot_topic_key(key, name);
        return status_set(err, SMQ_INVALID,
                          "cannot read topic %s: the key %s holds something else; rename "
                          "the topic, or the key",
                          name, key);
    }
    return status_set(err, result->status, "cannot read topic %s: %s", name, result->text);
}

void store_topic_coord_read(char *out, size_t size, const struct store_result *result)
{
    const redisReply *reply = result->reply;

    *out = '\0';
    if (reply->type == REDIS_REPLY_ARRAY && topic_field_find(reply, "coord") != 0 &&
        !reply_text(out, size, reply, topic_field_find(reply, "coord"))) {
        *out = '\0';
    }
}

static void topic_add_tombstone(struct store_call *call, const char *topic)
{
    char key[SLOT_KEY_MAX];

    slot_topic_tombstone(key, topic);
    redis_arg_string(&call->command, key);
}

void store_tombstone_get(struct store_call *call, struct redis *redis, const char *topic,
                         int64_t timeout_ms)
{
    char key[SLOT_KEY_MAX];

    slot_topic_tombstone(key, topic);
    call_begin(call, NULL, slot_hash(key, strlen(key)));
    redis_arg_string(&call->command, "GET");
    redis_arg_string(&call->command, key);
    call_submit(call, redis, 1, timeout_ms);
}

void store_tombstone_read(uint32_t *generation, uint32_t *deletes,
                          const struct store_result *result)
{
    uint64_t numbers[2] = {0};

    if (result->outcome == STORE_OK && result->reply->type == REDIS_REPLY_STRING) {
        (void) sscanf(result->reply->str, "%9" SCNu64 " %9" SCNu64, &numbers[0], &numbers[1]);
    }
    *generation = (uint32_t) numbers[0];
    *deletes = (uint32_t) numbers[1];
}

void store_topic_create(struct store_call *call, struct redis *redis, const struct topic *topic,
                        uint32_t stored, int64_t timeout_ms)
{
    struct buf definition = {0};

    topic_format(&definition, topic);
    call_begin_topic(call, &script_topic, topic->name);
    redis_arg_string(call_argv(call, SCRIPT_TOPIC_ARGV_VERB), "create");
    redis_arg(call_argv(call, SCRIPT_TOPIC_ARGV_OPERANDS), definition.data, definition.len);
    redis_arg_string(&call->command, topic->nonce);
    redis_arg_int(&call->command, stored);
    redis_arg_int(&call->command, topic->generation);
    redis_arg_int(&call->command, topic->deletes);
    redis_arg_int(&call->command, topic->version);
    topic_add_tombstone(call, topic->name);
    call_submit(call, redis, 16, timeout_ms);
    buf_fini(&definition);
}

smq_status store_topic_create_read(struct topic *out, enum store_topic_state *state,
                                   const char *name, const struct store_result *result,
                                   smq_error *err)
{
    const redisReply *reply = result->reply;
    struct stored stored = {.state = "", .definition = ""};

    (void) reply_string(&stored.state, &stored.state_len, reply, 1);
    (void) reply_string(&stored.definition, &stored.definition_len, reply, 2);
    (void) reply_text(stored.nonce, sizeof(stored.nonce), reply, 3);
    (void) reply_number(&stored.version, reply, 4);
    (void) reply_number(&stored.generation, reply, 5);
    return stored_read(out, state, name, &stored, err);
}

static void topic_begin_op(struct store_call *call, const struct topic *topic, const char *op)
{
    call_begin_topic(call, &script_topic, topic->name);
    redis_arg_string(call_argv(call, SCRIPT_TOPIC_ARGV_VERB), op);
    redis_arg_string(call_argv(call, SCRIPT_TOPIC_ARGV_OPERANDS), topic->nonce);
}

void store_topic_step(struct store_call *call, struct redis *redis, const struct topic *topic,
                      enum store_topic_step step, int64_t timeout_ms)
{
    static const char *const words[] = {[STORE_STEP_READY] = "ready",
                                        [STORE_STEP_UNDONE] = "undone",
                                        [STORE_STEP_KEEP] = "keep",
                                        [STORE_STEP_REMOVED] = "removed"};

    topic_begin_op(call, topic, words[step]);
    if (step == STORE_STEP_KEEP || step == STORE_STEP_REMOVED) {
        redis_arg_int(&call->command, topic->deletes);
    }
    if (step == STORE_STEP_UNDONE || step == STORE_STEP_REMOVED) {
        topic_add_tombstone(call, topic->name);
        redis_arg_int(&call->command, STORE_TOMBSTONE_MS);
    }
    call_submit(call, redis, 16, timeout_ms);
}

void store_topic_forget(struct store_call *call, struct redis *redis, const char *topic,
                        int64_t timeout_ms)
{
    char key[SLOT_KEY_MAX];

    slot_topic_tombstone(key, topic);
    call_begin_topic(call, &script_topic, topic);
    redis_arg_string(call_argv(call, SCRIPT_TOPIC_ARGV_VERB), "forget");
    redis_arg_string(call_argv(call, SCRIPT_TOPIC_ARGV_OPERANDS), key);
    redis_arg_int(&call->command, STORE_TOMBSTONE_MS);
    call_submit(call, redis, 8, timeout_ms);
}

void store_topic_delete(struct store_call *call, struct redis *redis, const struct topic *topic,
                        const char *id, int64_t timeout_ms)
{
    topic_begin_op(call, topic, "delete");
    redis_arg_int(&call->command, topic->deletes);
    redis_arg_string(&call->command, id);
    call_submit(call, redis, 8, timeout_ms);
}

bool store_topic_number_read(uint32_t *out, const struct store_result *result)
{
    uint64_t number;

    if (!reply_count(&number, result->reply, 1) || number > UINT32_MAX) {
        return false;
    }
    *out = (uint32_t) number;
    return true;
}

/* Add the keys of the groups of a topic which `stored` has, too, or of those which it has not;
 * returns how many they are. */
static int topic_add_groups(struct store_call *call, const struct topic *topic,
                            const struct topic *stored, bool has)
{
    char name[TOPIC_NAME_MAX + 1];
    int count = 0;

    for (int i = 0; i < group_list_count(topic->groups); i++) {
        topic_part_name(name, topic, i);
        if (topic_has_part(stored, name) == has) {
            call_key_topic(call, name);
            count++;
        }
    }
    return count;
}

void store_topic_alter(struct store_call *call, struct redis *redis, const struct topic *topic,
                       const struct topic *stored, int64_t timeout_ms)
{
    struct buf definition = {0};
    struct topic group;
    int added;

    topic_format(&definition, topic);
    call_begin_topic(call, &script_topic, topic->name);
    (void) topic_add_groups(call, topic, stored, true);
    added = topic_add_groups(call, topic, stored, false);
    redis_arg_string(call_argv(call, SCRIPT_TOPIC_ARGV_VERB), "alter");
    redis_arg_string(call_argv(call, SCRIPT_TOPIC_ARGV_OPERANDS), topic->nonce);
    redis_arg_int(&call->command, topic->version);
    redis_arg(&call->command, definition.data, definition.len);
    topic_part(&group, topic, 0);
    buf_clear(&definition);
    topic_format(&definition, &group);
    redis_arg(&call->command, definition.data, definition.len);
    redis_arg_int(&call->command, added);
    call_submit(call, redis, 8, timeout_ms);
    buf_fini(&definition);
}

void store_topic_pause(struct store_call *call, struct redis *redis, const struct topic *topic,
                       bool paused, int64_t timeout_ms)
{
    topic_begin_op(call, topic, "pause");
    redis_arg_int(&call->command, topic->pauses);
    redis_arg_int(&call->command, paused);
    call_submit(call, redis, 8, timeout_ms);
}

void store_topic_repair(struct store_call *call, struct redis *redis, const struct topic *topic,
                        const struct topic *stored, const char *coord, int64_t timeout_ms)
{
    struct buf text = {0};

    topic_begin_op(call, topic, "repair");
    topic_format(&text, topic);
    redis_arg(&call->command, text.data, text.len);
    redis_arg_int(&call->command, topic->version);
    redis_arg_int(&call->command, topic->generation);
    redis_arg_int(&call->command, topic->pauses);
    redis_arg_int(&call->command, topic->paused);
    redis_arg_int(&call->command, topic->deletes);
    buf_clear(&text);
    buf_printf(&text, "%" PRIu32 ".%" PRIu32 ".%" PRIu32 ".%" PRIu32, stored->version,
               stored->generation, stored->pauses, stored->deletes);
    redis_arg(&call->command, text.data, text.len);
    redis_arg_string(&call->command, coord);
    call_submit(call, redis, 8, timeout_ms);
    buf_fini(&text);
}

static void topic_begin_registry(struct store_call *call, const char *command)
{
    call_begin(call, NULL, slot_hash(SLOT_REGISTRY_KEY, strlen(SLOT_REGISTRY_KEY)));
    redis_arg_string(&call->command, command);
    redis_arg_string(&call->command, SLOT_REGISTRY_KEY);
}

/* A command about one field. */
static void topic_ask_registry(struct store_call *call, struct redis *redis, const char *command,
                               const char *field, int64_t timeout_ms)
{
    topic_begin_registry(call, command);
    redis_arg_string(&call->command, field);
    call_submit(call, redis, 1, timeout_ms);
}

void store_registry_add(struct store_call *call, struct redis *redis, const char *topic,
                        int64_t created_ms, int64_t timeout_ms)
{
    topic_begin_registry(call, "HSETNX");
    redis_arg_string(&call->command, topic);
    redis_arg_int(&call->command, created_ms);
    call_submit(call, redis, 1, timeout_ms);
}

void store_registry_remove(struct store_call *call, struct redis *redis, const char *topic,
                           int64_t timeout_ms)
{
    topic_ask_registry(call, redis, "HDEL", topic, timeout_ms);
}

void store_registry_list(struct store_call *call, struct redis *redis, const char *cursor,
                         int64_t timeout_ms)
{
    topic_begin_registry(call, "HSCAN");
    redis_arg_string(&call->command, cursor);
    redis_arg_string(&call->command, "COUNT");
    redis_arg_int(&call->command, REGISTRY_PAGE);
    call_submit(call, redis, REGISTRY_MAX_ELEMENTS, timeout_ms);
}

bool store_registry_list_read(char cursor[STORE_CURSOR_MAX], size_t *count,
                              const struct store_result *result)
{
    const redisReply *reply = result->reply;

    if (!reply_text(cursor, STORE_CURSOR_MAX, reply, 0) || reply->elements != 2 ||
        reply->element[1]->type != REDIS_REPLY_ARRAY || reply->element[1]->elements % 2 != 0) {
        return false;
    }
    *count = reply->element[1]->elements / 2;
    return true;
}

const char *store_registry_name(const struct store_result *result, size_t index)
{
    const redisReply *names = result->reply->element[1];
    const char *data;
    size_t len;

    /* hiredis ends every string with a NUL of its own */
    if (!reply_string(&data, &len, names, 2 * index) || strlen(data) != len) {
        return "";
    }
    return data;
}

bool store_registry_is_lost(const struct store_result *result, size_t index)
{
    const char *data;
    size_t len;

    return reply_string(&data, &len, result->reply->element[1], 2 * index) &&
           len == strlen(SLOT_REGISTRY_LOST) && memcmp(data, SLOT_REGISTRY_LOST, len) == 0;
}

void store_registry_count(struct store_call *call, struct redis *redis, int64_t timeout_ms)
{
    topic_begin_registry(call, "HLEN");
    call_submit(call, redis, 1, timeout_ms);
}

void store_registry_has(struct store_call *call, struct redis *redis, const char *topic,
                        int64_t timeout_ms)
{
    topic_ask_registry(call, redis, "HEXISTS", topic, timeout_ms);
}

void store_registry_restore(struct store_call *call, struct redis *redis, const char *topic,
                            int64_t created_ms, int64_t timeout_ms)
{
    topic_begin_registry(call, "HSET");
    redis_arg_string(&call->command, SLOT_REGISTRY_LOST);
    redis_arg_int(&call->command, created_ms);
    if (topic != NULL) {
        redis_arg_string(&call->command, topic);
        redis_arg_int(&call->command, created_ms);
    }
    call_submit(call, redis, 1, timeout_ms);
}

void store_registry_is_whole(struct store_call *call, struct redis *redis, int64_t timeout_ms)
{
    topic_ask_registry(call, redis, "HDEL", SLOT_REGISTRY_LOST, timeout_ms);
}

bool store_integer_read(int64_t *out, const struct store_result *result)
{
    if (result->outcome != STORE_OK || result->reply->type != REDIS_REPLY_INTEGER) {
        return false;
    }
    *out = result->reply->integer;
    return true;
}

void store_scan(struct store_call *call, struct redis *redis, int32_t hash_slot, const char *cursor,
                const char *pattern, int64_t timeout_ms)
{
    call_begin(call, NULL, hash_slot);
    redis_arg_string(&call->command, "SCAN");
    redis_arg_string(&call->command, cursor);
    redis_arg_string(&call->command, "MATCH");
    redis_arg_string(&call->command, pattern);
    redis_arg_string(&call->command, "COUNT");
    redis_arg_int(&call->command, STORE_SCAN_PAGE);
    call_submit(call, redis, SCAN_MAX_ELEMENTS, timeout_ms);
}

bool store_scan_read(char cursor[STORE_CURSOR_MAX], size_t *count,
                     const struct store_result *result)
{
    const redisReply *reply = result->reply;

    if (!reply_text(cursor, STORE_CURSOR_MAX, reply, 0) || reply->elements != 2 ||
        reply->element[1]->type != REDIS_REPLY_ARRAY) {
        return false;
    }
    *count = reply->element[1]->elements;
    return true;
}

bool store_scan_key(const char **key, size_t *len, const struct store_result *result, size_t index)
{
    return reply_string(key, len, result->reply->element[1], index);
}
