/* screen.h - the live table of the demo: a table that redraws itself on a terminal, plain lines
 * elsewhere.
 *
 * Thread: main. */
#ifndef DEMO_SCREEN_H
#define DEMO_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include <slotmq/slotmq.h>

#include "fleet.h"

/* Zero is a screen on which nothing was drawn. */
struct screen {
    bool terminal;
    int lines; /* of the table drawn last */
    int64_t drawn_ms;
    uint64_t done[RULES_TOPICS];
    int64_t started_ms;
};

void screen_init(struct screen *screen);

/* What is happening now; stays above the table. */
void screen_say(struct screen *screen, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Draw, if it is time to. */
void screen_draw(struct screen *screen, const struct fleet *fleet,
                 const smq_stats stats[RULES_TOPICS], uint64_t sent);

#endif
