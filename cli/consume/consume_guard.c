/* consume_guard.c - a process that kills the programs of the command when the command ends without
 * them: by SIGKILL, a second SIGINT or an abort.  Otherwise they would run on beside the next
 * delivery of their messages.
 *
 * It reads the pids of programs that run from a pipe.  Only the command writes, and each program
 * writes its pid before it runs, so the end of the pipe is the end of the command.
 *
 * Thread: main starts and ends it; any adds and removes, also in a process that is not yet the
 * program. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/consume/consume.h"
#include "cli/consume/descriptors.h"
#include "cli/text/say.h"

/* As many programs run at the most: one for each of 1,024 threads, and for the thread that replaces
 * one that hangs. */
enum { GUARD_PROGRAMS_MAX = 2048 };

static struct {
    pid_t pid;
    int pipe; /* to write to; -1: there is no guard */
} guard = {.pipe = -1};

/* A positive number is the pid of a program that runs; a negative one has ended. */
static void guard_note(pid_t *programs, size_t *count, pid_t pid)
{
    if (pid > 0 && *count < GUARD_PROGRAMS_MAX) {
        programs[(*count)++] = pid;
        return;
    }
    for (size_t i = 0; i < *count; i++) {
        if (programs[i] == -pid) {
            programs[i] = programs[--*count];
            return;
        }
    }
}

static void guard_run(int from)
{
    static pid_t programs[GUARD_PROGRAMS_MAX];
    size_t count = 0;
    pid_t pid = 0;

    while (read(from, &pid, sizeof(pid)) == (ssize_t) sizeof(pid)) {
        guard_note(programs, &count, pid);
    }
    for (size_t i = 0; i < count; i++) {
        (void) kill(-programs[i], SIGKILL);
    }
    _exit(EXIT_DONE);
}

/* In the new process: a session of its own, and no descriptor but the pipe, so that it keeps no
 * reader of our output waiting. */
static void guard_become(int from)
{
    (void) setsid();
    (void) signal(SIGINT, SIG_IGN);
    (void) signal(SIGTERM, SIG_IGN);
    (void) signal(SIGHUP, SIG_IGN);
    (void) dup2(from, STDIN_FILENO);
    descriptors_close(STDOUT_FILENO);
    guard_run(STDIN_FILENO);
}

enum exit_code consume_guard_start(void)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return say_error(EXIT_TEMPORARY, "cannot make a pipe: %s", strerror(errno));
    }
    guard.pid = fork();
    if (guard.pid == 0) {
        guard_become(ends[0]);
    }
    const int error = errno;
    /* not one of the descriptors that programs get, which may be closed here */
    guard.pipe = fcntl(ends[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(ends[0]);
    close(ends[1]);
    return guard.pid > 0 ? EXIT_DONE
                         : say_error(EXIT_TEMPORARY, "cannot start a process: %s", strerror(error));
}

static void guard_write(pid_t number)
{
    const ssize_t written = write(guard.pipe, &number, sizeof(number));

    (void) written; /* if the guard was killed the programs run without it */
}

void consume_guard_add(pid_t program)
{
    guard_write(program);
}

void consume_guard_remove(pid_t program)
{
    guard_write(-program);
}

void consume_guard_end(void)
{
    if (guard.pipe >= 0) {
        close(guard.pipe);
        guard.pipe = -1;
        while (guard.pid > 0 && waitpid(guard.pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
}
