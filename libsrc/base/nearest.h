/* nearest.h - finds the name that a misspelt one probably means.  The library and the command each
 * contain it.
 *
 * Pure. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

/* Offer all names to one struct; `best` is the name most similar to `typed`, or one that begins
 * with it or has it as its last word, the first of equals, or NULL if none is similar enough.  The
 * pointers are borrowed. */
struct nearest {
    const char *typed;
    const char *best;
    size_t distance;
};

struct nearest nearest_to(const char *typed);
void nearest_offer(struct nearest *nearest, const char *name);

#endif
