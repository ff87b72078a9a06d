#include "guard.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/server.h"

static bool make_folder(char folder[PATH_MAX])
{
    const char *parent = getenv("TMPDIR");

    snprintf(folder, PATH_MAX, "%s/slotmq-bench-XXXXXX", parent != NULL ? parent : "/tmp");
    if (mkdtemp(folder) == NULL || setenv("TMPDIR", folder, 1) != 0) {
        perror(folder);
        return false;
    }
    return true;
}

/* What ends us, and what tells that the child has ended.  Under nohup SIGHUP does not. */
static void hold_signals(sigset_t *held, sigset_t *before)
{
    struct sigaction hangup;

    sigemptyset(held);
    sigaddset(held, SIGINT);
    sigaddset(held, SIGTERM);
    sigaddset(held, SIGCHLD);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN) {
        sigaddset(held, SIGHUP);
    }
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_BLOCK, held, before);
}

static void kill_if_child(const char *name)
{
    char path[300], line[512];
    long parent = 0;

    snprintf(path, sizeof(path), "/proc/%.20s/stat", name);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return;
    }
    const char *end = fgets(line, sizeof(line), file) != NULL ? strrchr(line, ')') : NULL;
    if (end != NULL && sscanf(end, ") %*c %ld", &parent) == 1 && parent == (long) getpid()) {
        kill((pid_t) strtol(name, NULL, 10), SIGKILL);
    }
    fclose(file);
}

/* Orphans become our children; those of what is killed here come next. */
static void end_children(void)
{
    const struct dirent *entry;

    do {
        DIR *folder = opendir("/proc");
        while (folder != NULL && (entry = readdir(folder)) != NULL) {
            kill_if_child(entry->d_name);
        }
        if (folder != NULL) {
            closedir(folder);
        }
    } while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
}

/* Wait until it has ended.  false: a signal asks this process to end. */
static bool await(pid_t pid, const sigset_t *held, int *status)
{
    pid_t ended = 0;

    while (ended != pid) {
        int number = sigwaitinfo(held, NULL);
        if (number > 0 && number != SIGCHLD) {
            return false;
        }
        do { /* orphans, too */
            ended = waitpid(-1, status, WNOHANG);
        } while (ended > 0 && ended != pid);
    }
    return true;
}

static pid_t start(int (*body)(void *arg), void *arg, const sigset_t *mask)
{
    pid_t parent = getpid(), pid = fork();

    if (pid != 0) {
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(GUARD_INTERRUPTED);
    }
    sigprocmask(SIG_SETMASK, mask, NULL);
    exit(body(arg));
}

static int exit_code(int status)
{
    if (WIFEXITED(status)) {
        return WEXITSTATUS(status);
    }
    fprintf(stderr, "bench: ended by signal %d\n", WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

int guard_run(int (*body)(void *arg), void *arg)
{
    char folder[PATH_MAX];
    sigset_t held, before;
    int status = 0;

    if (!make_folder(folder)) {
        return EXIT_FAILURE;
    }
    hold_signals(&held, &before);
    prctl(PR_SET_CHILD_SUBREAPER, 1L);
    pid_t pid = start(body, arg, &before);
    if (pid < 0) {
        perror("bench: fork");
        status = EXIT_FAILURE << 8;
    }
    bool ended = pid < 0 || await(pid, &held, &status);
    end_children();
    folder_remove(folder);
    if (!ended) {
        fprintf(stderr, "bench: interrupted; everything was stopped\n");
        return GUARD_INTERRUPTED;
    }
    return exit_code(status);
}
