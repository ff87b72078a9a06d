/* confirm.h - asking before something is deleted. */
#ifndef CLI_CONFIRM_H
#define CLI_CONFIRM_H

#include "cli/verb/verb.h"

/* Ask a person at a terminal; without a terminal --yes must be given.  EXIT_DONE: continue.  On any
 * other result the error has been printed. */
enum exit_code confirm(const struct command *command, bool yes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
