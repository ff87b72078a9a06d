/* alarms.h - times at which a loop does something, in microseconds: the timers of libuv count whole
 * milliseconds.
 *
 * Thread: the loop's. */
#ifndef BASE_ALARMS_H
#define BASE_ALARMS_H

#include <sys/queue.h>

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

/* Not to be freed while it is set. */
struct alarm {
    TAILQ_ENTRY(alarm) link;
    int64_t at_us; /* by clock_now_us(); 0: it is not set */
    void (*ring)(struct alarm *alarm);
};
TAILQ_HEAD(alarm_list, alarm);

/* All alarms of one loop. */
struct alarms {
    int timer; /* a timerfd; -1: none */
    uv_poll_t poll;
    struct alarm_list set; /* the earliest one first */
};

/* Returns 0, or an error of libuv; then nothing is left to be closed.  The alarms do not keep the
 * loop alive. */
int alarms_open(struct alarms *alarms, uv_loop_t *uv);

/* Close the handle, if it is open; after the loop has run, close the descriptor. */
void alarms_close(struct alarms *alarms);
void alarms_fini(struct alarms *alarms);

/* Have ring() called once, at that time or soon after it; a time that was set before no longer
 * counts. */
void alarm_set(struct alarms *alarms, struct alarm *alarm, int64_t at_us);
void alarm_clear(struct alarms *alarms, struct alarm *alarm);

#endif
