#include "awake.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child.  SCHED_IDLE: whatever else wants to run comes first. */
static void spin(int core, pid_t parent, int policy)
{
    const struct sched_param none = {.sched_priority = 0};
    cpu_set_t cores;

    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent ||
        sched_setaffinity(0, sizeof(cores), &cores) != 0 ||
        sched_setscheduler(0, policy, &none) != 0) {
        _exit(0);
    }
    for (;;) {
    }
}

static pid_t start_on(int core, int policy)
{
    const pid_t parent = getpid(), pid = fork();

    if (pid == 0) {
        spin(core, parent, policy);
    } else if (pid < 0) {
        perror("bench: fork");
    }
    return pid;
}

void awake_start(struct awake *awake)
{
    for (int i = 0; i < AWAKE_CORES; i++) {
        awake->pids[i] = start_on(i, SCHED_IDLE);
    }
}

void awake_compete(struct awake *awake, int core)
{
    *awake = (struct awake){.pids = {-1, -1}};
    awake->pids[0] = start_on(core, SCHED_OTHER);
}

void awake_stop(struct awake *awake)
{
    for (int i = 0; i < AWAKE_CORES; i++) {
        if (awake->pids[i] > 0) {
            kill(awake->pids[i], SIGKILL);
            waitpid(awake->pids[i], NULL, 0);
        }
        awake->pids[i] = -1;
    }
}
