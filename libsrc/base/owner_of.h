/* owner_of.h - finds the struct that a member is embedded in.
 *
 * Callbacks of tasks, exchanges and timers get a pointer to the member only.
 *
 * Thread: any. */
#ifndef BASE_OWNER_OF_H
#define BASE_OWNER_OF_H

#include <stddef.h>

/* The `type` whose `member` the pointer points to.  A pointer to another type than the member's
 * does not compile without a warning. */
#define OWNER_OF(pointer, type, member)                                                            \
    ((type *) (void *) ((char *) (1 ? (pointer) : &((type *) NULL)->member) -                      \
                        offsetof(type, member)))

#endif
