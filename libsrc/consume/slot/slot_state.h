/* slot_state.h - the life of a slot at its owner, as a table.
 *
 *   IDLE -> ACQUIRING -> ACTIVE -> STOPPING -> VACATING -> IDLE
 *
 * and from everywhere back to IDLE at once, when the slot is another's already.
 *
 * Pure. */
#ifndef CONSUME_SLOT_SLOT_STATE_H
#define CONSUME_SLOT_SLOT_STATE_H

#include <stdbool.h>

enum strand_state {
    STRAND_IDLE,      /* not ours: nothing is in hand */
    STRAND_ACQUIRING, /* granted: taking it over in Redis */
    STRAND_ACTIVE,    /* ours: claiming and settling */
    STRAND_STOPPING,  /* ours, to be given up: settling what is in hand */
    STRAND_VACATING   /* everything is settled: telling Redis that nobody owns it */
};

enum strand_event {
    STRAND_GRANTED,   /* coordination says: take it */
    STRAND_TAKEN,     /* Redis knows our token */
    STRAND_REVOKED,   /* coordination, or a stop, says: give it up */
    STRAND_SETTLED,   /* nothing is in hand any more */
    STRAND_VACATED,   /* Redis knows that nobody owns it, or cannot be told */
    STRAND_REWOUND,   /* Redis has lost our token: take it over once more */
    STRAND_DROPPED,   /* fenced, refused, or the membership is lost */
    STRAND_ABANDONED, /* the time for settling is over */
    STRAND_EVENTS     /* how many there are */
};

/* What follows `event` in `state`; false: it cannot happen there, `*out` stays. */
bool strand_next(enum strand_state *out, enum strand_state state, enum strand_event event);

const char *strand_state_name(enum strand_state state);

#endif
