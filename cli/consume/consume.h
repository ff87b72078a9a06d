/* consume.h - what a consume has in common with the handlers that print and that run a program.
 *
 * Thread: the main thread waits, the handlers run on smq:work-N. */
#ifndef CLI_CONSUME_H
#define CLI_CONSUME_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "cli/verb/verb.h"

/* One run of the verb. */
struct consume {
    const struct command *command;
    smq_client *client;
    bool pass_credentials;    /* programs get those of our environment */
    int delimiter;            /* behind each message on standard output */
    int64_t drain_ms;         /* how long programs may run after the consumer begins to stop */
    smq_consumer **consumers; /* of each topic, and a NULL; set before the first handler runs */
    smq_limit *limit;         /* of several topics */
    atomic_ullong handled;    /* handlers that returned */
    struct {
        pthread_mutex_t lock;
        enum exit_code code; /* the first failure of a handler; EXIT_DONE: none */
        char text[256];
    } failure;
};

/* A handler cannot continue (standard output is gone, the program cannot be started): the consumer
 * stops and the command ends with `code` and this text.  Later failures are not kept. */
void consume_fail(struct consume *consume, enum exit_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

bool consume_has_failed(struct consume *consume);

/* Begin the graceful end of all consumers.  Thread: any. */
void consume_stop(struct consume *consume);

/* Handlers: `user` is the struct consume. */
smq_verdict consume_print(smq_delivery *delivery, void *user);
smq_verdict consume_run(smq_delivery *delivery, void *user);

/* Can the program be found, and run?  On any other result than EXIT_DONE the error has already been
 * printed.  Call it while there is no other thread. */
enum exit_code consume_check_program(const char *program);

/* A process of its own that kills the programs if this one ends without them.  Start it while there
 * is no other thread; on any other result than EXIT_DONE the error has been printed.  The other
 * functions do nothing without it.  A program is added after its start and removed before it is
 * reaped, by one thread at a time. */
enum exit_code consume_guard_start(void);
void consume_guard_add(pid_t program);
void consume_guard_remove(pid_t program);
void consume_guard_end(void);

/* Kills all programs, because the time to drain has ended; and says whether that was done. */
void consume_kill_programs(void);
bool consume_programs_are_killed(void);

#endif
