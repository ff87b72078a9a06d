/* members.c - see members.h. */
#include "cli/verb/members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/text/base64.h"
#include "cli/text/parse.h"
#include "cli/text/say.h"

static const char base64_suffix[] = "_base64";

static bool member_has_base64(const struct member *member)
{
    return member->kind == MEMBER_BYTES || member->kind == MEMBER_TEXT ||
           member->kind == MEMBER_HEADERS;
}

/* The member of this name, or with the suffix. */
static const struct member *member_find(const struct members_table *table, const char *name,
                                        bool *encoded)
{
    const size_t length = strlen(name);
    const size_t suffix = sizeof(base64_suffix) - 1;

    *encoded = length > suffix && strcmp(name + length - suffix, base64_suffix) == 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct member *member = &table->rows[i];
        if (strcmp(member->name, name) == 0) {
            *encoded = false;
            return member;
        }
        if (*encoded && member_has_base64(member) && strlen(member->name) == length - suffix &&
            strncmp(member->name, name, length - suffix) == 0) {
            return member;
        }
    }
    return NULL;
}

static bool member_say_unknown(char error[MEMBERS_ERROR], const struct members_table *table,
                               const char *name)
{
    struct nearest nearest = nearest_to(name);

    for (size_t i = 0; i < table->count; i++) {
        nearest_offer(&nearest, table->rows[i].name);
    }
    snprintf(error, MEMBERS_ERROR, "a %s has no \"%.40s\"%s%s%s", table->noun, name,
             nearest.best ? "; did you mean \"" : "", nearest.best ? nearest.best : "",
             nearest.best ? "\"?" : table->hint);
    return false;
}

bool members_say_bad(char error[MEMBERS_ERROR], const char *name, const char *wanted)
{
    snprintf(error, MEMBERS_ERROR, "\"%.40s\" cannot be used; give %s", name, wanted);
    return false;
}

static bool member_read_bytes(smq_bytes *out, struct members_line *line, char error[MEMBERS_ERROR],
                              const char *name, bool encoded, const json_t *value)
{
    const char *text = json_string_value(value);
    const size_t length = json_string_length(value);
    char *decoded;
    size_t size = 0;

    if (!text) {
        return members_say_bad(error, name, encoded ? "base64 in a string" : "a string");
    }
    if (out->data) {
        snprintf(error, MEMBERS_ERROR, "\"%.40s\" is given twice, as text and as base64", name);
        return false;
    }
    if (!encoded) {
        *out = (smq_bytes){text, length};
        return true;
    }
    decoded = line->decoded[line->decoded_count++] = say_alloc(length + 1, 1);
    if (!base64_decode(decoded, &size, text, length)) {
        return members_say_bad(error, name, "base64 in a string");
    }
    decoded[size] = '\0';
    *out = (smq_bytes){decoded, size};
    return true;
}

static bool member_read_text(const char **out, struct members_line *line, char error[MEMBERS_ERROR],
                             const char *name, bool encoded, const json_t *value)
{
    smq_bytes bytes = smq_text(*out);

    if (!member_read_bytes(&bytes, line, error, name, encoded, value)) {
        return false;
    }
    *out = bytes.data;
    return memchr(bytes.data, '\0', bytes.len) == NULL ||
           members_say_bad(error, name, "a text without a NUL");
}

/* A number, or a text with a unit or a date. */
static bool member_read_amount(struct flag_value *out, char error[MEMBERS_ERROR], const char *name,
                               enum member_kind kind, const json_t *value)
{
    const char *text = json_string_value(value);
    bool good = json_is_integer(value);

    if (out->given) {
        snprintf(error, MEMBERS_ERROR, "\"%.40s\" is given twice, with and without _ms", name);
        return false;
    }
    out->value = good ? json_integer_value(value) : 0;
    if (text && kind == MEMBER_TIME) {
        good = parse_time(&out->value, text);
    } else if (text && kind == MEMBER_DURATION) {
        good = parse_duration(&out->value, text);
    }
    if (!good || (kind == MEMBER_DURATION && out->value < 0)) {
        return members_say_bad(
            error, name,
            kind == MEMBER_TIME ? "milliseconds since 1970 (13 digits today), or a time with its "
                                  "zone such as \"2026-12-01T00:00:00Z\""
            : kind == MEMBER_DURATION ? "milliseconds, or a duration such as \"30s\""
                                      : "a whole number");
    }
    out->given = true;
    return true;
}

