/* value.c - values of JavaScript become those of C, and structs become objects. */
#include <stdlib.h>

#include "addon.h"

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
    while (arena->blocks != NULL) {
        struct block *next = arena->blocks->next;

        free(arena->blocks);
        arena->blocks = next;
    }
}

/* === From JavaScript ==================================================== */

static bool value_refuse(napi_env env, const char *text)
{
    napi_throw_type_error(env, "ERR_INVALID_ARG_TYPE", text);
    return false;
}

bool value_is_none(napi_env env, napi_value value)
{
    napi_valuetype type = napi_undefined;

    napi_typeof(env, value, &type);
    return type == napi_undefined || type == napi_null;
}

/* As UTF-8, with a NUL behind it.  Short texts are read at once. */
static bool value_utf8(napi_env env, napi_value value, struct arena *arena, smq_bytes *out)
{
    enum { SHORT = 256, WIDEST = 4 };
    char *text = arena_get(arena, SHORT);
    size_t len = 0;

    if (napi_get_value_string_utf8(env, value, text, SHORT, &len) != napi_ok) {
        return false;
    }
    if (len >= SHORT - WIDEST) { /* perhaps it was cut */
        napi_get_value_string_utf8(env, value, NULL, 0, &len);
        text = arena_get(arena, len + 1);
        napi_get_value_string_utf8(env, value, text, len + 1, &len);
    }
    *out = (smq_bytes){text, len};
    return true;
}

bool value_text(napi_env env, napi_value value, struct arena *arena, const char **out)
{
    smq_bytes bytes = {NULL, 0};

    if (!value_is_none(env, value) &&
        (!value_utf8(env, value, arena, &bytes) || strlen(bytes.data) != bytes.len)) {
        return value_refuse(env, "a text without NUL is expected");
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
    napi_is_buffer(env, value, &is_view);
    if (!is_view || napi_get_buffer_info(env, value, &data, &out->len) != napi_ok) {
        return value_refuse(env, "a text or a Buffer is expected");
    }
    out->data = arena_copy(arena, data, out->len);
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

    napi_get_value_bool(env, value, &found);
    return found;
}

static napi_value value_at(napi_env env, napi_value array, uint32_t index)
{
    napi_value value = NULL;

    if (napi_get_element(env, array, index, &value) != napi_ok) {
        napi_get_undefined(env, &value);
    }
    return value;
}

/* [name, value, ...] */
static bool value_headers(napi_env env, napi_value pairs, struct arena *arena, smq_message *out)
{
    uint32_t length = 0;

    napi_get_array_length(env, pairs, &length);
    smq_header *headers = arena_get(arena, length * sizeof(*headers));
    for (uint32_t i = 0; i < length / 2; i++) {
        if (!value_text(env, value_at(env, pairs, 2 * i), arena, &headers[i].name) ||
            !value_bytes(env, value_at(env, pairs, 2 * i + 1), arena, &headers[i].value)) {
            return false;
        }
    }
    out->headers = headers;
    out->header_count = length / 2;
    return true;
}

static bool value_read_field(napi_env env, napi_value value, const struct field *field,
                             struct arena *arena, void *out)
{
    void *at = (char *) out + field->offset;
    int64_t number = 0;

    switch (field->kind) {
    case FIELD_I32:
        if (!value_int(env, value, &number)) {
            return false;
        }
        *(int32_t *) at = (int32_t) number;
        return true;
    case FIELD_I64:
    case FIELD_U64:
        return value_int(env, value, at);
    case FIELD_TEXT:
        return value_text(env, value, arena, at);
    case FIELD_BYTES:
        return value_bytes(env, value, arena, at);
    case FIELD_HEADERS:
        return value_headers(env, value, arena, out);
    case FIELD_POINTER:
        if (value_is_none(env, value)) {
            return true;
        }
        *(void **) at = arena_get(arena, field->of->size);
        return value_read(env, value, field->of, arena, *(void **) at);
    default:
        return true; /* only the library gives them */
    }
}

bool value_read(napi_env env, napi_value words, const struct record *record, struct arena *arena,
                void *out)
{
    memset(out, 0, record->size);
    *(size_t *) out = record->size;
    for (uint32_t i = 0; i < record->count; i++) {
        if (!value_read_field(env, value_at(env, words, i), &record->fields[i], arena, out)) {
            return false;
        }
    }
    return true;
}

void *value_options(napi_env env, napi_value pairs, smq_option_set set)
{
    struct arena arena = {NULL};
    uint32_t length = 0;
    const char *name, *text;
    smq_error err = SMQ_ERROR_INIT;
    void *options = NULL;

    smq_status status = smq_options_new(&options, set, &err);
    napi_get_array_length(env, pairs, &length);
    for (uint32_t i = 0; i + 1 < length && status == SMQ_OK; i += 2) {
        if (!value_text(env, value_at(env, pairs, i), &arena, &name) ||
            !value_text(env, value_at(env, pairs, i + 1), &arena, &text)) {
            break;
        }
        status = smq_options_set(options, name, text, &err);
    }
    arena_reset(&arena);
    if (status != SMQ_OK) {
        smq_options_free(options);
        return call_throw(env, status, err.text);
    }
    return options;
}

/* === To JavaScript ====================================================== */

napi_value value_of_text(napi_env env, const char *text)
{
    napi_value value = NULL;

    if (text == NULL || napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &value) != napi_ok) {
        napi_get_undefined(env, &value);
    }
    return value;
}

napi_value value_of_number(napi_env env, double number)
{
    napi_value value = NULL;

    napi_create_double(env, number, &value);
    return value;
}

void value_set(napi_env env, napi_value object, const char *name, napi_value value)
{
    napi_set_named_property(env, object, name, value);
}
