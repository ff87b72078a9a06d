/* stalls.h - for how long processors stood still: below a virtual machine its host may take them
 * away for milliseconds, and nothing in the machine counts that.  What measures lateness must know.
 *
 * Thread: main; between start and stop each of two cores has a thread that wakes up every 2 ms
 * before all others, and counts how late it is. */
#ifndef BENCH_STALLS_H
#define BENCH_STALLS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { STALLS_CORES = 2 };

struct stalls {
    struct stalls_core {
        struct stalls *of;
        int number;
        bool watched; /* `thread` is valid */
        pthread_t thread;
        int64_t stood_ns; /* of the thread, until it has ended */
    } cores[STALLS_CORES];
    int64_t began_ns;
    atomic_bool over;
};

/* Without the right to come before all others (root, or CAP_SYS_NICE) nothing is measured. */
void stalls_start(struct stalls *stalls);

/* In percent of the time since the start, both cores together; 0 when nothing was measured. */
double stalls_stop(struct stalls *stalls);

#endif