static bool member_read_name(int *out, char error[MEMBERS_ERROR], const struct member *member,
                             const json_t *value)
{
    const char *text = json_string_value(value);

    *out = text ? member->named(text) : 0;
    return *out != 0 || members_say_bad(error, member->name, member->wanted);
}

static bool member_read_switch(bool *out, char error[MEMBERS_ERROR], const char *name,
                               const json_t *value)
{
    *out = json_is_true(value);
    return json_is_boolean(value) || members_say_bad(error, name, "true or false");
}

static bool member_read_object(const json_t **out, char error[MEMBERS_ERROR], const char *name,
                               const json_t *value)
{
    *out = value;
    return json_is_object(value) || members_say_bad(error, name, "an object");
}

/* An object with a text for each name.  Which names are good is for the library to say. */
static bool member_read_headers(struct members_line *line, char error[MEMBERS_ERROR],
                                const char *name, bool encoded, const json_t *object)
{
    const char *key = NULL;
    json_t *value = NULL;

    if (!json_is_object(object)) {
        return members_say_bad(error, name, "an object with a string for each header");
    }
    json_object_foreach((json_t *) object, key, value)
    {
        smq_bytes bytes = {NULL, 0};

        if (line->header_count == SMQ_HEADERS_MAX) {
            snprintf(error, MEMBERS_ERROR, "a message has at most %d headers", SMQ_HEADERS_MAX);
            return false;
        }
        if (!member_read_bytes(&bytes, line, error, key, encoded, value)) {
            return false;
        }
        line->headers[line->header_count++] = (smq_header){key, bytes};
    }
    return true;
}

static bool member_read(void *values, struct members_line *line, char error[MEMBERS_ERROR],
                        const struct members_table *table, const char *name, const json_t *value)
{
    bool encoded = false;
    const struct member *member = member_find(table, name, &encoded);
    void *field;

    if (!member) {
        return member_say_unknown(error, table, name);
    }
    field = (char *) values + member->offset;
    if (json_is_null(value)) {
        return true;
    }
    switch (member->kind) {
    case MEMBER_BYTES:
        return member_read_bytes(field, line, error, name, encoded, value);
    case MEMBER_TEXT:
        return member_read_text(field, line, error, name, encoded, value);
    case MEMBER_NUMBER:
    case MEMBER_TIME:
    case MEMBER_DURATION:
        return member_read_amount(field, error, name, member->kind, value);
    case MEMBER_SWITCH:
        return member_read_switch(field, error, name, value);
    case MEMBER_NAME:
        return member_read_name(field, error, member, value);
    case MEMBER_OBJECT:
        return member_read_object(field, error, name, value);
    case MEMBER_HEADERS:
        return member_read_headers(line, error, name, encoded, value);
    case MEMBER_SHOWN:
        break;
    }
    return true;
}

bool members_read(void *values, struct members_line *line, char error[MEMBERS_ERROR],
                  const json_t *object, const struct members_table *table)
{
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach((json_t *) object, name, value)
    {
        if (!member_read(values, line, error, table, name, value)) {
            return false;
        }
    }
    return true;
}

bool members_load(void *values, struct members_line *line, char error[MEMBERS_ERROR],
                  const char *text, size_t size, const struct members_table *table)
{
    json_error_t why;

    line->document = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (!line->document) {
        snprintf(error, MEMBERS_ERROR, "not JSON: %.120s%s", why.text, table->hint);
        return false;
    }
    if (!json_is_object(line->document)) {
        snprintf(error, MEMBERS_ERROR, "not a JSON object; give one %s a line%s", table->noun,
                 table->hint);
        return false;
    }
    return members_read(values, line, error, line->document, table);
}

void members_fini(struct members_line *line)
{
    json_decref(line->document);
    for (size_t i = 0; i < line->decoded_count; i++) {
        free(line->decoded[i]);
    }
    *line = (struct members_line){.document = NULL};
}
