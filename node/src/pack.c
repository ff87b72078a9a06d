/* pack.c - structs of the library become bytes that lib/record.js reads.  Thread: any, but where
 * there is an environment. */
#include "addon.h"

/* Put a number at `at`, and so many bytes behind it.  Returns where they end.  With `out` NULL they
 * are only counted. */
static size_t pack_bytes(char *out, size_t at, size_t number, const void *bytes, size_t len)
{
    uint32_t before = (uint32_t) number;

    if (out != NULL) {
        memcpy(out + at, &before, sizeof(before));
    }
    if (out != NULL && len > 0) {
        memcpy(out + at + sizeof(before), bytes, len);
    }
    return at + sizeof(before) + len;
}

static size_t pack_text(char *out, size_t at, const char *text)
{
    size_t len = strlen(text);

    return pack_bytes(out, at, len, text, len);
}

static size_t pack_headers(char *out, size_t at, const smq_message_info *message)
{
    at = pack_bytes(out, at, message->header_count, NULL, 0);
    for (size_t i = 0; i < message->header_count; i++) {
        const smq_header *header = &message->headers[i];

        at = pack_text(out, at, header->name);
        at = pack_bytes(out, at, header->value.len, header->value.data, header->value.len);
    }
    return at;
}

/* Of a number itself, else where its bytes begin; of NULL 0. */
static size_t pack_field(const struct field *field, const void *data, char *out, size_t at,
                         double *fact)
{
    const char *within =
        field->within != 0 ? *(const char *const *) ((const char *) data + field->within) : data;
    const void *from = within + field->offset;

    *fact = (double) at;
    switch (field->kind) {
    case FIELD_I32:
        *fact = *(const int32_t *) from;
        return at;
    case FIELD_I64:
        *fact = (double) *(const int64_t *) from;
        return at;
    case FIELD_U64:
        *fact = (double) *(const uint64_t *) from;
        return at;
    case FIELD_BOOL:
        *fact = *(const bool *) from;
        return at;
    case FIELD_TEXT:
        *fact = *(const char *const *) from != NULL ? *fact : 0;
        return *fact != 0 ? pack_text(out, at, *(const char *const *) from) : at;
    case FIELD_CHARS:
        return pack_text(out, at, from);
    case FIELD_BYTES:
        return pack_bytes(out, at, ((const smq_bytes *) from)->len,
                          ((const smq_bytes *) from)->data, ((const smq_bytes *) from)->len);
    case FIELD_U64S:
        return pack_bytes(out, at, field->size, from, field->size);
    case FIELD_HEADERS:
        return pack_headers(out, at, data);
    case FIELD_POINTER:
        *fact = 0;
        break;
    }
    return at;
}

size_t pack_records(const struct record *record, const void *const *data, size_t count, char *out)
{
    size_t at = (1 + count * record->count) * sizeof(double);
    double *facts = (double *) (void *) out, fact = (double) count;

    if (out != NULL) {
        *facts++ = fact;
    }
    for (size_t i = 0; i < count; i++) {
        for (const struct field *field = record->fields; field < record->fields + record->count;
             field++) {
            at = pack_field(field, data[i], out, at, &fact);
            if (out != NULL) {
                *facts++ = fact;
            }
        }
    }
    return at;
}

napi_value pack_buffer(napi_env env, const struct record *record, const void *const *data,
                       size_t count)
{
    napi_value buffer = NULL;
    void *out = NULL;

    if (count > 0 && napi_create_arraybuffer(env, pack_records(record, data, count, NULL), &out,
                                             &buffer) == napi_ok) {
        pack_records(record, data, count, out);
    }
    return buffer;
}
