/* steps.h - which state may follow which: a table holds, for each state, the set of states that may
 * follow it.
 *
 * Pure. */
#ifndef BASE_STEPS_H
#define BASE_STEPS_H

#include <stdbool.h>

/* The set that holds one state. */
#define STEP(state) (1U << (state))

static inline bool steps_allow(const unsigned *steps, unsigned from, unsigned to)
{
    return (steps[from] & STEP(to)) != 0;
}

#endif
