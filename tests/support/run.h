/* run.h - running a command under test: standard input from a text, both outputs caught.
 *
 * Thread: the one that started it. */
#ifndef SUPPORT_RUN_H
#define SUPPORT_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct run_options {
    const char *const *argv;        /* required, NULL-terminated                           */
    const char *const *environment; /* "NAME=value" to add, "NAME" to remove, NULL-terminated */
    const char *in;                 /* its standard input; NULL: empty                     */
    size_t in_len;                  /* 0: up to the NUL                                    */
    const int *refused;             /* see process_options                                 */
};

/* Invariant: `ended` says that the process was waited for; only then exit_code means something. */
struct run {
    pid_t pid;
    bool ended;
    int exit_code;  /* 128 + number when a signal ended it                       */
    char *out;      /* what it has written so far, with a NUL behind it: read by */
    size_t out_len; /* each run_wait...()                                        */
    char *err;
    size_t err_len;
    int out_fd, err_fd;
};

/* Start it.  False, said on stderr, when it cannot be started; run_fini() is then allowed too. */
bool run_start(struct run *run, const struct run_options *options);

/* Wait for its end.  After `timeout_ms` it is killed, and the answer is false. */
bool run_wait(struct run *run, int64_t timeout_ms);

/* Wait until its standard output (error) contains `text`; false when it ended or the time passed
 * without. */
bool run_wait_out(struct run *run, const char *text, int64_t timeout_ms);
bool run_wait_err(struct run *run, const char *text, int64_t timeout_ms);

void run_signal(const struct run *run, int number);

/* run_start() and run_wait(). */
bool run_command(struct run *run, const struct run_options *options, int64_t timeout_ms);

/* Kill it if it still runs, and free what was caught. */
void run_fini(struct run *run);

#endif
