/* denied_state.h - what must be true of the keys of slot "x" at any time, and when all is handled.
 *
 * Thread: main. */
#ifndef TESTS_LUA_DENIED_STATE_H
#define TESTS_LUA_DENIED_STATE_H

#include "fixture.h"

/* What is wrong: a sentinel is gone; or in layout keyed a message has no body, a whole one has
 * one, a body has other references than messages, or a dead letter not what is kept of its message.
 * NULL: nothing.  The text lasts until the next call. */
const char *state_broken(struct fixture *fixture);

/* When nothing waits or is in flight: what is kept of a message that is gone.  NULL: nothing. */
const char *state_left_over(struct fixture *fixture);

/* Does nothing wait, and is nothing claimed or resting? */
bool state_is_empty(struct fixture *fixture);

/* How many dead letters there are of a member; '!' stands for a NUL byte. */
int state_dead(struct fixture *fixture, const char *name);

#endif
