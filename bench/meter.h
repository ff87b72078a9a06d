/* meter.h - measures a cost: time, CPU of this process, CPU and traffic of all Redis nodes.
 *
 * Thread: main. */
#ifndef BENCH_METER_H
#define BENCH_METER_H

#include <stdbool.h>
#include <stdint.h>

int64_t meter_now_ns(void); /* CLOCK_MONOTONIC; in meter_now.c, which needs nothing else */

struct meter {
    double seconds;
    double client_cpu_s;
    double redis_cpu_s;
    uint64_t commands; /* that Redis ran, those inside scripts too */
    uint64_t calls;    /* EVALSHA only */
    uint64_t bytes_in, bytes_out;
};

struct lab;

/* Begin; stop: `meter` becomes the difference.  false: Redis did not answer. */
bool meter_start(struct meter *meter, struct lab *lab);
bool meter_stop(struct meter *meter, struct lab *lab);

/* Without asking Redis. */
void meter_start_here(struct meter *meter);
void meter_stop_here(struct meter *meter);

/* The memory of all Redis nodes, now. */
bool meter_used_memory(uint64_t *out, struct lab *lab);

#endif
