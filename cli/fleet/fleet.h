/* fleet.h - what the verbs about a fleet share. */
#ifndef CLI_FLEET_H
#define CLI_FLEET_H

#include "cli/verb/verb.h"

/* Where the fleet is: the addresses and root of ZooKeeper, or the root in Redis. */
const char *fleet_place(const struct command *command);

/* Connects, to the fleet at `root` when that is not NULL, and runs it.  On any other result than
 * EXIT_DONE the error has been printed. */
enum exit_code fleet_run(const struct command *command, const char *root, verb_connected_fn *run);

#endif
