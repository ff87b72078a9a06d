/* fake_clock.h - the clock of the process, which a test moves forward and stops.
 *
 * Thread: any. */
#ifndef UNIT_CONSUME_FAKE_CLOCK_H
#define UNIT_CONSUME_FAKE_CLOCK_H

#include <stdint.h>

/* From now on it shows the time, and no more. */
void fake_clock_reset(void);

void fake_clock_advance(int64_t us);

/* It shows this moment until fake_clock_reset(). */
void fake_clock_stop(void);

#endif
