/* steps.h - which state may follow which: a table has for each state the set of those that may.
 *
 * Pure. */
#ifndef BASE_STEPS_H
#define BASE_STEPS_H

#include <stdbool.h>

/* The set of one state. */
#define STEP(state) (1U << (state))

static inline bool steps_allow(const unsigned *steps, unsigned from, unsigned to)
{
    return (steps[from] & STEP(to)) != 0;
}

#endif
