/* progress.c - see progress.h. */
#include "cli/verb/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/text/moment.h"

/* Work that is shorter shows no bar. */
#define FIRST_MS 300
/* Between two pictures. */
#define STEP_MS 100
#define WIDTH   40

static void progress_write_all(const char *text, int size)
{
    /* A failure to write to standard error cannot be reported. */
    const ssize_t ignored = write(STDERR_FILENO, text, (size_t) size);
    (void) ignored;
}

struct progress progress_begin(const struct command *command, const char *what)
{
    return (struct progress){
        .what = what,
        .state = !command->global.quiet && isatty(STDERR_FILENO) ? PROGRESS_READY : PROGRESS_OFF,
        .next_ms = moment_ms() + FIRST_MS,
    };
}

void progress_show(struct progress *progress, uint64_t part, uint64_t whole, uint64_t count)
{
    char bar[WIDTH + 1];
    char line[128];
    int size = 0;

    if (progress->state == PROGRESS_OFF || moment_ms() < progress->next_ms) {
        return;
    }
    if (whole > 0) {
        const double share = part < whole ? (double) part / (double) whole : 1;
        const int full = (int) (share * WIDTH);
        memset(bar, '.', WIDTH);
        memset(bar, '#', (size_t) full);
        bar[WIDTH] = '\0';
        size = snprintf(line, sizeof(line), "\r[%s] %3d%%  %s %" PRIu64 "\033[K", bar,
                        (int) (share * 100), progress->what, count);
    } else {
        size = snprintf(line, sizeof(line), "\r%s %" PRIu64 "\033[K", progress->what, count);
    }
    progress_write_all(line, size);
    progress->state = PROGRESS_DRAWN;
    progress->next_ms = moment_ms() + STEP_MS;
}

void progress_end(struct progress *progress)
{
    static const char clear[] = "\r\033[K";

    if (progress->state == PROGRESS_DRAWN) {
        progress_write_all(clear, sizeof(clear) - 1);
    }
    progress->state = PROGRESS_OFF;
}
