/* moment.h - what time it is.
 *
 * Thread: any. */
#ifndef CLI_MOMENT_H
#define CLI_MOMENT_H

#include <stdint.h>

/* Milliseconds since 1970, by the wall clock of this machine. */
int64_t moment_wall_ms(void);

/* By a clock that does not jump, and begins anywhere. */
int64_t moment_ms(void);
int64_t moment_us(void);

#endif
