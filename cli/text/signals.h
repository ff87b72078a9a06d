/* signals.h - SIGTERM, SIGINT and SIGHUP end what the command does gracefully; a second SIGINT ends
 * the process.
 *
 * Thread: main.  Every other thread of the process blocks these signals. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

#include <slotmq/slotmq.h>

/* From now on these signals are kept in mind. */
void signals_catch(void);

/* The consumers to stop, up to a NULL, also by a signal that came before; NULL: none any more. */
void signals_watch(smq_consumer *const *consumers);

/* Did one of them come? */
bool signals_came(void);

/* Wait until `fd` (-1: none) can be read, `ms` passed (-1: for ever) or one of them came, also just
 * before the wait.  Is there something to read? */
bool signals_await_input(int fd, int64_t ms);

/* The process ends by the signal that came, so that a shell sees it and ends its loop, too. */
_Noreturn void signals_end_process(void);

#endif
