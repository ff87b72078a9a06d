/* owned_state.h - the states of a slot at its owner, as a table.
 *
 *   IDLE -> ACQUIRING -> ACTIVE -> STOPPING -> VACATING -> IDLE
 *
 * From every state the slot returns to IDLE at once when it belongs to another owner.
 *
 * Pure. */
#ifndef CONSUME_SLOT_OWNED_STATE_H
#define CONSUME_SLOT_OWNED_STATE_H

#include <stdbool.h>

enum owned_state {
    OWNED_IDLE,      /* this process does not own it; nothing is in flight */
    OWNED_ACQUIRING, /* it was granted, and is being taken over in Redis */
    OWNED_ACTIVE,    /* owned: claiming and settling */
    OWNED_STOPPING,  /* owned, to be given up: settling what is in flight */
    OWNED_VACATING   /* all is settled, and the name of the owner is being removed */
};

enum owned_event {
    OWNED_EVENT_GRANTED,   /* coordination granted the slot */
    OWNED_EVENT_TAKEN,     /* Redis has stored the token */
    OWNED_EVENT_REVOKED,   /* coordination revoked the slot, or the consumer stops */
    OWNED_EVENT_SETTLED,   /* nothing is in flight any more */
    OWNED_EVENT_VACATED,   /* Redis has removed the owner's name, or that failed */
    OWNED_EVENT_REWOUND,   /* Redis has lost the token: the slot must be taken over again */
    OWNED_EVENT_DROPPED,   /* fenced, refused, or the membership is lost */
    OWNED_EVENT_ABANDONED, /* the time for settling has passed */
    OWNED_EVENT_EVENTS     /* number of events */
};

/* The state that follows `event` in `state`; false: the event is not allowed there, and *out is
 * unchanged. */
bool owned_state_next(enum owned_state *out, enum owned_state state, enum owned_event event);

#endif
