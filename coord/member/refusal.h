/* refusal.h - does a refusal of Redis show that Redis has larger tokens than ZooKeeper grants?
 *
 * One refusal can come from an assignment that is out of date here: the slot has another owner now.
 * It takes the newest assignment, read since the first refusal, that grants the same slot with the
 * same token, and a second refusal of it.
 *
 * Below: nothing of this folder.  Pure. */
#ifndef COORD_MEMBER_REFUSAL_H
#define COORD_MEMBER_REFUSAL_H

#include <stdbool.h>

enum refusal_state {
    REFUSAL_NONE,
    REFUSAL_SEEN,    /* a slot was refused, and the assignment has not been read since */
    REFUSAL_READING, /* a read has begun since */
    REFUSAL_READ     /* it has ended, and what it granted is tried */
};

enum refusal_input {
    REFUSAL_OTHER, /* another token was refused, or the slot is no longer granted */
    REFUSAL_SAME,  /* the same slot was refused with the same token */
    REFUSAL_READ_BEGUN,
    REFUSAL_READ_DONE /* not when it failed: the next one begins it again */
};

enum { REFUSAL_STATES = REFUSAL_READ + 1, REFUSAL_INPUTS = REFUSAL_READ_DONE + 1 };

/* The state after `input`; the same state if the input has no effect in it. */
enum refusal_state refusal_next(enum refusal_state state, enum refusal_input input);

/* Is it shown by `input` in this state? */
bool refusal_shows(enum refusal_state state, enum refusal_input input);

#endif
