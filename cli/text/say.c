/* say.c - words for people: every line on standard error goes through here. */
#include "cli/text/say.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/text/printable.h"

/* Longer than a line of the library and a topic name together. */
#define LINE_SIZE 1024

static void say_write_line(const char *prefix, const char *format, va_list args)
{
    char text[LINE_SIZE];
    char line[PRINTABLE_ROOM(LINE_SIZE)];
    size_t used = (size_t) snprintf(text, sizeof(text), "%s", prefix);
    const int wanted = vsnprintf(text + used, sizeof(text) - used, format, args);

    used += wanted > 0 ? (size_t) wanted : 0;
    used = printable_text(line, text, used < sizeof(text) ? used : sizeof(text) - 1, false);
    line[used++] = '\n';
    /* A failure to write to standard error cannot be reported. */
    const ssize_t ignored = write(STDERR_FILENO, line, used);
    (void) ignored;
}

/* What errors begin with. */
static char error_prefix[LINE_SIZE / 2] = "slotmq: ";

void say_where(const char *where)
{
    snprintf(error_prefix, sizeof(error_prefix), "slotmq: %s", where);
}

enum exit_code say_error(enum exit_code code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say_write_line(error_prefix, format, args);
    va_end(args);
    return code;
}

const char *say_text(const smq_error *err)
{
    return err->text[0] != '\0' ? err->text : smq_status_text(err->status);
}

enum exit_code say_failure(const smq_error *err)
{
    const char *text = say_text(err);
    const bool lacks_right = err->status == SMQ_DENIED && strstr(text, "permission");

    return say_error(exit_code_of(err->status), "%s%s", text,
                     lacks_right ? "; SECURITY.md lists the rights of each role" : "");
}

void say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say_write_line("", format, args);
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

char *say_copy(const char *text)
{
    char *copy = strdup(text ? text : "");

    if (!copy) {
        say_no_memory();
    }
    return copy;
}

void *say_grow(void *array, size_t count, size_t size)
{
    void *grown = realloc(array, (count + 1) * size);

    if (!grown) {
        say_no_memory();
    }
    return grown;
}

void say_no_memory(void)
{
    exit(say_error(EXIT_TEMPORARY, "out of memory"));
}
