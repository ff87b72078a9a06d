/* member_slots.h - the set of slots that a member states that it holds, with the tokens where these
 * decide between two members.
 *
 * The set is kept in pieces, as it is written.  So the memory for the text of a member is bounded
 * by its length, however many topics it names.
 *
 * Below: nothing of this folder.  Pure. */
#ifndef COORD_NODE_MEMBER_SLOTS_H
#define COORD_NODE_MEMBER_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/token.h"
#include "model/topic.h"

enum { MEMBER_SLOTS_MAX = TOPIC_SLOTS_MAX };

struct member_piece {
    int32_t first, last;
    struct token token; /* of each slot; all zero: not stated */
};

/* A zeroed set is empty.  Invariant: in each piece first <= last, and the next piece begins after
 * it. */
struct member_slots {
    struct member_piece *pieces;
    size_t count, size;
};

void member_slots_fini(struct member_slots *slots);

/* Add a slot; it is larger than all that were added before. */
void member_slots_add(struct member_slots *slots, int32_t slot);
void member_slots_add_token(struct member_slots *slots, int32_t slot, struct token token);

/* The piece with the slot, or NULL. */
const struct member_piece *member_slots_find(const struct member_slots *slots, int32_t slot);
bool member_slots_has(const struct member_slots *slots, int32_t slot);

/* Add all slots between the first and the last one, and forget their tokens. */
void member_slots_fill(struct member_slots *slots);

/* Append the set as "0-5,9-9"; "-" if it is empty.  A token that is stated follows its piece,
 * behind a '='. */
void member_slots_format(struct buf *out, const struct member_slots *slots);

/* Read untrusted text up to `stop`, and set *rest to that.  false: the text has another form;
 * `out`, which must be empty before, may have some slots then. */
bool member_slots_parse(struct member_slots *out, const char **rest, const char *text, char stop);

#endif
