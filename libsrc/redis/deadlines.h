/* deadlines.h - the time-outs of requests, in a timer wheel: one timer for all of them.
 *
 * Adding and removing a deadline takes constant time.  It is reported at most two ticks late, and
 * not before the sockets were read after it: a reply that has come in time always counts.
 *
 * Thread: smq:io. */
#ifndef REDIS_DEADLINES_H
#define REDIS_DEADLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <uv.h>

#include "redis/context.h"

enum { DEADLINES_SLOTS = 256, DEADLINES_TICK_MS = 16 };

TAILQ_HEAD(deadline_list, deadline);

/* Embedded in a struct that has a time-out. */
struct deadline {
    int64_t at_ms; /* by clock_now_ms() */
    struct deadline_list *list;
    TAILQ_ENTRY(deadline) link;
};

/* Invariant: `count` counts the deadlines that were added and not removed. */
struct deadlines {
    struct context *context;
    void (*passed)(struct deadline *deadline);
    struct deadline_list wheel[DEADLINES_SLOTS];
    int64_t ticked_ms; /* the tick that was handled last */
    size_t count;
    uv_timer_t timer; /* ticks while there are deadlines */
};

/* passed() is called with each deadline that has passed, and must remove it; it may remove
 * others. */
void deadlines_init(struct deadlines *deadlines, struct context *context,
                    void (*passed)(struct deadline *deadline));

void deadlines_add(struct deadlines *deadlines, struct deadline *deadline, int64_t at_ms);
void deadlines_remove(struct deadlines *deadlines, struct deadline *deadline);

#endif
