/* progress.h - a bar on standard error that shows the progress of long work.
 *
 * Drawn only on a terminal, not with --quiet, and only when the work takes a while.  End it before
 * any other output.
 *
 * Thread: one at a time. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/verb/verb.h"

enum progress_state {
    PROGRESS_OFF,   /* it is never drawn */
    PROGRESS_READY, /* it may be drawn */
    PROGRESS_DRAWN  /* the terminal shows it */
};

struct progress {
    const char *what; /* "sent" */
    enum progress_state state;
    int64_t next_ms; /* it is not drawn before */
};

struct progress progress_begin(const struct command *command, const char *what);

/* `part` of `whole` is done, which made `count` things; a whole of 0 is not known. */
void progress_show(struct progress *progress, uint64_t part, uint64_t whole, uint64_t count);

/* Takes the bar away. */
void progress_end(struct progress *progress);

#endif
