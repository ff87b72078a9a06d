/* signals.h - SIGTERM, SIGINT and SIGHUP stop a worker gracefully; a second SIGINT ends the
 * process.
 *
 * Thread: main.  Every other thread of the process blocks these signals. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <stdbool.h>

#include <slotmq/slotmq.h>

/* From now on these signals are kept in mind. */
void signals_catch(void);

/* The worker to stop, also by a signal that came before; NULL: none any more. */
void signals_watch(smq_worker *worker);

/* Did one of them come? */
bool signals_came(void);

#endif
