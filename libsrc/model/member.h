/* member.h - what identifies a message in the sorted sets of its slot: its key and its id; in
 * layout inline its key and its body, which is called the id here, too.
 *
 *   the id                                when the message has no key of its own
 *   NUL, length of the key, ':', key, id  when it has one, or when the id begins with a NUL (then
 *                                         the length may be 0)
 *
 * A key that equals the id is none.  Messages of different keys meet in one slot, so an id alone
 * would not tell them apart.
 *
 * Pure. */
#ifndef MODEL_MEMBER_H
#define MODEL_MEMBER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Points into what was decoded. */
struct member {
    const char *key; /* its own; NULL: it has none */
    size_t key_len;
    const char *id;
    size_t id_len;
};

/* Is the member the id as it is?  `key_len` 0: no key.  `id_len` is at least 1. */
bool member_is_plain(const void *key, size_t key_len, const void *id, size_t id_len);

/* Add the member to `out`. */
void member_encode(struct buf *out, const void *key, size_t key_len, const void *id, size_t id_len);

/* false: not a member. */
bool member_decode(struct member *out, const char *data, size_t len);

#endif
