/* slot_state.h - the states of a slot at a member, and the function that gives the next state.
 *
 * Below: nothing of this folder.  Pure. */
#ifndef COORD_MEMBER_SLOT_STATE_H
#define COORD_MEMBER_SLOT_STATE_H

enum slot_state {
    SLOT_IDLE,      /* this member does not have the slot */
    SLOT_ACQUIRING, /* granted; the owner takes it over in Redis */
    SLOT_OWNED,     /* taken over */
    SLOT_STOPPING   /* revoked; messages in flight are finished */
};

enum slot_input {
    SLOT_GRANT,    /* the assignment grants the slot to this member */
    SLOT_ACQUIRED, /* Redis has stored the token */
    SLOT_REFUSED,  /* Redis has a larger token */
    SLOT_REVOKE,   /* the assignment no longer grants the slot to this member */
    SLOT_RELEASED, /* nothing is in flight any more */
    SLOT_LOSE      /* session expired, own node gone, or granted to another */
};

enum { SLOT_STATES = SLOT_STOPPING + 1, SLOT_INPUTS = SLOT_LOSE + 1 };

/* The state after `input`; the same state if the input has no effect in it. */
enum slot_state slot_state_next(enum slot_state state, enum slot_input input);

#endif
