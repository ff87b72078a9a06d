/* connect.h - the client of a verb, and what it says on standard error while it works. */
#ifndef CLI_CONNECT_H
#define CLI_CONNECT_H

#include <stdbool.h>

#include "cli/verb/verb.h"

/* Connects to the servers of the global options.  On any other result than EXIT_DONE the error has
 * already been printed. */
enum exit_code connect_client(smq_client **out, const struct command *command);

/* The two steps of it: are servers named?  Anything but EXIT_DONE has been said.  Then connects,
 * and says nothing.  Fails as smq_client_new(). */
enum exit_code connect_check(const struct command *command);
smq_status connect_open(smq_client **out, const struct command *command, smq_error *err);

/* What was printed of the states of a client.  Zeroed: nothing yet. */
struct connect_states {
    int lost;      /* connections whose loss was printed, and that are not connected again */
    bool fenced;   /* a slot has a newer owner, and none was gained since */
    bool terminal; /* at a terminal the number of slots is printed, too */
};

/* Is the event printed by a verb that says its states?  A state is printed once, and its end if the
 * reader waits for it.  Events come in their order.  Pure but for `states`. */
bool connect_says(struct connect_states *states, const smq_event *event);

/* Connects, and runs it. */
enum exit_code connect_run(const struct command *command, verb_connected_fn *run);

#endif
