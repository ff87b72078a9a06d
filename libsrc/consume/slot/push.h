/* push.h - messages that a send has claimed for the owner of a slot, and published.
 *
 * A slot that has nothing to claim sleeps, and a send into it may claim for its owner: the message
 * comes with the publication that wakes the slot, so no call of its own is needed.  The publication
 * and the reply to a consume call may overtake each other, and a publication may be lost.  So a
 * push counts only if it is the claim after the newest that the slot knows; whatever else comes,
 * the next consume call finds what the slot does not know.
 *
 * Thread: smq:io, except where a function says that it is pure. */
#ifndef CONSUME_SLOT_PUSH_H
#define CONSUME_SLOT_PUSH_H

#include "consume/slot/owned_slot.h"

enum push_verdict {
    PUSH_ACCEPTED,
    PUSH_FOREIGN, /* it is for a later owner of the slot */
    PUSH_WAKE     /* it is for an earlier owner, the slot knows its claim or misses one before it:
                     look */
};

/* What a slot knows when a push comes. */
struct push_known {
    struct token token;
    uint64_t last;      /* newest claim */
    bool part;          /* of the claim after `last` it knows some messages */
    int64_t replied_ms; /* Redis' time in the last reply to a consume call; 0: none yet */
};

/* What becomes of a push.  Pure. */
enum push_verdict push_judge(const struct push_known *known, const struct store_push *push);

/* The time at or before which a push was made, by the local clock, so that its age is never taken
 * for less than it is.  `asked_ms` is when the call was sent to which Redis replied at its time
 * `replied_ms`; the push came at `now_ms` and was made at Redis' time `pushed_ms`.  When Redis'
 * clock has run ahead by more than clocks drift, `asked_ms`.  Pure. */
int64_t push_made_ms(int64_t asked_ms, int64_t replied_ms, int64_t pushed_ms, int64_t now_ms);

/* Take a publication that is not empty; false: it only wakes the slot. */
bool push_take(struct owned_slot *slot, const char *data, size_t len);

#endif
