/* say.c - words for people: every line on standard error goes through here. */
#include "say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Longer than a line of the library and a topic name together. */
#define LINE_SIZE 1024

static void write_line(const char *prefix, const char *format, va_list args)
{
    char line[LINE_SIZE];
    const size_t room = sizeof(line) - 1;
    size_t used = (size_t) snprintf(line, sizeof(line), "%s", prefix);
    const int wanted = vsnprintf(line + used, sizeof(line) - used, format, args);

    if (wanted > 0) {
        used += (size_t) wanted;
    }
    used = used < room ? used : room;
    for (size_t i = 0; i < used; i++) {
        const unsigned char byte = (unsigned char) line[i];
        if (byte < 0x20 || byte == 0x7f) {
            line[i] = '?';
        }
    }
    line[used++] = '\n';
    /* Nobody is left to be told when standard error cannot be written. */
    const ssize_t ignored = write(STDERR_FILENO, line, used);
    (void) ignored;
}

enum exit_code say_error(enum exit_code code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    write_line("slotmq: ", format, args);
    va_end(args);
    return code;
}

enum exit_code say_failure(const smq_error *err)
{
    const char *text = err->text[0] != '\0' ? err->text : smq_status_text(err->status);

    return say_error(exit_code_of(err->status), "%s", text);
}

void say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    write_line("", format, args);
    va_end(args);
}

void *say_alloc(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size > 0 ? size : 1);

    if (!memory) {
        say_no_memory();
    }
    return memory;
}

void say_no_memory(void)
{
    exit(say_error(EXIT_TEMPORARY, "out of memory"));
}
