/* screen.c - a picture on a terminal that is drawn again and again. */
#include "screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "output.h"
#include "signals.h"

/* The second screen of the terminal, without a cursor; and back. */
#define SCREEN_ON  "\033[?1049h\033[?25l"
#define SCREEN_OFF "\033[?25h\033[?1049l"

static struct {
    bool shown;
    bool typing; /* keys are read from standard input, whose modes were `before` */
    struct termios before;
} screen;

bool screen_possible(void)
{
    const char *terminal = getenv("TERM");

    return isatty(STDOUT_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
}

void screen_end(void)
{
    if (screen.typing) {
        tcsetattr(STDIN_FILENO, TCSANOW, &screen.before);
    }
    if (screen.shown) {
        fflush(stdout);
        (void) output_write(SCREEN_OFF, sizeof(SCREEN_OFF) - 1);
    }
    screen.shown = screen.typing = false;
}

void screen_begin(void)
{
    static bool registered;

    if (!registered) {
        registered = true;
        (void) atexit(screen_end);
    }
    screen.shown = true;
    (void) output_write(SCREEN_ON, sizeof(SCREEN_ON) - 1);
    if (isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &screen.before) == 0) {
        struct termios modes = screen.before;
        modes.c_lflag &= ~(tcflag_t) (ICANON | ECHO);
        modes.c_cc[VMIN] = 1;
        modes.c_cc[VTIME] = 0;
        screen.typing = tcsetattr(STDIN_FILENO, TCSANOW, &modes) == 0;
    }
}

void screen_clear(void)
{
    fputs("\033[H\033[J", stdout);
}

size_t screen_lines(void)
{
    struct winsize size;

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

static int64_t screen_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool screen_wait(int64_t ms)
{
    const int64_t until = screen_now_ms() + ms;
    const int keys = screen.typing ? STDIN_FILENO : -1;
    int64_t left = ms;

    while (!signals_came() && left > 0) {
        char key = 'q'; /* the terminal is gone */
        if (signals_await_input(keys, left) && (read(STDIN_FILENO, &key, 1) <= 0 || key == 'q')) {
            return false;
        }
        left = until - screen_now_ms();
    }
    return !signals_came();
}
