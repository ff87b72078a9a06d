/* call_wait.h - for what messages wait until the call leaves that claims them: from when their slot
 * was told of them, or from when they may have come untold.
 *
 * A slot that is not parked in Redis is not told of messages.  They are taken to come evenly, so
 * that on average they have waited for half of the time.
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
    bool untold;
};

/* The slot is told that there are messages.  `what`: for what its call waits now, until that is
 * decided.  Does nothing if it was told already. */
void call_wait_told(struct call_wait *wait, enum call_wait_for what, int64_t now_us);

/* The slot has claimed messages, so those that come from now on do so untold.  `more`: it was told
 * that there are more. */
void call_wait_claimed(struct call_wait *wait, bool more, int64_t now_us);

/* It was decided whether the call leaves: if not, it waits for this from now on. */
void call_wait_decided(struct call_wait *wait, enum next_call_why why, int64_t now_us);

/* The call leaves: fill in for what a message has waited that it claims, and begin anew. */
void call_wait_end(struct call_wait *wait, int64_t out[CALL_WAITS], int64_t now_us);

#endif
