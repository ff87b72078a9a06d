/* when_flags.h - flags that say when a message is handled, and for how long and how often it may
 * fail. */
#ifndef CLI_WHEN_FLAGS_H
#define CLI_WHEN_FLAGS_H

#include "cli/topic/topic.h"

/* `own` holds what the message has of its own instead of the topic's: delay_ms, ttl_ms and
 * max_retries, each as an option of a topic: 0 is the topic's, SMQ_NONE is none, or at once. */
struct when {
    smq_topic_options own;
    struct flag_value at, priority;
};

/* A flag of a message that is like an option of its topic. */
#define WHEN_OWN(struct_, flag_, option_, operand_, help_)                                         \
    {                                                                                              \
        .name = (flag_), .type = FLAG_OPTION, .offset = offsetof(struct_, when.own),               \
        .set = SMQ_OPTION_SET_TOPIC, .option = (option_), .operand = (operand_), .help = (help_),  \
        .fallback = "the topic's"                                                                  \
    }

/* The rows of a table of flags for a `struct when when` in the verb's `struct_`. */
#define WHEN_FLAGS(struct_)                                                                        \
    WHEN_OWN(struct_, "delay", "delay_ms", "TIME",                                                 \
             "not fifo: due this long after the send, 0 is at once"),                              \
        {.name = "at",                                                                             \
         .type = FLAG_TIME,                                                                        \
         .offset = offsetof(struct_, when.at),                                                     \
         .operand = "WHEN",                                                                        \
         .max = WHEN_LAST_DAY,                                                                     \
         .help = "fixed_time, priority: due then, as 2026-12-01T00:00:00Z or in ms since 1970; a " \
                 "time that "                                                                      \
                 "has passed is at once"},                                                         \
    {                                                                                              \
        .name = "priority", .type = FLAG_NUMBER, .offset = offsetof(struct_, when.priority),       \
        .operand = "P", .help = "priority: larger is more urgent", .fallback = "0"                 \
    }

/* Points in time reach as far from 1970 as the delay of a topic, in whole days. */
#define WHEN_LAST_DAY "2248-09-26T00:00:00Z"

/* How far priorities reach depends on what decides among equal ones; the option `ties` says so,
 * too. */
#define WHEN_PRIORITY_ARRIVAL INT64_C(8191)
#define WHEN_PRIORITY_BYTES   (INT64_C(1) << 40)

/* Nothing is given. */
void when_init(struct when *when);

/* Refuses a flag that the topic's type does not have, whatever its value, and priorities out of
 * range. */
enum exit_code when_check(const struct when *when, const char *topic,
                          const struct topic_facts *facts);

/* Sets the fields of a message. */
void when_apply(smq_message *message, const struct when *when);

#endif
