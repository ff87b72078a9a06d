/* fleet.h - what the verbs about a fleet share. */
#ifndef CLI_FLEET_H
#define CLI_FLEET_H

#include "verb.h"

/* Is a ZooKeeper named?  Anything but EXIT_DONE has been said. */
enum exit_code fleet_check(const struct command *command);

/* Connects, to the fleet at `root` when that is not NULL.  Anything but EXIT_DONE has been said. */
enum exit_code fleet_connect(smq_client **out, const struct command *command, const char *root);

#endif
