/* output.c - see output.h. */
#include "cli/text/output.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/text/base64.h"
#include "cli/text/parse.h"
#include "cli/text/printable.h"
#include "cli/text/say.h"

void output_set(json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) != 0) {
        say_no_memory();
    }
}

void output_append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0) {
        say_no_memory();
    }
}

json_t *output_text(const char *text)
{
    if (!text) {
        text = "";
    }
    json_t *string = json_string(text);
    if (!string) {
        const size_t size = strlen(text);
        char *safe = say_alloc(PRINTABLE_ROOM(size), 1);
        (void) printable_text(safe, text, size, true);
        string = json_string(safe);
        free(safe);
    }
    if (!string) {
        say_no_memory();
    }
    return string;
}

void output_set_bytes(json_t *object, const char *name, const void *bytes, size_t size)
{
    char other[64];
    json_t *text = json_stringn(bytes, size);

    if (text) {
        output_set(object, name, text);
        return;
    }
    char *encoded = say_alloc(base64_size(size), 1);
    base64_encode(encoded, bytes, size);
    snprintf(other, sizeof(other), "%s_base64", name);
    output_set(object, other, json_string(encoded));
    free(encoded);
}

char *output_json_text(size_t *size, json_t *document)
{
    char *text = json_dumps(document, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));

    json_decref(document);
    if (text) {
        const size_t length = strlen(text);
        char *safe = say_alloc(PRINTABLE_JSON_ROOM(length), 1);
        *size = printable_json(safe, text, length);
        free(text);
        return safe;
    }
    say_no_memory();
}

void output_json(json_t *document)
{
    size_t size = 0;
    char *text = output_json_text(&size, document);

    fwrite(text, 1, size, stdout);
    putchar('\n');
    free(text);
}

enum exit_code output_delimiter(int *out, const char *text)
{
    *out = '\n';
    if (!text || parse_byte(out, text)) {
        return EXIT_DONE;
    }
    return say_error(EXIT_USAGE,
                     "--delimiter \"%s\" cannot be used; give one byte, as a character or as "
                     "\\n, \\t, \\0 or \\x1e",
                     text);
}

/* === The terminal ======================================================= */

size_t output_columns(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    int64_t wanted = 0;

    if (columns && parse_number(&wanted, columns) && wanted > 0 && wanted <= UINT16_MAX) {
        return (size_t) wanted;
    }
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

size_t output_width(void)
{
    return isatty(STDOUT_FILENO) ? output_columns() : 0;
}

bool output_has_colors(void)
{
    const char *refused = getenv("NO_COLOR");

    return isatty(STDOUT_FILENO) && (!refused || refused[0] == '\0');
}

void output_time(char *text, size_t size, int64_t at_ms)
{
    const time_t seconds = (time_t) (at_ms / 1000);
    struct tm parts;

    if (!gmtime_r(&seconds, &parts) || strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
        snprintf(text, size, "%" PRId64, at_ms);
    }
}

void output_time_exact(char *text, size_t size, int64_t at_ms)
{
    output_time(text, size, at_ms);
    const size_t length = strlen(text);
    if (at_ms % 1000 > 0 && text[length - 1] == 'Z') {
        snprintf(text + length - 1, size - length + 1, ".%03dZ", (int) (at_ms % 1000));
    }
}

bool output_write(const void *bytes, size_t size)
{
    const char *next = bytes;

    while (size > 0) {
        const ssize_t written = write(STDOUT_FILENO, next, size);
        if (written >= 0) {
            next += written;
            size -= (size_t) written;
        } else if (errno == EAGAIN) {
            /* Another process that shares this standard output made it non-blocking. */
            struct pollfd ready = {.fd = STDOUT_FILENO, .events = POLLOUT};
            (void) poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

bool output_is_unread(void)
{
    struct pollfd pipe = {.fd = STDOUT_FILENO, .events = POLLOUT};

    return ferror(stdout) && poll(&pipe, 1, 0) > 0 && (pipe.revents & (POLLERR | POLLHUP)) != 0;
}

enum exit_code output_finish(void)
{
    static bool said;
    const bool flushed = fflush(stdout) == 0;
    const int error = errno;

    if (flushed && !ferror(stdout)) {
        return EXIT_DONE;
    }
    if (output_is_unread()) {
        return EXIT_DONE;
    }
    if (said) {
        return EXIT_IO;
    }
    said = true;
    return flushed ? say_error(EXIT_IO, "cannot write the whole result")
                   : say_error(EXIT_IO, "cannot write the result: %s", strerror(error));
}
