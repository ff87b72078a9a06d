/* awake.h - keeps processors awake while messages come one by one.  A processor that has nothing to
 * do sleeps, and the host of a virtual machine may then give it to others.  After it has woken up
 * the same work takes up to twice as long, and how often it does depends on the host.
 *
 * Thread: main.  Two processes spin, one on each core, but only while nothing else wants to run
 * there. */
#ifndef BENCH_AWAKE_H
#define BENCH_AWAKE_H

#include <sys/types.h>

enum { AWAKE_CORES = 2 };

/* Invariant: a pid is -1, or that of a child. */
struct awake {
    pid_t pids[AWAKE_CORES];
};

/* They end with this process at the latest.  A core that is not there stays as it is. */
void awake_start(struct awake *awake);
void awake_stop(struct awake *awake);

/* One process on this core that does not come after others, so that they have half of it. */
void awake_compete(struct awake *awake, int core);

#endif
