/* openapi.c - see openapi.h.
 *
 * Thread: main. */
#include "openapi.h"
#include "support/testing.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool openapi_fits(const json_t *openapi, const json_t *schema, const json_t *value,
                         char *where, size_t size);

static bool openapi_type_fits(const char *type, const json_t *value)
{
    return (strcmp(type, "object") == 0 && json_is_object(value)) ||
           (strcmp(type, "array") == 0 && json_is_array(value)) ||
           (strcmp(type, "string") == 0 && json_is_string(value)) ||
           (strcmp(type, "integer") == 0 && json_is_integer(value)) ||
           (strcmp(type, "number") == 0 && json_is_number(value)) ||
           (strcmp(type, "boolean") == 0 && json_is_boolean(value)) ||
           (strcmp(type, "null") == 0 && json_is_null(value));
}

static bool openapi_types_fit(const json_t *types, const json_t *value)
{
    if (json_is_string(types)) {
        return openapi_type_fits(json_string_value(types), value);
    }
    for (size_t i = 0; i < json_array_size(types); i++) {
        if (openapi_type_fits(json_string_value(json_array_get(types, i)), value)) {
            return true;
        }
    }
    return false;
}

static bool openapi_has(const json_t *array, const json_t *value)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        if (json_equal(json_array_get(array, i), value)) {
            return true;
        }
    }
    return false;
}

const json_t *openapi_named(const json_t *openapi, const json_t *of)
{
    const json_t *whole = json_array_get(json_object_get(of, "allOf"), 0);
    const char *ref = json_string_value(json_object_get(whole ? whole : of, "$ref"));
    char path[128];
    char *at = path;

    if (!ref) {
        return NULL;
    }
    assert_true(snprintf(path, sizeof(path), "%s", ref + strlen("#/")) < (int) sizeof(path));
    of = openapi;
    for (const char *name = strsep(&at, "/"); name; name = strsep(&at, "/")) {
        of = json_object_get(of, name);
    }
    assert_non_null(of);
    return of;
}

/* The members that must be there are, also those that the schema takes from another. */
static bool openapi_has_required(const json_t *openapi, const json_t *schema, const json_t *value,
                                 char *where, size_t size)
{
    for (; schema; schema = openapi_named(openapi, schema)) {
        const json_t *required = json_object_get(schema, "required");
        for (size_t i = 0; i < json_array_size(required); i++) {
            const char *name = json_string_value(json_array_get(required, i));
            if (!json_object_get(value, name)) {
                snprintf(where, size, "%s is missing", name);
                return false;
            }
        }
    }
    return true;
}

/* All members are described, and those that must be there are. */
static bool openapi_object_fits(const json_t *openapi, const json_t *schema, const json_t *value,
                                char *where, size_t size)
{
    const char *name = NULL;
    json_t *member = NULL;

    if (!openapi_has_required(openapi, schema, value, where, size)) {
        return false;
    }
    json_object_foreach((json_t *) value, name, member)
    {
        const json_t *of = NULL;
        for (const json_t *at = schema; at && !of; at = openapi_named(openapi, at)) {
            of = json_object_get(json_object_get(at, "properties"), name);
        }
        if (!of || !openapi_fits(openapi, of, member, where, size)) {
            const size_t used = strlen(where);
            snprintf(where + used, size - used, " in %s", name);
            return false;
        }
    }
    return true;
}

static bool openapi_fits(const json_t *openapi, const json_t *schema, const json_t *value,
                         char *where, size_t size)
{
    const json_t *named = openapi_named(openapi, schema);
    const json_t *values = json_object_get(schema, "enum");

    if (named && json_object_get(schema, "$ref")) {
        return openapi_fits(openapi, named, value, where, size);
    }
    if (!openapi_types_fit(json_object_get(schema, "type"), value) ||
        (values && !openapi_has(values, value))) {
        char *text = json_dumps(value, JSON_ENCODE_ANY);
        snprintf(where, size, "%.100s does not fit", text);
        free(text);
        return false;
    }
    if (json_is_object(value) && json_object_get(schema, "properties")) {
        return openapi_object_fits(openapi, schema, value, where, size);
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        if (!openapi_fits(openapi, json_object_get(schema, "items"), json_array_get(value, i),
                          where, size)) {
            return false;
        }
    }
    return true;
}

/* The schema of an answer, of this media type. */
static const json_t *openapi_schema(const json_t *openapi, const char *path, const char *method,
                                    const char *status, const char *type)
{
    const json_t *of = json_object_get(json_object_get(openapi, "paths"), path);

    of = json_object_get(json_object_get(of, method), "responses");
    of = json_object_get(of, status);
    if (json_object_get(of, "$ref")) {
        of = openapi_named(openapi, of);
    }
    of = json_object_get(of, "content");
    of = json_object_get(json_object_get(of, type), "schema");
    if (!of) {
        fail_msg("openapi.json has no answer %s of %s %s", status, method, path);
    }
    return of;
}

void openapi_assert_fits(const json_t *openapi, const char *path, const char *method,
                         const char *status, const json_t *document)
{
    char where[512] = "";

    if (!openapi_fits(openapi, openapi_schema(openapi, path, method, status, "application/json"),
                      document, where, sizeof(where))) {
        char *text = json_dumps(document, 0);
        fail_msg("%s %s: %s: %s", method, path, where, text);
    }
}
