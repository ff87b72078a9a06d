/* member_state.h - the states of a member of a fleet, and which may follow which.
 *
 * Below: nothing of this folder.  Pure. */
#ifndef COORD_MEMBER_MEMBER_STATE_H
#define COORD_MEMBER_MEMBER_STATE_H

#include <stdbool.h>

enum member_state {
    MEMBER_OUT,      /* no session, or the root was not read in it yet */
    MEMBER_READY,    /* the root was read; there is no topic yet */
    MEMBER_ENTERING, /* a call of the entry is in progress */
    MEMBER_WAITING,  /* another process has, or had, the name of this member */
    MEMBER_IN,
    MEMBER_REFUSED /* it will never enter: every topic fails */
};

enum { MEMBER_STATES = MEMBER_REFUSED + 1 };

/* Is this change of state allowed? */
bool member_state_may(enum member_state from, enum member_state to);

#endif
