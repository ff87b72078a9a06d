/* owned_state.h - the life of a slot at its owner, as a table.
 *
 *   IDLE -> ACQUIRING -> ACTIVE -> STOPPING -> VACATING -> IDLE
 *
 * and from everywhere back to IDLE at once, when the slot is another's already.
 *
 * Pure. */
#ifndef CONSUME_SLOT_OWNED_STATE_H
#define CONSUME_SLOT_OWNED_STATE_H

#include <stdbool.h>

enum owned_state {
    OWNED_IDLE,      /* not ours: nothing is in flight */
    OWNED_ACQUIRING, /* granted: taking it over in Redis */
    OWNED_ACTIVE,    /* ours: claiming and settling */
    OWNED_STOPPING,  /* ours, to be given up: settling what is in flight */
    OWNED_VACATING   /* everything is settled: telling Redis that nobody owns it */
};

enum owned_event {
    OWNED_EVENT_GRANTED,   /* coordination says: take it */
    OWNED_EVENT_TAKEN,     /* Redis knows our token */
    OWNED_EVENT_REVOKED,   /* coordination, or a stop, says: give it up */
    OWNED_EVENT_SETTLED,   /* nothing is in flight any more */
    OWNED_EVENT_VACATED,   /* Redis knows that nobody owns it, or cannot be told */
    OWNED_EVENT_REWOUND,   /* Redis has lost our token: take it over once more */
    OWNED_EVENT_DROPPED,   /* fenced, refused, or the membership is lost */
    OWNED_EVENT_ABANDONED, /* the time for settling is over */
    OWNED_EVENT_EVENTS     /* how many there are */
};

/* What follows `event` in `state`; false: it cannot happen there, `*out` stays. */
bool owned_state_next(enum owned_state *out, enum owned_state state, enum owned_event event);

#endif
