/* clock.h - the clocks of this process.  Due times and leases of messages do not use them: these
 * follow the clock of the Redis node that holds the slot.
 *
 * Thread: any. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Milliseconds of CLOCK_BOOTTIME, which never jumps, and continues while the machine sleeps. */
int64_t clock_now_ms(void);

/* The same clock in microseconds. */
int64_t clock_now_us(void);

/* The time `ms` from now by CLOCK_MONOTONIC, for threads that wait; a negative `ms` means now. */
struct timespec clock_deadline(int64_t ms);

/* Milliseconds since 1970; for log lines and ids only. */
int64_t clock_wall_ms(void);

#endif
