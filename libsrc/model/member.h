/* member.h - the member of layout keyed: what identifies a message in the sorted sets of its slot.
 *
 *   the id                                when the message has no key of its own
 *   NUL, length of the key, ':', key, id  when it has one, or when the id begins with a NUL
 *
 * Messages of different keys meet in one slot, so an id alone would not tell them apart.
 *
 * Pure. */
#ifndef MODEL_MEMBER_H
#define MODEL_MEMBER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Points into what was decoded.  No key of its own: the key is the id. */
struct member {
    const char *key;
    size_t key_len;
    const char *id;
    size_t id_len;
};

/* `key_len` 0: none of its own.  `id_len` is at least 1. */
void member_encode(struct buf *out, const void *key, size_t key_len, const void *id, size_t id_len);

/* false: not a member. */
bool member_decode(struct member *out, const char *data, size_t len);

#endif
