/* rules.h - what the demo's handlers do with a message; the same rules judge them at the end.
 *
 * Pure. */
#ifndef DEMO_RULES_H
#define DEMO_RULES_H

#include <stdbool.h>
#include <stddef.h>

enum { RULES_TOPICS = 3 };

/* "demo.merge", "demo.priority", "demo.time". */
extern const char *const rules_topics[RULES_TOPICS];

/* One message in 5,000 can never be handled. */
bool rules_always_fails(const void *body, size_t len);

/* One in ten fails the first time. */
bool rules_fails_first(const void *body, size_t len);

#endif
