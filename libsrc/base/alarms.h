/* alarms.h - times at which a loop does something, in microseconds: the timers of libuv count whole
 * milliseconds.  Setting and clearing one takes time of the order of the logarithm of their number,
 * and the kernel is told of the earliest one once before the loop waits.
 *
 * Thread: the loop's. */
#ifndef BASE_ALARMS_H
#define BASE_ALARMS_H

#include <stddef.h>
#include <stdint.h>

#include <uv.h>

/* Not to be freed while it is set. */
struct alarm {
    int64_t at_us;   /* by clock_now_us(); 0: it is not set */
    uint64_t number; /* of those for one time the one that was set first rings first */
    size_t place;    /* in the heap, while it is set */
    void (*ring)(struct alarm *alarm);
};

/* All alarms of one loop.  Invariant: none in `heap` is before the one at (its place - 1) / 2. */
struct alarms {
    int timer; /* a timerfd; -1: none */
    uv_poll_t poll;
    uv_prepare_t prepare;
    int64_t wound_us; /* the time for which the timerfd is set; 0: it has rung, or was never set */
    struct alarm **heap;
    size_t count, room;
    uint64_t numbers;
};

/* Returns 0, or an error of libuv; then nothing is left to be closed.  The alarms do not keep the
 * loop alive. */
int alarms_open(struct alarms *alarms, uv_loop_t *uv);

/* Close the handles, if they are open; after the loop has run, close the descriptor. */
void alarms_close(struct alarms *alarms);
void alarms_fini(struct alarms *alarms);

/* Have ring() called once, at that time or soon after it; a time that was set before no longer
 * counts. */
void alarm_set(struct alarms *alarms, struct alarm *alarm, int64_t at_us);
void alarm_clear(struct alarms *alarms, struct alarm *alarm);

#endif
