/* header.c - what layout keyed stores of a message next to its body.
 *
 * Pure. */
#include "model/header.h"

#include <string.h>

#include "model/headers.h"
#include "model/number.h"
#include "model/topic.h"

/* Numbers that Lua holds exactly. */
#define HEADER_NUMBER_MAX (INT64_C(1) << 53)

enum { HEADER_FIELDS = 4 };

/* An empty field means -1. */
static bool header_parse_optional(int64_t *out, const char *text, size_t len, int64_t max)
{
    *out = -1;
    return len == 0 || number_parse(out, text, len, max);
}

/* "LIMIT" or "LIMIT/BYTES". */
static bool header_parse_limit(struct header *out, const char *text, size_t len)
{
    const char *slash = len > 0 ? memchr(text, '/', len) : NULL;
    size_t limit_len = slash != NULL ? (size_t) (slash - text) : len;
    int64_t limit, bytes = 0;

    if (!header_parse_optional(&limit, text, limit_len, TOPIC_RETRIES_MAX) ||
        (slash != NULL &&
         !number_parse(&bytes, slash + 1, len - limit_len - 1, HEADERS_BLOCK_MAX))) {
        return false;
    }
    out->max_retries = (int32_t) limit;
    out->headers_len = (size_t) bytes;
    return true;
}

/* Split at the commas; returns the number of fields, 0: there are too many. */
static size_t header_split(const char *field[HEADER_FIELDS], size_t lens[HEADER_FIELDS],
                           const char *text, size_t len)
{
    const char *end = text + len;
    size_t count = 0;

    for (;;) {
        const char *comma = memchr(text, ',', (size_t) (end - text));

        if (count == HEADER_FIELDS) {
            return 0;
        }
        field[count] = text;
        lens[count++] = (size_t) ((comma != NULL ? comma : end) - text);
        if (comma == NULL) {
            return count;
        }
        text = comma + 1;
    }
}

bool header_parse(struct header *out, const char *text, size_t len)
{
    const char *field[HEADER_FIELDS];
    size_t lens[HEADER_FIELDS], count;
    struct header header = {.max_retries = -1, .expires_ms = -1};
    int64_t refs = 0;

    if (len == 0) {
        return false;
    }
    count = header_split(field, lens, text, len);
    if ((count != 1 && count != HEADER_FIELDS) ||
        !number_parse(&header.first_ms, field[0], lens[0], HEADER_NUMBER_MAX)) {
        return false;
    }
    if (count == HEADER_FIELDS &&
        (!header_parse_limit(&header, field[1], lens[1]) ||
         !header_parse_optional(&header.expires_ms, field[2], lens[2], HEADER_NUMBER_MAX) ||
         !number_parse(&refs, field[3], lens[3], HEADER_NUMBER_MAX))) {
        return false;
    }
    *out = header;
    return true;
}
