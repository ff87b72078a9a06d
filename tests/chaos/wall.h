/* wall.h - the wall clock of a process of a chaos run, which faults move.
 *
 * The program, or a library that is loaded before it (clock.c), has functions clock_gettime(),
 * gettimeofday() and time() of its own, which all libraries in the process call.  They add to
 * CLOCK_REALTIME what a file says: 8 bytes, nanoseconds. Other clocks are as they are.
 *
 * Thread: any, but wall_open(). */
#ifndef CHAOS_WALL_H
#define CHAOS_WALL_H

#include <stdint.h>

/* From now on the file says by how much the wall clock is off.  The process ends if the file cannot
 * be read.  Thread: main, before others begin. */
void wall_open(const char *path);

/* What the wall clock would say if nobody had moved it, in ms. */
int64_t wall_true_ms(void);

/* Write "clock NANOSECONDS SHIFT_MS" to the log when the wall clock was moved by more than a second
 * since the last call. */
void wall_report(void);

#endif
