/* look_flags.h - what the flags of all verbs share that look at servers and change nothing. */
#ifndef CLI_LOOK_FLAGS_H
#define CLI_LOOK_FLAGS_H

#include <stddef.h>

#include "cli/verb/flags.h"

/* The first member of the options of such a verb, whose `looks` is true. */
struct look {
    struct flag_value timeout; /* for all servers together that do not answer */
};

/* `usual`: the time without the flag, as a user types it; NULL: the time-outs of the client. */
#define LOOK_FLAG(usual)                                                                           \
    {                                                                                              \
        .name = "timeout", .type = FLAG_DURATION, .offset = offsetof(struct look, timeout),        \
        .operand = "TIME", .min = "100ms", .max = "10m", .fallback = (usual),                      \
        .help = "how long to wait in all for servers that do not answer"                           \
    }

#endif
