/* member.h - the member that identifies a message in the sorted sets of its slot.  It is made of
 * the key and the id; in layout inline of the key and the body, which is called the id here, too.
 *
 *   the id                                if the message has no key of its own
 *   NUL, length of the key, ':', key, id  if it has one, or if the id begins with a NUL (then the
 * length may be 0)
 *
 * A key that equals the id counts as none.  Messages with different keys share a slot, so an id
 * alone would not distinguish them.  Whole messages have members of their own (model/whole.h).
 *
 * Pure. */
#ifndef MODEL_MEMBER_H
#define MODEL_MEMBER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* A decoded member; points into the encoded text. */
struct member {
    const char *key; /* the message's own key; NULL: it has none */
    size_t key_len;
    const char *id;
    size_t id_len;
};

/* Is the member simply the id?  `key_len` 0: there is no key.  `id_len` is at least 1. */
bool member_is_plain(const void *key, size_t key_len, const void *id, size_t id_len);

/* Append the member to `out`. */
void member_encode(struct buf *out, const void *key, size_t key_len, const void *id, size_t id_len);

/* The key and the id of any member, also of a whole message.  Returns false if the text is none. */
bool member_decode(struct member *out, const char *data, size_t len);

#endif
