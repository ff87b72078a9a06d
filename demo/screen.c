/* screen.c - see screen.h.
 *
 * Thread: main. */
#include "screen.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { TERMINAL_MS = 500, PLAIN_MS = 2000 };

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void screen_init(struct screen *screen)
{
    *screen = (struct screen){.terminal = isatty(STDOUT_FILENO) == 1, .started_ms = now_ms()};
}

/* Go back over the table drawn last, so that the next lines replace it. */
static void erase(struct screen *screen)
{
    if (screen->terminal && screen->lines > 0) {
        printf("\033[%dA\033[J", screen->lines);
    }
    screen->lines = 0;
}

void screen_say(struct screen *screen, const char *format, ...)
{
    va_list args;

    erase(screen);
    printf("%5.1f s  ", (double) (now_ms() - screen->started_ms) / 1000);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
}

static void draw_head(const struct fleet *fleet)
{
    printf("%-14s", "topic");
    for (int i = 0; i < fleet->count; i++) {
        const struct fleet_worker *worker = &fleet->workers[i];
        printf("%10s%s", worker->name, worker->paused ? "*" : worker->alive ? " " : "-");
    }
    printf("%9s%9s%9s%6s\n", "rate/s", "waiting", "retried", "dead");
}

void screen_draw(struct screen *screen, const struct fleet *fleet,
                 const smq_stats stats[RULES_TOPICS], uint64_t sent)
{
    int64_t now = now_ms(), passed = now - screen->drawn_ms;

    if (passed < (screen->terminal ? TERMINAL_MS : PLAIN_MS)) {
        return;
    }
    erase(screen);
    printf("%5.1f s  %" PRIu64 " sent\n", (double) (now - screen->started_ms) / 1000, sent);
    draw_head(fleet);
    for (int topic = 0; topic < RULES_TOPICS; topic++) {
        /* A slot that has lost its keys has lost its count, too. */
        uint64_t done =
            stats[topic].done > screen->done[topic] ? stats[topic].done - screen->done[topic] : 0;
        printf("%-14s", rules_topics[topic]);
        for (int i = 0; i < fleet->count; i++) {
            printf("%10d ", fleet->workers[i].slots[topic]);
        }
        printf("%9.0f%9" PRIu64 "%9" PRIu64 "%6" PRIu64 "\n",
               screen->drawn_ms == 0 ? 0.0 : (double) done * 1000 / (double) passed,
               stats[topic].waiting, stats[topic].retried, stats[topic].dead);
        screen->done[topic] = stats[topic].done;
    }
    screen->lines = RULES_TOPICS + 2;
    screen->drawn_ms = now;
    fflush(stdout);
}
