/* commandstats.h - what a server's INFO commandstats says of one command.
 *
 * Thread: any. */
#ifndef SUPPORT_COMMANDSTATS_H
#define SUPPORT_COMMANDSTATS_H

#include <stdint.h>

/* A field of a command, such as "calls", "usec" (microseconds) or "rejected_calls", in the text
 * that INFO commandstats answered.  0 if the server has not run the command since its statistics
 * were reset, or does not have the field. */
int64_t commandstats_read(const char *info, const char *command, const char *field);

#endif
