/* nearest.c - finds the name that a misspelt one probably means.
 *
 * Pure. */
#include "base/nearest.h"

#include <stdbool.h>
#include <string.h>

/* Longer names are never proposed; no name in this project is longer. */
#define NEAREST_MAX 40

static size_t nearest_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many letters must be inserted, removed or replaced to turn `b` into `a`. */
static size_t nearest_edit_distance(const char *a, const char *b)
{
    const size_t columns = strlen(b);
    size_t cost[NEAREST_MAX + 1];

    for (size_t j = 0; j <= columns; j++) {
        cost[j] = j;
    }
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t diagonal = cost[0];
        cost[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            const size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = cost[j];
            cost[j] = nearest_least(replace, nearest_least(cost[j], cost[j - 1]) + 1);
        }
    }
    return cost[columns];
}

struct nearest nearest_to(const char *typed)
{
    const size_t allowed = strlen(typed) / 3;

    return (struct nearest){.typed = typed, .distance = (allowed > 0 ? allowed : 1) + 1};
}

void nearest_offer(struct nearest *nearest, const char *name)
{
    const size_t typed = strlen(nearest->typed);

    if (typed > NEAREST_MAX || strlen(name) > NEAREST_MAX) {
        return;
    }
    const bool begins = typed >= 2 && strncmp(name, nearest->typed, typed) == 0;
    const size_t distance = begins ? 1 : nearest_edit_distance(nearest->typed, name);
    if (distance < nearest->distance) {
        nearest->distance = distance;
        nearest->best = name;
    }
}
