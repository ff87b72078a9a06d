/* whole.h - messages of format 5 that are whole in their member, so that nothing is stored beside
 * it.
 *
 *   NUL, w, LIMIT, ',', ',', length of the key, ':', key, id, headers, body
 *   NUL, e, LIMIT, ',', TTL, ',', length of the key, ':', key, id, headers, body
 *
 * LIMIT is the message's own retry limit or nothing, and with headers "/" and their length behind
 * it; TTL is in ms, from the time of the first send on.  The key may be empty, and the id has the
 * length of those that the library makes (model/message_id.h), because only such messages are
 * whole: no second send has the same id.  A client makes the member before it knows Redis' time, so
 * that a repeated send has the same bytes.
 *
 * lua/lib/whole.lua reads the same encoding.
 *
 * Pure. */
#ifndef MODEL_WHOLE_H
#define MODEL_WHOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/header.h"

/* Decoded, it points into the member. */
struct whole {
    const char *key; /* NULL: it has none */
    size_t key_len;
    const char *id;      /* MESSAGE_ID_LEN bytes */
    int32_t max_retries; /* -1: that of the topic */
    int64_t ttl_ms;      /* -1: no limit */
    size_t headers_len;
    const char *stored; /* its headers, then its body */
    size_t stored_len;
};

/* Can a message of this id be whole?  Only the library makes such ids. */
bool whole_may_have_id(const char *id, size_t len);

/* Does a member begin as those of whole messages do?  No other member does. */
bool whole_begins(const char *member, size_t len);

/* Returns false if the member is not that of a whole message. */
bool whole_decode(struct whole *out, const char *member, size_t len);

/* Append the member to `out`. */
void whole_encode(struct buf *out, const struct whole *message);

/* What the header of a message that is not whole would say.  kind: that of the topic; before: the
 * integer part of its score while it waits, which is the time of its first send in kinds with
 * times.  In the others that is the time in the id. */
void whole_header(struct header *out, const struct whole *message, char kind, int64_t before);

#endif
