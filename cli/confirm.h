/* confirm.h - asking before something is deleted. */
#ifndef CLI_CONFIRM_H
#define CLI_CONFIRM_H

#include "verb.h"

/* EXIT_DONE: go on.  A person at a terminal is asked; without a terminal --yes must be given.
 * Anything else has been said. */
enum exit_code confirm(const struct command *command, bool yes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
