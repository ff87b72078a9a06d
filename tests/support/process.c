#include "support/process.h"

#include "support/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KILL_TIMEOUT_MS = 60000, REFUSED_MAX = 8 };

/* Handlers and masks of the parent must not reach the child. */
static void reset_signals(void)
{
    sigset_t none;

    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_DFL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Does one of the changes name this variable? */
static bool is_changed(const char *variable, const char *const *changes)
{
    for (; changes != NULL && *changes != NULL; changes++) {
        size_t name = strcspn(*changes, "=");

        if (strncmp(variable, *changes, name) == 0 && strchr("=", variable[name]) != NULL) {
            return true;
        }
    }
    return false;
}

/* The environment of the child; the caller frees the array.  It is made before fork(): another
 * thread may have locked the allocator, and that of AddressSanitizer stays locked in the child. */
static char **changed_environment(const char *const *changes)
{
    size_t count = 1;
    char **made, **next;

    for (char **old = environ; *old != NULL; old++) {
        count++;
    }
    for (const char *const *change = changes; change != NULL && *change != NULL; change++) {
        count++;
    }
    made = next = calloc(count, sizeof(*made));
    if (made == NULL) {
        abort();
    }
    for (char **old = environ; *old != NULL; old++) {
        if (!is_changed(*old, changes)) {
            *next++ = *old;
        }
    }
    for (; changes != NULL && *changes != NULL; changes++) {
        if (strchr(*changes, '=') != NULL && !is_changed(*changes, changes + 1)) {
            *next++ = (char *) *changes;
        }
    }
    return made;
}

/* The child gets these three descriptors and no other. */
static bool redirect(const struct process_options *options)
{
    const int wanted[3] = {options->in, options->out, options->err};
    int copies[3];
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int i = 0; i < 3; i++) { /* first above 2, so that none is overwritten */
        copies[i] = fcntl(wanted[i] != 0 ? wanted[i] : null, F_DUPFD_CLOEXEC, 3);
        if (copies[i] < 0) {
            return false;
        }
    }
    for (int i = 0; i < 3; i++) {
        if (dup2(copies[i], i) < 0) {
            return false;
        }
    }
    return close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0;
}

/* As if the kernel were older: each of the calls fails with ENOSYS, also in what is run next. */
static bool refuse(const int *calls)
{
    struct sock_filter program[2 * REFUSED_MAX + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    struct sock_fprog filter = {.len = 1, .filter = program};

    for (; *calls >= 0; calls++) {
        if (filter.len >= 2 * REFUSED_MAX) {
            errno = E2BIG;
            return false;
        }
        program[filter.len++] =
            (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned) *calls, 0, 1);
        program[filter.len++] =
            (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
    }
    program[filter.len++] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static void become(const struct process_options *options, char **environment, pid_t parent)
{
    reset_signals();
    setsid();
    if (!options->detached) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) { /* it died before the line above */
            _exit(127);
        }
    }
    if ((options->folder == NULL || chdir(options->folder) == 0) && redirect(options) &&
        (options->refused == NULL || refuse(options->refused))) {
        environ = environment;
        execvp(options->argv[0], (char *const *) options->argv);
    }
}

/* The error number of a failed start comes through a pipe that a successful exec closes. */
static pid_t report_start(const struct process_options *options, pid_t pid, int report)
{
    int failure = 0;
    ssize_t size;

    do {
        size = read(report, &failure, sizeof(failure));
    } while (size < 0 && errno == EINTR);
    if (size != (ssize_t) sizeof(failure)) {
        return pid;
    }
    waitpid(pid, NULL, 0);
    fprintf(stderr, "cannot start %s: %s%s\n", options->argv[0], strerror(failure),
            failure == ENOENT ? " (./dev setup installs what is needed)" : "");
    return 0;
}

pid_t process_start(const struct process_options *options)
{
    pid_t parent = getpid();
    int report[2];

    if (pipe2(report, O_CLOEXEC) != 0) {
        perror("pipe2");
        return 0;
    }
    char **environment = changed_environment(options->environment);
    pid_t pid = fork();
    if (pid == 0) {
        become(options, environment, parent);
        int failure = errno;
        ssize_t size = write(report[1], &failure, sizeof(failure));
        _exit(size > 0 ? 127 : 126);
    }
    free(environment);
    close(report[1]);
    if (pid < 0) {
        perror("fork");
        pid = 0;
    } else {
        pid = report_start(options, pid, report[0]);
    }
    close(report[0]);
    return pid;
}

bool process_ended(pid_t pid, int *status)
{
    int ignored = 0;

    return waitpid(pid, status != NULL ? status : &ignored, WNOHANG) != 0;
}

struct ending {
    pid_t pid;
    int status;
    bool ended;
};

/* Once true, for ever true: the pid may belong to another process by then. */
static bool has_ended(void *arg)
{
    struct ending *ending = arg;

    if (!ending->ended) {
        ending->ended = process_ended(ending->pid, &ending->status);
    }
    return ending->ended;
}

bool process_wait(pid_t pid, int *status, int64_t timeout_ms)
{
    struct ending ending = {.pid = pid};

    if (!wait_until(has_ended, &ending, timeout_ms)) {
        return false;
    }
    if (status != NULL) {
        *status = ending.status;
    }
    return true;
}

bool process_pause(pid_t pid)
{
    siginfo_t info = {0};
    int failed;

    if (kill(pid, SIGSTOP) != 0) {
        return false;
    }
    do {
        failed = waitid(P_PID, (id_t) pid, &info, WSTOPPED | WEXITED | WNOWAIT);
    } while (failed != 0 && errno == EINTR);
    return failed == 0 && info.si_code == CLD_STOPPED;
}

bool process_resume(pid_t pid)
{
    return kill(pid, SIGCONT) == 0;
}

void process_stop(pid_t pid, int64_t timeout_ms)
{
    kill(pid, SIGTERM);
    kill(pid, SIGCONT); /* a stopped process gets no SIGTERM */
    if (!process_wait(pid, NULL, timeout_ms)) {
        process_kill(pid);
    }
}

void process_kill(pid_t pid)
{
    kill(pid, SIGKILL);
    if (!process_wait(pid, NULL, KILL_TIMEOUT_MS)) {
        fprintf(stderr, "process %d does not die\n", (int) pid);
    }
}
