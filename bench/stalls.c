#include "stalls.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "meter.h"

/* Being 0.3 ms late is no stall: a timer of a virtual machine may be. */
enum { EVERY_NS = 2000000, LATE_NS = 300000 };

static void *watch(void *user)
{
    struct stalls_core *core = user;

    while (!core->of->over) {
        int64_t until_ns = meter_now_ns() + EVERY_NS;
        struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};

        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        int64_t late_ns = meter_now_ns() - until_ns;
        core->stood_ns += late_ns > LATE_NS ? late_ns : 0;
    }
    return NULL;
}

static void start_core(struct stalls_core *core)
{
    const struct sched_param first = {.sched_priority = 1};
    pthread_attr_t attributes;
    cpu_set_t cores;

    CPU_ZERO(&cores);
    CPU_SET(core->number, &cores);
    pthread_attr_init(&attributes);
    pthread_attr_setaffinity_np(&attributes, sizeof(cores), &cores);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &first);
    core->watched = pthread_create(&core->thread, &attributes, watch, core) == 0;
    pthread_attr_destroy(&attributes);
}

void stalls_start(struct stalls *stalls)
{
    *stalls = (struct stalls){.began_ns = meter_now_ns()};
    for (int i = 0; i < STALLS_CORES; i++) {
        stalls->cores[i] = (struct stalls_core){.of = stalls, .number = i};
        start_core(&stalls->cores[i]);
    }
}

double stalls_stop(struct stalls *stalls)
{
    int64_t stood_ns = 0, took_ns = meter_now_ns() - stalls->began_ns;

    stalls->over = true;
    for (int i = 0; i < STALLS_CORES; i++) {
        struct stalls_core *core = &stalls->cores[i];

        if (core->watched) {
            pthread_join(core->thread, NULL);
            stood_ns += core->stood_ns;
        }
    }
    return took_ns > 0 ? 100 * (double) stood_ns / (double) took_ns : 0;
}
