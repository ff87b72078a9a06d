/* member_state.h - the states of a member of a fleet, which may follow which, and when it beats.
 *
 * Below: nothing of this folder.  Pure. */
#ifndef COORD_MEMBER_MEMBER_STATE_H
#define COORD_MEMBER_MEMBER_STATE_H

#include <stdbool.h>
#include <stdint.h>

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

/* How long after its first heartbeat the second one of a member comes, of others by an interval: 1
 * ms to `interval_ms`, which is at least 1.  A tree in Redis ends the sessions of the dead in calls
 * of the living, which would be late if members that began together also beat together. */
uint64_t member_phase_ms(uint64_t interval_ms, uint64_t random);

#endif
