/* process.h - child processes that never outlive what started them: servers, commands under test.
 *
 * A child dies with the thread that started it (PR_SET_PDEATHSIG is about the thread), so start
 * children from the main thread, or from one that outlives them.
 *
 * Thread: one at a time for a process. */
#ifndef SUPPORT_PROCESS_H
#define SUPPORT_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process_options {
    const char *const *argv;        /* required, NULL-terminated; argv[0] is looked up in PATH    */
    const char *const *environment; /* "NAME=value" to add, "NAME" to remove, NULL-terminated */
    const char *folder;             /* working directory; NULL: ours                              */
    int in, out, err;               /* descriptors it gets as 0, 1, 2; 0 means /dev/null          */
    bool detached;                  /* outlives us                                                */
    const int *refused; /* system calls that fail with ENOSYS, ended by -1; NULL: none            */
};

/* Start a process in a session of its own, with default signals.  0 when it could not be started
 * (no such program, ...), which is printed on stderr. */
pid_t process_start(const struct process_options *options);

/* Has it ended?  Then *status (may be NULL) is what waitpid() says, and the pid is gone. */
bool process_ended(pid_t pid, int *status);

/* Wait until it ends; false when `timeout_ms` passed first. */
bool process_wait(pid_t pid, int *status, int64_t timeout_ms);

/* SIGSTOP, and wait until it has stopped: until each of its threads has, the others continue,
 * which can be for tens of milliseconds.  False when it has ended; then it is left as it is. */
bool process_pause(pid_t pid);

/* SIGCONT; false when there is no such process. */
bool process_resume(pid_t pid);

/* SIGTERM (and SIGCONT), and SIGKILL if that takes too long; waited for. */
void process_stop(pid_t pid, int64_t timeout_ms);

/* SIGKILL, waited for. */
void process_kill(pid_t pid);

#endif
