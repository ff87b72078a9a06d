/* process.h - a port of a process that consumes: its metrics and its health.
 *
 * Thread: main. */
#ifndef SERVE_PROCESS_H
#define SERVE_PROCESS_H

#include "cli/http/listen_flags.h"

struct process;

/* Opens the port; `listen` has no address: nothing is opened, and *out is NULL.  The client must
 * outlive it.  On any other result than EXIT_DONE the error has been printed. */
enum exit_code process_begin(struct process **out, const struct listen *listen, smq_client *client,
                             bool quiet);

/* NULL: nothing. */
void process_end(struct process *process);

#endif
