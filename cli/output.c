/* output.c - results on standard output: JSON, tables, whole lines. */
#include "output.h"

#include <errno.h>
#include <inttypes.h>
#include <libsmartcols.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base64.h"
#include "parse.h"
#include "printable.h"
#include "say.h"

/* More columns than any table has. */
#define ROW_MAX 32

void output_set(json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) != 0) {
        say_no_memory();
    }
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

struct libscols_table *output_table(const char *const *titles, size_t count)
{
    struct libscols_table *table = scols_new_table();

    if (!table || scols_table_enable_noencoding(table, 1) != 0) {
        say_no_memory();
    }
    for (size_t i = 0; i < count; i++) {
        const char *title = titles[i];
        int flags = 0;
        if (*title == '>') {
            flags = SCOLS_FL_RIGHT;
            title++;
        } else if (*title == '~' || *title == '=') {
            flags = *title == '~' ? SCOLS_FL_TRUNC : SCOLS_FL_WRAP;
            title++;
        }
        if (!scols_table_new_column(table, title, 0, flags)) {
            say_no_memory();
        }
    }
    return table;
}

struct libscols_table *output_pairs(void)
{
    static const char *const titles[] = {"NAME", "VALUE"};
    struct libscols_table *table = output_table(titles, 2);

    scols_table_enable_noheadings(table, 1);
    return table;
}

void output_pair(struct libscols_table *table, const char *name, const char *value)
{
    output_pair_bytes(table, name, value, strlen(value));
}

void output_pair_bytes(struct libscols_table *table, const char *name, const void *bytes,
                       size_t size)
{
    const struct output_cell cells[] = {{name, strlen(name)}, {bytes, size}};

    output_row_bytes(table, cells, 2);
}

void output_row(struct libscols_table *table, const char *const *cells, size_t count)
{
    struct output_cell row[ROW_MAX];

    for (size_t i = 0; i < count; i++) {
        row[i] = (struct output_cell){cells[i], strlen(cells[i])};
    }
    output_row_bytes(table, row, count);
}

void output_row_bytes(struct libscols_table *table, const struct output_cell *cells, size_t count)
{
    struct libscols_line *line = scols_table_new_line(table, NULL);
    const bool ascii = MB_CUR_MAX == 1;

    if (!line) {
        say_no_memory();
    }
    for (size_t i = 0; i < count; i++) {
        char *text = say_alloc(PRINTABLE_ROOM(cells[i].size), 1);
        (void) printable_text(text, cells[i].bytes ? cells[i].bytes : "", cells[i].size, ascii);
        if (scols_line_refer_data(line, i, text) != 0) { /* is freed with the line */
            say_no_memory();
        }
    }
}

bool output_table_is_empty(const struct libscols_table *table)
{
    return scols_table_is_empty(table);
}

static void output_print(struct libscols_table *table)
{
    if (scols_print_table(table) != 0) {
        say_no_memory();
    }
}

