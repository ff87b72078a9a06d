/* command.h - from argv to a verb's function. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/text/exit.h"

/* Reads a whole command line and runs its verb. */
enum exit_code command_main(int argc, char **argv);

#endif
