/* value.c - values of JavaScript become those of C, and structs become objects.  Thread: that of
 * the loop; of the arena and value_keep(): the one that makes the call. */
#include "value.h"

#include <stdlib.h>

/* === Memory that is freed together ====================================== */

enum { BLOCK_SIZE = 16384, ALIGNED = 16 };

struct block {
    struct block *next;
    size_t size, used;
    _Alignas(ALIGNED) char data[];
};

void *arena_get(struct arena *arena, size_t size)
{
    struct block *block = arena->blocks;
    size_t wanted = (size + ALIGNED - 1) / ALIGNED * ALIGNED;

    if (block == NULL || block->size - block->used < wanted) {
        size_t room = wanted > BLOCK_SIZE ? wanted : BLOCK_SIZE;

        block = malloc(sizeof(*block) + room);
        if (block == NULL) {
            abort();
        }
        *block = (struct block){.next = arena->blocks, .size = room};
        arena->blocks = block;
    }
    block->used += wanted;
    return block->data + block->used - wanted;
}

char *arena_copy(struct arena *arena, const void *data, size_t len)
{
    char *copy = arena_get(arena, len + 1);

    if (len > 0) {
        memcpy(copy, data, len);
    }
    copy[len] = '\0';
    return copy;
}

void arena_reset(struct arena *arena)
{
    while (arena->blocks != NULL &&
           (arena->blocks->next != NULL || arena->blocks->size > BLOCK_SIZE)) {
        struct block *next = arena->blocks->next;

        free(arena->blocks);
        arena->blocks = next;
    }
    if (arena->blocks != NULL) {
        arena->blocks->used = 0;
    }
}

void arena_free(struct arena *arena)
{
    arena_reset(arena);
    free(arena->blocks);
    arena->blocks = NULL;
}

/* === From JavaScript ==================================================== */

static bool value_refuse(napi_env env, const char *text)
{
    (void) napi_throw_type_error(env, "ERR_INVALID_ARG_TYPE", text);
    return false;
}

bool value_is_none(napi_env env, napi_value value)
{
    napi_valuetype type = napi_undefined;

    (void) napi_typeof(env, value, &type);
    return type == napi_undefined || type == napi_null;
}

/* A string as UTF-8, with a NUL behind it.  Short ones are read at once. */
static bool value_utf8(napi_env env, napi_value value, struct arena *arena, smq_bytes *out)
{
    enum { SHORT = 256 };
    char *text = arena_get(arena, SHORT);
    size_t len = 0;

    if (napi_get_value_string_utf8(env, value, text, SHORT, &len) != napi_ok) {
        return false;
    }
    if (len >= SHORT - 4) { /* perhaps it was cut before a whole character */
        (void) napi_get_value_string_utf8(env, value, NULL, 0, &len);
        text = arena_get(arena, len + 1);
        (void) napi_get_value_string_utf8(env, value, text, len + 1, &len);
    }
    *out = (smq_bytes){text, len};
    return true;
}

bool value_text(napi_env env, napi_value value, struct arena *arena, const char **out)
{
    smq_bytes bytes;

    *out = NULL;
    if (value_is_none(env, value)) {
        return true;
    }
    if (!value_utf8(env, value, arena, &bytes)) {
        return value_refuse(env, "a text is expected");
    }
    if (strlen(bytes.data) != bytes.len) {
        return value_refuse(env, "a text must not hold a NUL");
    }
    *out = bytes.data;
    return true;
}

bool value_bytes(napi_env env, napi_value value, struct arena *arena, smq_bytes *out)
{
    bool is_view = false;
    void *data = NULL;

    *out = (smq_bytes){NULL, 0};
    if (value_is_none(env, value) || value_utf8(env, value, arena, out)) {
        return true;
    }
    (void) napi_is_buffer(env, value, &is_view);
    if (!is_view || napi_get_buffer_info(env, value, &data, &out->len) != napi_ok) {
        return value_refuse(env, "a text or a Buffer is expected");
    }
    out->data = data != NULL ? data : "";
    return true;
}

bool value_int(napi_env env, napi_value value, int64_t *out)
{
    *out = 0;
    return value_is_none(env, value) || napi_get_value_int64(env, value, out) == napi_ok ||
           value_refuse(env, "a number is expected");
}

bool value_bool(napi_env env, napi_value value)
{
    bool found = false;

    (void) napi_get_value_bool(env, value, &found);
    return found;
}

uint32_t value_length(napi_env env, napi_value array)
{
    uint32_t length = 0;

    (void) napi_get_array_length(env, array, &length);
    return length;
}

napi_value value_at(napi_env env, napi_value array, uint32_t index)
{
    napi_value value = NULL;

    return napi_get_element(env, array, index, &value) == napi_ok ? value : value_undefined(env);
}

static bool value_headers(napi_env env, napi_value pairs, struct arena *arena, smq_message *out)
{
    uint32_t count = value_length(env, pairs) / 2;
    smq_header *headers = count > 0 ? arena_get(arena, count * sizeof(*headers)) : NULL;

    for (uint32_t i = 0; i < count; i++) {
        if (!value_text(env, value_at(env, pairs, 2 * i), arena, &headers[i].name) ||
            !value_bytes(env, value_at(env, pairs, 2 * i + 1), arena, &headers[i].value)) {
            return false;
        }
    }
    out->headers = headers;
    out->header_count = count;
    return true;
}

