/* reason_flags.h - the flags that select messages by the reason of their last failure. */
#ifndef CLI_REASON_FLAGS_H
#define CLI_REASON_FLAGS_H

#include <stddef.h>

#include <slotmq/slotmq.h>

#include "cli/text/exit.h"
#include "cli/verb/flags.h"

struct reason_flags {
    const char *part;  /* a text in the reason */
    const char *whole; /* the reason; "": none was given */
};

/* The rows of a table of flags for a `struct reason_flags`, which stands at `offset_`. */
#define REASON_FLAGS(offset_)                                                                      \
    TEXT_FLAG("reason", (offset_) + offsetof(struct reason_flags, part), "TEXT",                   \
              "only those with TEXT in the reason of their last failure"),                         \
        TEXT_FLAG("reason-is", (offset_) + offsetof(struct reason_flags, whole), "TEXT",           \
                  "only those with exactly this reason; \"\": with none")

bool reason_flags_select(const struct reason_flags *reason);

/* Refuses both at once. */
enum exit_code reason_flags_check(const struct reason_flags *reason);

void reason_flags_apply(smq_filter *out, const struct reason_flags *reason);

#endif
