/* wait.h - waiting for a condition, the only way in which a test may pass time.
 *
 * Thread: any. */
#ifndef SUPPORT_WAIT_H
#define SUPPORT_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* Has what the test waits for happened?  Called again and again, so it must be cheap. */
typedef bool wait_condition(void *arg);

/* Call `condition(arg)` every few milliseconds until it is true (then return true) or `timeout_ms`
 * have passed (false).  It is called at least twice, the last time after the deadline, so a slow
 * machine never fails a condition that holds. */
bool wait_until(wait_condition *condition, void *arg, int64_t timeout_ms);

#endif
