/* screen.c - a picture on a terminal that is drawn again and again. */
#include "cli/stat/screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/text/moment.h"
#include "cli/text/output.h"
#include "cli/text/signals.h"

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

static int screen_letter(char letter, bool text)
{
    if (!text && letter == 'q') {
        return SCREEN_END;
    }
    if (!text && (letter == 'j' || letter == 'k')) {
        return letter == 'j' ? SCREEN_DOWN : SCREEN_UP;
    }
    return (unsigned char) letter;
}

/* The key that these bytes are: a letter, or the sequence of an arrow or a page key. */
static int screen_key(const char *bytes, size_t size, bool text)
{
    static const struct {
        const char *bytes;
        int key;
    } sequences[] = {{"\033[A", SCREEN_UP},       {"\033OA", SCREEN_UP},
                     {"\033[B", SCREEN_DOWN},     {"\033OB", SCREEN_DOWN},
                     {"\033[5~", SCREEN_PAGE_UP}, {"\033[6~", SCREEN_PAGE_DOWN}};

    for (size_t i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++) {
        if (strlen(sequences[i].bytes) == size && memcmp(sequences[i].bytes, bytes, size) == 0) {
            return sequences[i].key;
        }
    }
    return size == 1 ? screen_letter(bytes[0], text) : SCREEN_OTHER;
}

/* One byte at a time but for sequences, so that keys typed at once all count. */
static int screen_read_key(bool text)
{
    char bytes[8];
    size_t size = 0;
    ssize_t got = read(STDIN_FILENO, bytes, 1);

    if (got <= 0) {
        return SCREEN_END; /* the terminal is gone */
    }
    size = 1;
    while (bytes[0] == '\033' && size < sizeof(bytes) && signals_await_input(STDIN_FILENO, 20) &&
           read(STDIN_FILENO, bytes + size, 1) == 1) {
        const char last = bytes[size++];
        if (size > 2 && (last == '~' || (last >= 'A' && last <= 'Z'))) {
            break;
        }
    }
    return screen_key(bytes, size, text);
}

int screen_wait(int64_t until_ms, bool text)
{
    const int keys = screen.typing ? STDIN_FILENO : -1;
    int64_t left = until_ms - moment_ms();

    while (!signals_came() && left > 0) {
        if (signals_await_input(keys, left)) {
            return screen_read_key(text);
        }
        left = until_ms - moment_ms();
    }
    return signals_came() ? SCREEN_END : SCREEN_TIME;
}
