/* log.c - see log.h. */
#include "log.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_SIZE = 1024 };

static int log_fd = -1;

static int64_t log_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
}

void log_open(const char *path, const char *name)
{
    log_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (log_fd < 0) {
        perror(path);
        exit(1);
    }
    log_line("process", "%s %d", name, (int) getpid());
}

void log_line(const char *word, const char *format, ...)
{
    char line[LINE_SIZE];
    va_list args;
    int len = snprintf(line, sizeof(line), "%s %" PRId64 " ", word, log_now_ns());

    va_start(args, format);
    len += vsnprintf(line + len, sizeof(line) - (size_t) len - 1, format, args);
    va_end(args);
    if ((size_t) len >= sizeof(line) - 1) {
        fprintf(stderr, "a line is too long for the log\n");
        abort();
    }
    line[len] = '\n';
    if (write(log_fd, line, (size_t) len + 1) != len + 1) {
        perror("the log");
        abort();
    }
}
