/* program_stderr.h - standard error of a program that handles a message: it goes on to ours, and
 * its last line says why the message failed.
 *
 * It is a pipe, so a program does not see our terminal there.  What is left in it when the program
 * has ended is passed on, too; and if a process that the program has left behind still has it, its
 * rest is passed on by a thread of its own.
 *
 * Thread: smq:work-N; each has its own. */
#ifndef CLI_PROGRAM_STDERR_H
#define CLI_PROGRAM_STDERR_H

#include <poll.h>
#include <stdbool.h>

#include "cli/consume/last_line.h"

/* Invariant: bytes from `from` to `to` of `held` were read and not yet passed on. */
struct program_stderr {
    int in;  /* to read from; -1: closed, or there was no pipe */
    int out; /* what the program gets; -1: closed here */
    char held[4096];
    size_t from, to;
    struct last_line line;
};

/* Makes the pipe; without one the program gets our standard error itself. */
void program_stderr_open(struct program_stderr *stream);

/* The program runs: only it has the end to write to. */
void program_stderr_started(struct program_stderr *stream);

/* What to wait for next; an entry whose fd is -1 waits for nothing. */
struct pollfd program_stderr_wait(const struct program_stderr *stream);

/* Passes on what can be passed on without waiting.  false: there is nothing more now. */
bool program_stderr_pass(struct program_stderr *stream);

/* The program has ended, and all was passed on, or nobody can wait for it. */
void program_stderr_close(struct program_stderr *stream);

#endif
