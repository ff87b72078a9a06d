/* command.h - from argv to a verb's function, and what all these functions begin with. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "verb.h"

/* Reads a whole command line and runs its verb. */
enum exit_code command_main(int argc, char **argv);

/* Connects to the servers of the global options.  Anything but EXIT_DONE has been said. */
enum exit_code command_connect(smq_client **out, const struct command *command);

#endif
