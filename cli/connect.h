/* connect.h - the client of a verb, and what it says on standard error while it works. */
#ifndef CLI_CONNECT_H
#define CLI_CONNECT_H

#include "verb.h"

/* Connects to the servers of the global options.  On any other result than EXIT_DONE the error has
 * already been printed. */
enum exit_code connect_client(smq_client **out, const struct command *command);

#endif
