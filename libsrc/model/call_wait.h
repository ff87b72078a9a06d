/* call_wait.h - for what messages wait, and how long, from the notice of them until the call of
 * their slot leaves that claims them.
 *
 * Redis sends no notice of messages in a slot that is not parked.  Such messages are taken to come
 * evenly from the last claim on, so that on average they wait for half of the time until the next
 * call.
 *
 * Pure. */
#ifndef MODEL_CALL_WAIT_H
#define MODEL_CALL_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/next_call.h"

enum call_wait_for {
    CALL_WAIT_SLOT, /* the slot has a call in progress, or messages that are not answered */
    CALL_WAIT_PACE, /* calls leave together */
    CALL_WAIT_ROOM, /* a limit leaves no room: max_in_flight, max_messages, a rate, membership */
    CALL_WAITS
};

/* Zeroed: no message waits.  Times are microseconds of one clock. */
struct call_wait {
    int64_t us[CALL_WAITS]; /* for what they have waited until `since_us` */
    int64_t since_us;       /* 0: no message waits */
    enum call_wait_for what;
    bool halved; /* there was no notice of the messages */
};

/* A notice has come that messages wait in the slot.  Later notices before the next call change
 * nothing. */
void call_wait_told(struct call_wait *wait, int64_t now_us);

/* A call has claimed messages, so Redis sends no notice of new ones until the next call.  `more`:
 * the reply says that more messages wait. */
void call_wait_claimed(struct call_wait *wait, bool more, int64_t now_us);

/* It was decided whether the call leaves: if not, it waits for this from now on. */
void call_wait_decided(struct call_wait *wait, enum next_call_why why, int64_t now_us);

/* The call leaves: fill in for what a message has waited that it claims, and begin anew. */
void call_wait_end(struct call_wait *wait, int64_t out[CALL_WAITS], int64_t now_us);

#endif
