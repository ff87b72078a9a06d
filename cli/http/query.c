/* query.c - what a request asks for. */
#include "cli/http/query.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text/base64.h"
#include "cli/text/output.h"
#include "cli/text/say.h"

/* === Reading ============================================================ */

static int query_digit(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *found = c != '\0' ? strchr(digits, c) : NULL;

    return found ? (int) ((found - digits) % 16) : -1;
}

/* A text without its escapes; NULL: it cannot be used. */
static json_t *query_decode(const char *text, size_t size)
{
    char *out = say_alloc(size + 1, 1);
    size_t used = 0;
    bool good = true;

    for (size_t i = 0; i < size && good; i++) {
        char c = text[i];
        if (c == '%') {
            const int high = i + 2 < size ? query_digit(text[i + 1]) : -1;
            const int low = high >= 0 ? query_digit(text[i + 2]) : -1;
            good = low >= 0;
            c = (char) (high * 16 + low);
            i += 2;
        }
        good = good && c != '\0';
        out[used++] = c;
    }
    json_t *string = good ? json_stringn(out, used) : NULL; /* NULL also: no UTF-8 */
    free(out);
    return string;
}

bool query_add(json_t *query, const char *name, size_t name_size, const char *value,
               size_t value_size, char why[QUERY_WHY])
{
    json_t *key = query_decode(name, name_size);
    json_t *text = query_decode(value ? value : "", value ? value_size : 0);
    const char *word = json_string_value(key);
    bool good = key && text;

    if (!good) {
        snprintf(why, QUERY_WHY, "a parameter is not UTF-8, holds a NUL, or is escaped wrongly");
    } else if (json_object_get(query, word)) {
        snprintf(why, QUERY_WHY, "the parameter %.40s is given twice", word);
        good = false;
    } else {
        output_set(query, word, json_incref(text));
    }
    json_decref(key);
    json_decref(text);
    return good;
}

json_t *query_read(const char *body, size_t size, char why[QUERY_WHY])
{
    json_error_t error;
    json_t *document = json_loadb(body ? body : "", size, JSON_REJECT_DUPLICATES, &error);

    if (!json_is_object(document)) {
        snprintf(why, QUERY_WHY, "the body is no JSON object%s%.100s", document ? "" : ": ",
                 document ? "" : error.text);
        json_decref(document);
        return NULL;
    }
    return document;
}

/* === Checking =========================================================== */

static bool query_number_of(json_int_t *out, const char *text)
{
    char *end = NULL;

    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && strspn(text, "-0123456789") == strlen(text);
}

/* The words between the commas of a text. */
static json_t *query_words(const char *text)
{
    json_t *words = json_array();

    for (bool more = true; more;) {
        const size_t size = strcspn(text, ",");
        output_append(words, json_stringn(text, size));
        more = text[size] == ',';
        text += size + 1;
    }
    return words;
}

/* Of an address: a text becomes what the field wants; false: it cannot. */
static bool query_convert(json_t *query, const char *name, const struct query_field *field,
                          const char *text)
{
    json_int_t number = 0;

    switch (field->type) {
    case QUERY_NUMBER:
        if (!query_number_of(&number, text)) {
            return false;
        }
        output_set(query, name, json_integer(number));
        return true;
    case QUERY_SWITCH:
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
            return false;
        }
        output_set(query, name, json_boolean(text[0] == 't'));
        return true;
    case QUERY_WORDS:
        output_set(query, name, query_words(text));
        return true;
    default:
        return field->type != QUERY_OBJECTS;
    }
}

static bool query_may_be_encoded(const struct query_field *field)
{
    return field->type == QUERY_BYTES || field->type == QUERY_STRING;
}

static const struct query_field *query_find(const struct query_field *fields, const char *name,
                                            bool *encoded)
{
    static const char ending[] = "_base64";
    const size_t size = strlen(name);

    *encoded = false;
    for (const struct query_field *field = fields; field->name; field++) {
        const size_t plain = strlen(field->name);
        if (strcmp(field->name, name) == 0) {
            return field;
        }
        if (query_may_be_encoded(field) && size == plain + sizeof(ending) - 1 &&
            strncmp(field->name, name, plain) == 0 && strcmp(name + plain, ending) == 0) {
            *encoded = true;
            return field;
        }
    }
    return NULL;
}

static bool query_is_base64(const json_t *value, bool string)
{
    const size_t size = json_string_length(value);
    char *out = say_alloc(size + 1, 1);
    size_t used = 0;
    const bool good = base64_decode(out, &used, json_string_value(value), size) &&
                      !(string && memchr(out, '\0', used));

    free(out);
    return good;
}

static bool query_is_list(json_t *value, const struct query_field *field, char why[QUERY_WHY])
{
    const size_t count = json_array_size(value);
    bool good = json_is_array(value) && count >= 1 && count <= (size_t) field->max;

    for (size_t i = 0; i < count && good; i++) {
        json_t *one = json_array_get(value, i);
        good = field->of ? json_is_object(one) && query_check(one, field->of, false, why)
                         : json_is_string(one);
    }
    return good;
}

/* Is the value what the field wants?  false: `why` may say so. */
static bool query_fits(json_t *value, const struct query_field *field, bool encoded,
                       char why[QUERY_WHY])
{
    switch (field->type) {
    case QUERY_NUMBER:
        return json_is_integer(value) && json_integer_value(value) >= field->min &&
               json_integer_value(value) <= field->max;
    case QUERY_SWITCH:
        return json_is_boolean(value);
    case QUERY_WORDS:
    case QUERY_OBJECTS:
        return query_is_list(value, field, why);
    default:
        return json_is_string(value) &&
               (!encoded || query_is_base64(value, field->type == QUERY_STRING));
    }
}

