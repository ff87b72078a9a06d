/* member_slots.h - which slots a member says that it holds.
 *
 * Kept as they are written, in pieces: so the memory that the text of a member needs is bounded by
 * its length, however many topics it names.
 *
 * Below: nothing of this folder.  Pure. */
#ifndef COORD_MEMBER_SLOTS_H
#define COORD_MEMBER_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/topic.h"

enum { MEMBER_SLOTS_MAX = TOPIC_SLOTS_MAX };

struct member_piece {
    int32_t first, last;
};

/* Zero is none.  Invariant: in each piece first <= last, and the next begins behind it. */
struct member_slots {
    struct member_piece *pieces;
    size_t count, size;
};

void member_slots_fini(struct member_slots *slots);

/* `slot` is larger than all that were added. */
void member_slots_add(struct member_slots *slots, int32_t slot);

bool member_slots_has(const struct member_slots *slots, int32_t slot);

/* "0-5,9-9", "-" for none. */
void member_slots_format(struct buf *out, const struct member_slots *slots);

/* Read untrusted text up to `stop`, where *rest points then.  false: it is of another form, and
 * `out`, which is to be none, may have some. */
bool member_slots_parse(struct member_slots *out, const char **rest, const char *text, char stop);

#endif
