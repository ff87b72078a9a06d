/* history.c - appending a history.  See history.h for the lines.
 *
 * Thread: any. */
#include "support/history.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct history {
    int fd;
    pid_t pid;
    atomic_uint_least64_t runs;
};

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A line that cannot be written whole makes every judgement worthless, so it ends the process. */
static void append(const struct history *history, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void append(const struct history *history, const char *format, ...)
{
    char line[2048];
    va_list args;

    va_start(args, format);
    int len = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (len < 0 || (size_t) len >= sizeof(line) ||
        write(history->fd, line, (size_t) len) != (ssize_t) len) {
        fprintf(stderr, "history: a line could not be written\n");
        abort();
    }
}

struct history *history_open(const char *path)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        return NULL;
    }
    struct history *history = calloc(1, sizeof(*history));
    if (history == NULL) {
        abort();
    }
    history->fd = fd;
    history->pid = getpid();
    return history;
}

void history_close(struct history *history)
{
    if (history != NULL) {
        close(history->fd);
        free(history);
    }
}

void history_sent(struct history *history, const char *topic, const char *key, const char *body)
{
    append(history, "A %" PRId64 " %s %s %s\n", now_ns(), topic, key, body);
}

uint64_t history_start(struct history *history, const smq_message_info *message)
{
    uint64_t run = atomic_fetch_add(&history->runs, 1) + 1;
    const char *body = message->body.data;
    size_t key_len = 0;

    while (key_len < message->body.len && body[key_len] != ' ') {
        key_len++;
    }
    append(history, "S %" PRId64 " %d %" PRIu64 " %s %d %s %d %.*s %.*s\n", now_ns(),
           (int) history->pid, run, message->topic, (int) message->slot,
           message->token[0] != '\0' ? message->token : "shared", (int) message->attempt,
           (int) key_len, body, (int) message->body.len, body);
    return run;
}

void history_end(struct history *history, uint64_t run, const char *outcome)
{
    append(history, "E %" PRId64 " %d %" PRIu64 " %s\n", now_ns(), (int) history->pid, run,
           outcome);
}

void history_fenced(struct history *history)
{
    append(history, "F %" PRId64 " %d\n", now_ns(), (int) history->pid);
}

void history_gained(struct history *history, const char *topic, int32_t slot, const char *token)
{
    append(history, "G %" PRId64 " %d %s %d %s\n", now_ns(), (int) history->pid, topic, (int) slot,
           token);
}

void history_damage(struct history *history, const char *topic, int32_t slot, bool repaired)
{
    append(history, "X %" PRId64 " %d %s %d %s\n", now_ns(), (int) history->pid, topic, (int) slot,
           repaired ? "repaired" : "damaged");
}

void history_dead(struct history *history, const smq_message_info *message)
{
    append(history, "D %s %.*s\n", message->topic, (int) message->body.len,
           (const char *) message->body.data);
}

void history_moved(struct history *history, pid_t pid, const char *kind)
{
    append(history, "M %" PRId64 " %d %s\n", now_ns(), (int) pid, kind);
}
