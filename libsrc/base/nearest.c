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

/* How many letters must be inserted, removed, replaced, or swapped with their neighbour, to turn
 * `b` into `a`. */
static size_t nearest_edit_distance(const char *a, const char *b)
{
    const size_t rows = strlen(a);
    const size_t columns = strlen(b);
    size_t cost[NEAREST_MAX + 1][NEAREST_MAX + 1];

    for (size_t i = 0; i <= rows; i++) {
        cost[i][0] = i;
    }
    for (size_t j = 0; j <= columns; j++) {
        cost[0][j] = j;
    }
    for (size_t i = 1; i <= rows; i++) {
        for (size_t j = 1; j <= columns; j++) {
            const size_t replace = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            cost[i][j] = nearest_least(replace, nearest_least(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                cost[i][j] = nearest_least(cost[i][j], cost[i - 2][j - 2] + 1);
            }
        }
    }
    return cost[rows][columns];
}

/* Does the name begin with these letters, or end with them as a word of its own? */
static bool nearest_is_part(const char *typed, size_t size, const char *name)
{
    const size_t length = strlen(name);

    return strncmp(name, typed, size) == 0 ||
           (length > size && strcmp(name + length - size, typed) == 0 &&
            strchr("-_", name[length - size - 1]) != NULL);
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
    const bool part = typed >= 2 && nearest_is_part(nearest->typed, typed, name);
    const size_t distance = part ? 1 : nearest_edit_distance(nearest->typed, name);
    if (distance < nearest->distance) {
        nearest->distance = distance;
        nearest->best = name;
    }
}