bool value_message(napi_env env, const napi_value words[VALUE_MESSAGE_WORDS], struct arena *arena,
                   smq_message *out)
{
    int64_t max_retries = 0;

    *out = SMQ_MESSAGE(.priority = 0);
    if (!value_bytes(env, words[0], arena, &out->body) ||
        !value_bytes(env, words[1], arena, &out->key) ||
        !value_bytes(env, words[2], arena, &out->id) || !value_int(env, words[3], &out->priority) ||
        !value_int(env, words[4], &out->delay_ms) || !value_int(env, words[5], &out->due_at_ms) ||
        !value_int(env, words[6], &out->ttl_ms) || !value_int(env, words[7], &max_retries)) {
        return false;
    }
    out->max_retries = (int32_t) max_retries;
    return value_is_none(env, words[8]) || value_headers(env, words[8], arena, out);
}

void *value_options(napi_env env, napi_value pairs, smq_option_set set, struct arena *arena,
                    smq_status *status, smq_error *err)
{
    uint32_t length = value_length(env, pairs);
    const char *name, *text;
    void *options = NULL;

    *status = smq_options_new(&options, set, err);
    for (uint32_t i = 0; i + 1 < length && *status == SMQ_OK; i += 2) {
        if (!value_text(env, value_at(env, pairs, i), arena, &name) ||
            !value_text(env, value_at(env, pairs, i + 1), arena, &text)) {
            *status = SMQ_INVALID;
            break;
        }
        *status = smq_options_set(options, name, text, err);
    }
    if (*status != SMQ_OK) {
        smq_options_free(options);
        return NULL;
    }
    return options;
}

/* === To JavaScript ====================================================== */

napi_value value_undefined(napi_env env)
{
    napi_value value = NULL;

    (void) napi_get_undefined(env, &value);
    return value;
}

napi_value value_of_text(napi_env env, const char *text)
{
    napi_value value = NULL;

    return text != NULL && napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &value) == napi_ok
               ? value
               : value_undefined(env);
}

napi_value value_of_bytes(napi_env env, smq_bytes bytes)
{
    napi_value value = NULL;
    void *copied;

    return bytes.data != NULL &&
                   napi_create_buffer_copy(env, bytes.len, bytes.data, &copied, &value) == napi_ok
               ? value
               : value_undefined(env);
}

napi_value value_of_number(napi_env env, double number)
{
    napi_value value = NULL;

    (void) napi_create_double(env, number, &value);
    return value;
}

void value_set(napi_env env, napi_value object, const char *name, napi_value value)
{
    (void) napi_set_named_property(env, object, name, value);
}

static napi_value value_of_numbers(napi_env env, const uint64_t *numbers, size_t count)
{
    napi_value array = NULL;

    (void) napi_create_array_with_length(env, count, &array);
    for (size_t i = 0; i < count; i++) {
        (void) napi_set_element(env, array, (uint32_t) i,
                                value_of_number(env, (double) numbers[i]));
    }
    return array;
}

static napi_value value_of_field(napi_env env, const struct field *field, const char *at)
{
    napi_value value = NULL;

    switch (field->kind) {
    case FIELD_I32:
        return value_of_number(env, *(const int32_t *) (const void *) at);
    case FIELD_I64:
        return value_of_number(env, (double) *(const int64_t *) (const void *) at);
    case FIELD_U64:
        return value_of_number(env, (double) *(const uint64_t *) (const void *) at);
    case FIELD_TEXT:
        return value_of_text(env, *(const char *const *) (const void *) at);
    case FIELD_BYTES:
        return value_of_bytes(env, *(const smq_bytes *) (const void *) at);
    case FIELD_CHARS:
        return value_of_text(env, at);
    case FIELD_U64S:
        return value_of_numbers(env, (const uint64_t *) (const void *) at,
                                field->size / sizeof(uint64_t));
    case FIELD_BOOL:
        (void) napi_get_boolean(env, *(const bool *) at, &value);
        break;
    }
    return value;
}

napi_value value_of_record(napi_env env, const struct field *fields, const void *record)
{
    napi_value object = NULL;

    (void) napi_create_object(env, &object);
    for (const struct field *field = fields; field->name != NULL; field++) {
        value_set(env, object, field->name,
                  value_of_field(env, field, (const char *) record + field->offset));
    }
    return object;
}

void *value_keep(struct arena *arena, const struct field *fields, const void *record, size_t size)
{
    char *copy = arena_copy(arena, record, size);

    for (const struct field *field = fields; field->name != NULL; field++) {
        void *at = copy + field->offset;

        if (field->kind == FIELD_TEXT && *(char **) at != NULL) {
            *(char **) at = arena_copy(arena, *(char **) at, strlen(*(char **) at));
        } else if (field->kind == FIELD_BYTES && ((smq_bytes *) at)->data != NULL) {
            ((smq_bytes *) at)->data =
                arena_copy(arena, ((smq_bytes *) at)->data, ((smq_bytes *) at)->len);
        }
    }
    return copy;
}
