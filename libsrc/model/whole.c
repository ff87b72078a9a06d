/* whole.c - see whole.h.
 *
 * Pure. */
#include "model/whole.h"

#include <inttypes.h>
#include <string.h>

#include "model/message_id.h"
#include "model/number.h"
#include "model/topic.h"

enum { WHOLE_FOREVER = 'w', WHOLE_EXPIRES = 'e', WHOLE_ID_TIME = 12 };

static int whole_digit(char letter)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = memchr(digits, letter, sizeof(digits) - 1);

    return at != NULL ? (int) (at - digits) : -1;
}

bool whole_may_have_id(const char *id, size_t len)
{
    size_t digits = 0;

    while (digits < len && whole_digit(id[digits]) >= 0) {
        digits++;
    }
    return digits == len && len == MESSAGE_ID_LEN;
}

bool whole_begins(const char *member, size_t len)
{
    return len > 1 && member[0] == '\0' &&
           (member[1] == WHOLE_FOREVER || member[1] == WHOLE_EXPIRES);
}

/* Read a number, or nothing, which means -1, and the byte behind it.  Returns false if there is
 * another byte. */
static bool whole_read(int64_t *out, const char **at, const char *end, int64_t max, char behind)
{
    size_t digits;

    *out = -1;
    digits = number_read_prefix(out, *at, (size_t) (end - *at), max);
    if (digits == 0) {
        *out = -1;
    }
    *at += digits;
    return *at < end && *(*at)++ == behind;
}

/* "LIMIT," or "LIMIT/BYTES,". */
static bool whole_read_limit(struct whole *out, const char **at, const char *end)
{
    int64_t limit, bytes = 0;
    const char *begin = *at;

    if (!whole_read(&limit, at, end, TOPIC_RETRIES_MAX, ',')) {
        *at = begin;
        if (!whole_read(&limit, at, end, TOPIC_RETRIES_MAX, '/') ||
            !whole_read(&bytes, at, end, INT32_MAX, ',') || bytes < 0) {
            return false;
        }
    }
    out->max_retries = (int32_t) limit;
    out->headers_len = (size_t) bytes;
    return true;
}

bool whole_decode(struct whole *out, const char *member, size_t len)
{
    struct whole whole = {.key = NULL};
    const char *at = member + 2, *end = member + len;
    int64_t key_len;

    if (!whole_begins(member, len) || !whole_read_limit(&whole, &at, end) ||
        !whole_read(&whole.ttl_ms, &at, end, TOPIC_TIME_MAX_MS, ',') ||
        (whole.ttl_ms >= 0) != (member[1] == WHOLE_EXPIRES) ||
        !whole_read(&key_len, &at, end, TOPIC_KEY_MAX, ':') || key_len < 0 ||
        end - at < key_len + MESSAGE_ID_LEN) {
        return false;
    }
    whole.key = key_len > 0 ? at : NULL;
    whole.key_len = (size_t) key_len;
    whole.id = at + key_len;
    whole.stored = whole.id + MESSAGE_ID_LEN;
    whole.stored_len = (size_t) (end - whole.stored);
    if (whole.headers_len > whole.stored_len) {
        return false;
    }
    *out = whole;
    return true;
}

void whole_encode(struct buf *out, const struct whole *message)
{
    const char begin[2] = {'\0', message->ttl_ms >= 0 ? WHOLE_EXPIRES : WHOLE_FOREVER};

    buf_add(out, begin, sizeof(begin));
    if (message->max_retries >= 0) {
        buf_printf(out, "%" PRId32, message->max_retries);
    }
    if (message->headers_len > 0) {
        buf_printf(out, "/%zu", message->headers_len);
    }
    buf_add(out, ",", 1);
    if (message->ttl_ms >= 0) {
        buf_printf(out, "%" PRId64, message->ttl_ms);
    }
    buf_printf(out, ",%zu:", message->key_len);
    buf_add(out, message->key, message->key_len);
    buf_add(out, message->id, MESSAGE_ID_LEN);
    buf_add(out, message->stored, message->stored_len);
}

/* The time in an id, 0: it begins with something else. */
static int64_t whole_id_ms(const char *id)
{
    int64_t ms = 0;

    for (int i = 0; i < WHOLE_ID_TIME; i++) {
        int digit = whole_digit(id[i]);

        if (digit < 0) {
            return 0;
        }
        ms = ms * 16 + digit;
    }
    return ms;
}

void whole_header(struct header *out, const struct whole *message, char kind, int64_t before)
{
    bool timed = kind == 'm' || kind == 't';

    *out = (struct header){.first_ms = timed ? before : whole_id_ms(message->id),
                           .max_retries = message->max_retries,
                           .expires_ms = -1,
                           .headers_len = message->headers_len};
    if (message->ttl_ms >= 0) {
        out->expires_ms = out->first_ms + message->ttl_ms;
    }
}
