/* when.h - flags that say when a message is handled. */
#ifndef CLI_WHEN_H
#define CLI_WHEN_H

#include "topic.h"

struct when {
    struct flag_value delay, at, priority;
};

/* Times lie within this. */
#define WHEN_TIME_MAX (INT64_C(1) << 43)

/* The rows of a table of flags for a `struct when when` in the verb's `struct_`. */
#define WHEN_FLAGS(struct_)                                                                        \
    {.name = "delay",                                                                              \
     .type = FLAG_DURATION,                                                                        \
     .offset = offsetof(struct_, when.delay),                                                      \
     .operand = "TIME",                                                                            \
     .min = 0,                                                                                     \
     .max = WHEN_TIME_MAX,                                                                         \
     .help = "range_merge, fixed_time: due so long from now; 0 is at once"},                       \
        {.name = "at",                                                                             \
         .type = FLAG_TIME,                                                                        \
         .offset = offsetof(struct_, when.at),                                                     \
         .operand = "WHEN",                                                                        \
         .min = -WHEN_TIME_MAX,                                                                    \
         .max = WHEN_TIME_MAX,                                                                     \
         .help = "fixed_time: due then, as 2026-12-01T00:00:00Z or in ms since 1970; past is at "  \
                 "once"},                                                                          \
    {                                                                                              \
        .name = "priority", .type = FLAG_NUMBER, .offset = offsetof(struct_, when.priority),       \
        .operand = "P", .min = INT64_MIN, .max = INT64_MAX,                                        \
        .help = "priority: larger is more urgent; default 0"                                       \
    }

/* Refuses a flag that the topic's type does not have, whatever its value, and priorities out of
 * range. */
enum exit_code when_check(const struct when *when, const char *topic,
                          const struct topic_facts *facts);

/* Sets the fields of a message. */
void when_apply(smq_message *message, const struct when *when);

#endif