void output_table_print(struct libscols_table *table)
{
    output_print(table);
    output_table_free(table);
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

/* === Tables in parts ==================================================== */

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

/* Cells hold what can be printed, a byte a column; bytes that cannot become longer. */
static size_t output_column_width(struct libscols_table *table, size_t number)
{
    struct libscols_column *column = scols_table_get_column(table, number);
    size_t width = strlen(scols_column_get_name(column));

    for (size_t i = 0; i < scols_table_get_nlines(table); i++) {
        const char *cell = scols_line_get_column_data(scols_table_get_line(table, i), column);
        width = cell && strlen(cell) > width ? strlen(cell) : width;
    }
    return width;
}

/* Where the part that begins with column `from` ends.  It has one column at least, and half of the
 * width: longer keys are cut or wrapped. */
static size_t output_part_end(struct libscols_table *table, size_t keys, size_t from, size_t width)
{
    const size_t count = scols_table_get_ncols(table);
    size_t used = 0;
    size_t end = from;

    for (size_t i = 0; i < keys; i++) {
        used += output_column_width(table, i) + 1;
    }
    used = used < width / 2 ? used : width / 2;
    while (end < count && (end == from || used + output_column_width(table, end) <= width)) {
        used += output_column_width(table, end++) + 1;
    }
    return end;
}

size_t output_table_parts(struct libscols_table *table, size_t keys)
{
    const size_t width = output_width();
    size_t parts = 1;

    if (width > 0) {
        for (size_t end = output_part_end(table, keys, keys, width);
             end < scols_table_get_ncols(table); end = output_part_end(table, keys, end, width)) {
            parts++;
        }
    }
    return parts;
}

static bool output_is_hidden(struct libscols_table *table, size_t number)
{
    return scols_column_is_hidden(scols_table_get_column(table, number)) != 0;
}

/* The width of the columns that are not hidden; the first one has at most half of `columns`. */
static size_t output_used_width(struct libscols_table *table, size_t columns)
{
    size_t used = output_column_width(table, 0);

    used = used < columns / 2 ? used : columns / 2;
    for (size_t i = 1; i < scols_table_get_ncols(table); i++) {
        used += output_is_hidden(table, i) ? 0 : output_column_width(table, i) + 1;
    }
    return used;
}

void output_table_fit(struct libscols_table *table, const unsigned char *weights, size_t columns)
{
    while (output_used_width(table, columns) > columns) {
        size_t least = 0;
        for (size_t i = 1; i < scols_table_get_ncols(table); i++) {
            if (!output_is_hidden(table, i) && (least == 0 || weights[i] < weights[least])) {
                least = i;
            }
        }
        if (least == 0) {
            break;
        }
        struct libscols_column *column = scols_table_get_column(table, least);
        scols_column_set_flags(column, scols_column_get_flags(column) | SCOLS_FL_HIDDEN);
    }
    (void) scols_table_set_termforce(table, SCOLS_TERMFORCE_ALWAYS);
    (void) scols_table_set_termwidth(table, columns);
}

void output_cell_color(struct libscols_table *table, size_t row, size_t column, const char *color)
{
    struct libscols_line *line = scols_table_get_line(table, row);
    struct libscols_cell *cell = line ? scols_line_get_cell(line, column) : NULL;

    if (!cell || scols_cell_set_color(cell, color) != 0 ||
        scols_table_enable_colors(table, 1) != 0) {
        say_no_memory();
    }
}

bool output_has_colors(void)
{
    const char *refused = getenv("NO_COLOR");

    return isatty(STDOUT_FILENO) && (!refused || refused[0] == '\0');
}

/* Shows the key columns and those from `from` to before `end`. */
static void output_show_part(struct libscols_table *table, size_t keys, size_t from, size_t end)
{
    for (size_t i = keys; i < scols_table_get_ncols(table); i++) {
        struct libscols_column *column = scols_table_get_column(table, i);
        const int flags = scols_column_get_flags(column) & ~SCOLS_FL_HIDDEN;
        scols_column_set_flags(column, i >= from && i < end ? flags : flags | SCOLS_FL_HIDDEN);
    }
}

void output_table_print_parts(struct libscols_table *table, size_t keys, size_t most)
{
    const size_t count = scols_table_get_ncols(table);
    const size_t width = output_width();
    size_t from = keys;

    do {
        const size_t end = width > 0 ? output_part_end(table, keys, from, width) : count;
        output_show_part(table, keys, from, end);
        if (from > keys) {
            putchar('\n');
        }
        output_print(table);
        from = end;
    } while (from < count && --most > 0);
    output_table_free(table);
}

void output_table_free(struct libscols_table *table)
{
    scols_unref_table(table);
}

void output_time(char *text, size_t size, int64_t at_ms)
{
    const time_t seconds = (time_t) (at_ms / 1000);
    struct tm parts;

    if (!gmtime_r(&seconds, &parts) || strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
        snprintf(text, size, "%" PRId64, at_ms);
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

/* Has the other side of a pipe or socket ended, as head does when it has seen enough? */
static bool output_reader_is_gone(void)
{
    struct pollfd pipe = {.fd = STDOUT_FILENO, .events = POLLOUT};

    return poll(&pipe, 1, 0) > 0 && (pipe.revents & (POLLERR | POLLHUP)) != 0;
}

enum exit_code output_finish(void)
{
    const bool flushed = fflush(stdout) == 0;
    const int error = errno;

    if (flushed && !ferror(stdout)) {
        return EXIT_DONE;
    }
    if (output_reader_is_gone()) {
        return EXIT_IO;
    }
    return flushed ? say_error(EXIT_IO, "cannot write the whole result")
                   : say_error(EXIT_IO, "cannot write the result: %s", strerror(error));
}
