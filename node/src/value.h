/* value.h - values of JavaScript become those of C, and structs become objects. */
#ifndef SLOTMQ_NODE_VALUE_H
#define SLOTMQ_NODE_VALUE_H

#define NAPI_VERSION 8
#include <node_api.h>
#include <slotmq/slotmq.h>

/* === Memory that is freed together ====================================== */

struct block;

/* Pieces of memory for the arguments and results of one call.  A reset one keeps its first block.
 */
struct arena {
    struct block *blocks;
};

/* Memory of `size` bytes, aligned for all types.  It does not fail. */
void *arena_get(struct arena *arena, size_t size);
char *arena_copy(struct arena *arena, const void *data, size_t len); /* with a NUL behind it */
void arena_reset(struct arena *arena);
void arena_free(struct arena *arena);

/* === From JavaScript ==================================================== */

/* Each of these throws a TypeError and returns false if the value has another type.  undefined and
 * null give NULL, no bytes and 0.  A Buffer is used in place: it lives as long as the call; a text
 * is copied into the arena. */
bool value_is_none(napi_env env, napi_value value);
bool value_text(napi_env env, napi_value value, struct arena *arena, const char **out);
bool value_bytes(napi_env env, napi_value value, struct arena *arena, smq_bytes *out);
bool value_int(napi_env env, napi_value value, int64_t *out);
bool value_bool(napi_env env, napi_value value);
/* How many elements an array has; 0: it is none. */
uint32_t value_length(napi_env env, napi_value array);
napi_value value_at(napi_env env, napi_value array, uint32_t index);

enum { VALUE_MESSAGE_WORDS = 9 };

/* body, key, id, priority, delay, dueAt, ttl, maxRetries, headers: [name, value, ...] */
bool value_message(napi_env env, const napi_value words[VALUE_MESSAGE_WORDS], struct arena *arena,
                   smq_message *out);

/* [name, text, ...] as options of this library; NULL: an error was thrown. */
void *value_options(napi_env env, napi_value pairs, smq_option_set set, struct arena *arena,
                    smq_status *status, smq_error *err);

/* === To JavaScript ====================================================== */

enum field_kind {
    FIELD_I32,
    FIELD_I64,
    FIELD_U64,
    FIELD_BOOL,
    FIELD_TEXT,
    FIELD_BYTES,
    FIELD_CHARS,
    FIELD_U64S
};

/* A row of a table of fields, which ends with a row without a name (fields.py). */
struct field {
    const char *name;
    enum field_kind kind;
    size_t offset, size;
};

napi_value value_of_text(napi_env env, const char *text); /* NULL: undefined */
napi_value value_of_bytes(napi_env env, smq_bytes bytes); /* a copy; without data: undefined */
napi_value value_of_number(napi_env env, double number);
napi_value value_of_record(napi_env env, const struct field *fields, const void *record);
void value_set(napi_env env, napi_value object, const char *name, napi_value value);
napi_value value_undefined(napi_env env);

/* A copy of a struct, with all that its fields of the table point to. */
void *value_keep(struct arena *arena, const struct field *fields, const void *record, size_t size);

#endif
