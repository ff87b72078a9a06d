/* headers.c - see headers.h.
 *
 * Pure. */
#include "model/headers.h"

#include <string.h>
#include <strings.h>

#include "base/status.h"
#include "model/number.h"

static const char headers_own[] = "slotmq-";

/* Printable, without blanks and '='. */
static bool headers_name_is_good(const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < len; i++) {
        if (name[i] <= ' ' || name[i] > '~' || name[i] == '=') {
            return false;
        }
    }
    return len > 0;
}

static bool headers_name_is_kept(const char *name)
{
    return strncasecmp(name, headers_own, sizeof(headers_own) - 1) == 0;
}

static smq_status headers_check_one(const smq_header *headers, size_t index, smq_error *err)
{
    const smq_header *header = &headers[index];

    if (header->name == NULL || !headers_name_is_good(header->name)) {
        return status_set(err, SMQ_INVALID,
                          "\"%.60s\" cannot be the name of a header: it needs printable ASCII "
                          "characters without blanks and '='",
                          header->name != NULL ? header->name : "");
    }
    if (headers_name_is_kept(header->name)) {
        return status_set(err, SMQ_INVALID,
                          "header %.60s: names that begin with %s are kept for slotmq",
                          header->name, headers_own);
    }
    if (header->value.data == NULL && header->value.len > 0) {
        return status_set(err, SMQ_INVALID, "the value of header %.60s has a length but no pointer",
                          header->name);
    }
    if (headers_find(headers, index, header->name) != NULL) {
        return status_set(err, SMQ_INVALID, "header %.60s is given twice", header->name);
    }
    return SMQ_OK;
}

smq_status headers_check(const smq_header *headers, size_t count, smq_error *err)
{
    size_t bytes = 0;

    if (headers == NULL && count > 0) {
        return status_set(err, SMQ_INVALID, "the headers have a count but no pointer");
    }
    if (count > SMQ_HEADERS_MAX) {
        return status_set(err, SMQ_TOO_BIG, "the message has %zu headers: at most %d are allowed",
                          count, SMQ_HEADERS_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        smq_status status = headers_check_one(headers, i, err);

        if (status != SMQ_OK) {
            return status;
        }
        bytes += strlen(headers[i].name);
        if (bytes > SMQ_HEADERS_BYTES_MAX || headers[i].value.len > SMQ_HEADERS_BYTES_MAX - bytes) {
            return status_set(err, SMQ_TOO_BIG,
                              "the headers of a message may have %d bytes in all, names and "
                              "values; with %.60s these have more",
                              SMQ_HEADERS_BYTES_MAX, headers[i].name);
        }
        bytes += headers[i].value.len;
    }
    return SMQ_OK;
}

static size_t headers_digits(size_t number)
{
    size_t digits = 1;

    while (number >= 10) {
        number /= 10;
        digits++;
    }
    return digits;
}

size_t headers_size(const smq_header *headers, size_t count)
{
    size_t size = 0;

    for (size_t i = 0; i < count; i++) {
        size_t len = headers[i].value.len;

        size += strlen(headers[i].name) + 1 + headers_digits(len) + 1 + len;
    }
    return size;
}

void headers_encode(struct buf *out, const smq_header *headers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_add(out, headers[i].name, strlen(headers[i].name) + 1);
        buf_printf(out, "%zu:", headers[i].value.len);
        if (headers[i].value.len > 0) {
            buf_add(out, headers[i].value.data, headers[i].value.len);
        }
    }
}

/* Read one header; returns its bytes, 0: there is none. */
static size_t headers_decode_one(smq_header *out, const char *block, size_t len)
{
    const char *nul = memchr(block, '\0', len);
    size_t at = nul != NULL ? (size_t) (nul - block) + 1 : len;
    size_t digits;
    int64_t value_len;

    if (nul == NULL || !headers_name_is_good(block)) {
        return 0;
    }
    digits = number_read_prefix(&value_len, block + at, len - at, SMQ_HEADERS_BYTES_MAX);
    if (digits == 0 || at + digits >= len || block[at + digits] != ':') {
        return 0;
    }
    at += digits + 1;
    if ((size_t) value_len > len - at) {
        return 0;
    }
    *out = (smq_header){block, {block + at, (size_t) value_len}};
    return at + (size_t) value_len;
}

size_t headers_decode(smq_header *out, const char *block, size_t len)
{
    size_t count = 0;

    while (len > 0) {
        size_t size = count < SMQ_HEADERS_MAX ? headers_decode_one(&out[count], block, len) : 0;

        if (size == 0) {
            return 0;
        }
        count++;
        block += size;
        len -= size;
    }
    return count;
}

const smq_header *headers_find(const smq_header *headers, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(headers[i].name, name) == 0) {
            return &headers[i];
        }
    }
    return NULL;
}
