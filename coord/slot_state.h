/* slot_state.h - the states of a slot at a member, and the one function that moves between them.
 *
 * Below: nothing of this folder.  Pure. */
#ifndef COORD_SLOT_STATE_H
#define COORD_SLOT_STATE_H

enum slot_state {
    SLOT_IDLE,      /* not with us */
    SLOT_ACQUIRING, /* granted; the owner takes it over in Redis */
    SLOT_OWNED,     /* taken over */
    SLOT_STOPPING   /* no longer granted; messages in flight are finished */
};

enum slot_input {
    SLOT_GRANT,    /* the assignment says it is ours */
    SLOT_ACQUIRED, /* Redis took the token */
    SLOT_REFUSED,  /* Redis knows a larger one */
    SLOT_REVOKE,   /* the assignment says it is no longer ours */
    SLOT_RELEASED, /* nothing is in flight any more */
    SLOT_LOSE      /* session expired, own node gone, granted to another */
};

enum { SLOT_STATES = SLOT_STOPPING + 1, SLOT_INPUTS = SLOT_LOSE + 1 };

/* The state after `input`; the same state when `input` means nothing there. */
enum slot_state slot_state_next(enum slot_state state, enum slot_input input);

#endif
