/* screen.h - a picture on a terminal that is drawn again and again, until a key or a signal ends
 * it.
 *
 * At the end the terminal shows again what it showed before, also when the command ends early.
 *
 * Thread: main. */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is standard output a terminal that can show one? */
bool screen_possible(void);

void screen_begin(void);
void screen_end(void);

/* Empty it for the next picture. */
void screen_clear(void);

/* How many lines fit. */
size_t screen_lines(void);

/* What ended a wait, besides the code of a letter that was typed. */
enum {
    SCREEN_END = -1,
    SCREEN_TIME = 0,
    SCREEN_UP = 256,
    SCREEN_DOWN,
    SCREEN_PAGE_UP,
    SCREEN_PAGE_DOWN,
    SCREEN_OTHER
};

/* Wait until a time of moment_ms().  SCREEN_END: a signal came (signals.h), or "q" was typed
 * while there is a screen.  With `text` the letters q, j and k are those that were typed; else they
 * mean the end, down and up. */
int screen_wait(int64_t until_ms, bool text);

#endif
