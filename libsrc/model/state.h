/* state.h - the names of the states of a message; smq_state_name() is the other way round.
 *
 * Pure. */
#ifndef MODEL_STATE_H
#define MODEL_STATE_H

#include <stddef.h>

#include <slotmq/message.h>

/* The state of that name, which has `len` bytes; 0: there is none. */
smq_state state_named(const char *name, size_t len);

#endif