static void query_refuse(const struct query_field *field, char why[QUERY_WHY])
{
    switch (why[0] == '\0' ? (int) field->type : -1) {
    case QUERY_NUMBER:
        snprintf(why, QUERY_WHY, "%s must be a number from %" PRId64 " to %" PRId64, field->name,
                 field->min, field->max);
        break;
    case QUERY_SWITCH:
        snprintf(why, QUERY_WHY, "%s must be true or false", field->name);
        break;
    case QUERY_WORDS:
    case QUERY_OBJECTS:
        snprintf(why, QUERY_WHY, "%s must be a list of 1 to %" PRId64, field->name, field->max);
        break;
    case QUERY_TEXT:
    case QUERY_BYTES:
    case QUERY_STRING:
        snprintf(why, QUERY_WHY, "%s must be a text, and %s_base64 base64", field->name,
                 field->name);
        break;
    default:
        break;
    }
}

static bool query_check_one(json_t *query, const char *name, const struct query_field *fields,
                            bool address, char why[QUERY_WHY])
{
    bool encoded = false;
    const struct query_field *field = query_find(fields, name, &encoded);
    const char *text = json_string_value(json_object_get(query, name));

    why[0] = '\0';
    if (!field) {
        snprintf(why, QUERY_WHY, "there is no %s %.40s here", address ? "parameter" : "member",
                 name);
        return false;
    }
    if (address && !query_convert(query, name, field, text)) {
        query_refuse(field, why);
        return false;
    }
    if (!query_fits(json_object_get(query, name), field, encoded, why)) {
        query_refuse(field, why);
        return false;
    }
    return true;
}

bool query_check(json_t *query, const struct query_field *fields, bool address, char why[QUERY_WHY])
{
    char other[64];
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach(query, name, value)
    {
        if (!query_check_one(query, name, fields, address, why)) {
            return false;
        }
    }
    for (const struct query_field *field = fields; field->name; field++) {
        const json_t *plain = json_object_get(query, field->name);
        snprintf(other, sizeof(other), "%s_base64", field->name);
        const json_t *encoded = query_may_be_encoded(field) ? json_object_get(query, other) : NULL;
        if (plain && encoded) {
            snprintf(why, QUERY_WHY, "give %s or %s, not both", field->name, other);
            return false;
        }
        if (field->required && !plain && !encoded) {
            snprintf(why, QUERY_WHY, "%s is missing", field->name);
            return false;
        }
    }
    return true;
}

/* === Values ============================================================= */

const char *query_text(const json_t *query, const char *name)
{
    return json_string_value(json_object_get(query, name));
}

int64_t query_number(const json_t *query, const char *name, int64_t fallback)
{
    const json_t *value = json_object_get(query, name);

    return value ? json_integer_value(value) : fallback;
}

bool query_switch(const json_t *query, const char *name)
{
    return json_is_true(json_object_get(query, name));
}

smq_bytes query_bytes(const json_t *query, const char *name, char **decoded)
{
    char other[64];
    const json_t *value = json_object_get(query, name);
    smq_bytes bytes = {.data = NULL};

    *decoded = NULL;
    if (value) {
        return (smq_bytes){json_string_value(value), json_string_length(value)};
    }
    snprintf(other, sizeof(other), "%s_base64", name);
    value = json_object_get(query, other);
    if (value) {
        *decoded = say_alloc(json_string_length(value) + 1, 1);
        bytes.data = *decoded;
        (void) base64_decode(*decoded, &bytes.len, json_string_value(value),
                             json_string_length(value));
    }
    return bytes;
}

void query_ref_read(struct query_ref *out, const json_t *query)
{
    *out = (struct query_ref){.which = SMQ_MESSAGE_REF_INIT};
    out->which.id = query_bytes(query, "id", &out->id_bytes);
    out->which.key = query_bytes(query, "key", &out->key_bytes);
}

void query_ref_by_body(struct query_ref *ref)
{
    ref->which.body = ref->which.id;
    ref->which.id = (smq_bytes){.data = NULL};
}

void query_ref_fini(struct query_ref *ref)
{
    free(ref->id_bytes);
    free(ref->key_bytes);
}

/* === Filters ============================================================ */

/* "NAME=VALUE"; false: it has no "=". */
static bool query_header_read(struct query_filter *out, const json_t *query)
{
    const smq_bytes given = query_bytes(query, "header", &out->value);
    const char *equals = given.len > 0 ? memchr(given.data, '=', given.len) : NULL;

    if (!given.data) {
        return true;
    }
    if (!equals) {
        return false;
    }
    const size_t size = (size_t) (equals - (const char *) given.data);
    out->name = say_alloc(size + 1, 1);
    memcpy(out->name, given.data, size);
    out->header = (smq_header){out->name, {equals + 1, given.len - size - 1}};
    out->filter.header = &out->header;
    return true;
}

bool query_filter_read(struct query_filter *out, const json_t *query, char why[QUERY_WHY])
{
    *out = (struct query_filter){.filter = SMQ_FILTER_INIT};
    out->filter.contains = query_text(query, "contains");
    out->filter.reason = query_text(query, "reason");
    out->filter.reason_is = query_bytes(query, "reason_is", &out->reason).data;
    out->filter.older_than_ms = query_number(query, "older_than_ms", 0);
    out->filter.limit = (uint64_t) query_number(query, "limit", 0);
    if (out->filter.reason && out->filter.reason_is) {
        snprintf(why, QUERY_WHY, "give reason or reason_is, not both");
        return false;
    }
    if (!query_header_read(out, query)) {
        snprintf(why, QUERY_WHY, "header must be NAME=VALUE");
        return false;
    }
    return true;
}

void query_filter_fini(struct query_filter *filter)
{
    free(filter->reason);
    free(filter->name);
    free(filter->value);
}
