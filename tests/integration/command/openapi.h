/* openapi.h - holds an answer of slotmq serve against openapi.json.
 *
 * Thread: main. */
#ifndef TESTS_INTEGRATION_COMMAND_OPENAPI_H
#define TESTS_INTEGRATION_COMMAND_OPENAPI_H

#include <jansson.h>

/* What the "$ref" of a parameter, an answer or a schema names, or that in its "allOf"; NULL: it has
 * none. */
const json_t *openapi_named(const json_t *openapi, const json_t *of);

/* Is the document as `openapi` describes the answer `status` of this path and method, in JSON? Each
 * member must be described, and each that is required be there; else the test fails. */
void openapi_assert_fits(const json_t *openapi, const char *path, const char *method,
                         const char *status, const json_t *document);

#endif
