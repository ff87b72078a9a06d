/* nearest.h - which of several names was meant by one that is misspelt.
 *
 * Pure. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

/* Offer all names to one struct; `best` is the most like `typed`, the first of equals, or NULL when
 * none is close enough to be meant.  The pointers are borrowed. */
struct nearest {
    const char *typed;
    const char *best;
    size_t distance;
};

struct nearest nearest_to(const char *typed);
void nearest_offer(struct nearest *nearest, const char *name);

#endif
