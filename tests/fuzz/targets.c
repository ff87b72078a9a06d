/* targets.c - the list of the targets.
 *
 * Thread: main. */
#include <string.h>

#include "fuzz/fuzz.h"

static struct fuzz_target *targets;

void fuzz_target_add(struct fuzz_target *target)
{
    struct fuzz_target **place = &targets;

    while (*place != NULL && strcmp((*place)->name, target->name) < 0) {
        place = &(*place)->next;
    }
    target->next = *place;
    *place = target;
}

const struct fuzz_target *fuzz_target_find(const char *name)
{
    for (const struct fuzz_target *target = targets; target != NULL; target = target->next) {
        if (strcmp(target->name, name) == 0) {
            return target;
        }
    }
    (void) fprintf(stderr, "no target \"%s\"; the targets are:\n", name);
    for (const struct fuzz_target *target = targets; target != NULL; target = target->next) {
        (void) fprintf(stderr, "  %s\n", target->name);
    }
    return NULL;
}
