/* table.c - see table.h. */
#include "cli/text/table.h"

#include <libsmartcols.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text/output.h"
#include "cli/text/printable.h"
#include "cli/text/say.h"
#include "cli/text/width.h"

/* More columns than any table has. */
#define COLUMNS_MAX 32

struct table {
    struct libscols_table *lines;
    struct libscols_line *newest; /* NULL: there is none */
    struct table_column column[COLUMNS_MAX];
    size_t count;
};

/* What a column has of the terminal. */
struct space {
    size_t wanted; /* for all of it */
    size_t least;  /* with less it is not shown */
    size_t width;  /* 0: it is not shown */
};

struct table *table_new(const struct table_column *columns, size_t count)
{
    struct table *table = say_alloc(1, sizeof(*table));
    bool titles = false;

    *table = (struct table){.lines = scols_new_table(), .count = count};
    memcpy(table->column, columns, count * sizeof(*columns));
    if (!table->lines || scols_table_enable_noencoding(table->lines, 1) != 0) {
        say_no_memory();
    }
    for (size_t i = 0; i < count; i++) {
        const int flags = columns[i].right ? SCOLS_FL_RIGHT : 0;
        if (!scols_table_new_column(table->lines, columns[i].title, 0, flags)) {
            say_no_memory();
        }
        titles = titles || columns[i].title[0] != '\0';
    }
    scols_table_enable_noheadings(table->lines, !titles);
    return table;
}

void table_free(struct table *table)
{
    if (table) {
        scols_unref_table(table->lines);
        free(table);
    }
}

bool table_is_empty(const struct table *table)
{
    return !table->newest;
}

/* === Rows =============================================================== */

void table_row(struct table *table, const char *const *cells, size_t count)
{
    struct table_cell row[COLUMNS_MAX];

    for (size_t i = 0; i < count; i++) {
        row[i] = (struct table_cell){cells[i], strlen(cells[i])};
    }
    table_row_bytes(table, row, count);
}

void table_row_bytes(struct table *table, const struct table_cell *cells, size_t count)
{
    const bool ascii = MB_CUR_MAX == 1;

    table->newest = scols_table_new_line(table->lines, NULL);
    if (!table->newest) {
        say_no_memory();
    }
    for (size_t i = 0; i < count; i++) {
        char *text = say_alloc(PRINTABLE_ROOM(cells[i].size), 1);
        (void) printable_text(text, cells[i].bytes ? cells[i].bytes : "", cells[i].size, ascii);
        if (scols_line_refer_data(table->newest, i, text) != 0) { /* is freed with the line */
            say_no_memory();
        }
    }
}

void table_emphasise(struct table *table, size_t column, enum table_emphasis emphasis)
{
    static const char *const colors[] = {
        [TABLE_WARNING] = "\033[1;33m", [TABLE_ERROR] = "\033[1;31m"};

    if (output_has_colors() &&
        (scols_table_enable_colors(table->lines, 1) != 0 ||
         scols_cell_set_color(scols_line_get_cell(table->newest, column), colors[emphasis]) != 0)) {
        say_no_memory();
    }
}

struct table *table_pairs(void)
{
    static const struct table_column columns[] = {
        {.title = "", .weight = 1}, {.title = "", .narrow = TABLE_WRAP, .weight = 2, .least = 20}};

    return table_new(columns, 2);
}

void table_pair(struct table *table, const char *name, const char *value)
{
    table_row(table, (const char *const[]){name, value}, 2);
}

/* === On a terminal ====================================================== */

/* The cell of the next line; NULL: there is no other line. */
static const char *table_next_cell(struct libscols_line **line, const struct table *table,
                                   struct libscols_iter *lines, struct libscols_column *column)
{
    if (scols_table_next_line(table->lines, lines, line) != 0) {
        return NULL;
    }
    const char *cell = scols_line_get_column_data(*line, column);
    return cell ? cell : "";
}

static struct libscols_iter *table_iterate(void)
{
    struct libscols_iter *lines = scols_new_iter(SCOLS_ITER_FORWARD);

    if (!lines) {
        say_no_memory();
    }
    return lines;
}

static struct space table_measure(const struct table *table, size_t number)
{
    struct libscols_column *column = scols_table_get_column(table->lines, number);
    const struct table_column *facts = &table->column[number];
    const size_t title = width_of(facts->title);
    const size_t least = facts->least > title ? facts->least : title;
    struct libscols_iter *lines = table_iterate();
    struct libscols_line *line = NULL;
    const char *cell = NULL;
    size_t wanted = title;

    while ((cell = table_next_cell(&line, table, lines, column)) != NULL) {
        const size_t width = width_of(cell);
        wanted = width > wanted ? width : wanted;
    }
    scols_free_iter(lines);
    return (struct space){.wanted = wanted,
                          .least = facts->narrow == TABLE_WHOLE || least > wanted ? wanted : least};
}

/* The column that matters most of those that matter less than `weight`; `count`: there is none. */
static size_t table_next_weight(const struct table *table, int weight)
{
    size_t found = table->count;

    for (size_t i = 0; i < table->count; i++) {
        const int own = table->column[i].weight;
        if (own < weight && (found == table->count || own > table->column[found].weight)) {
            found = i;
        }
    }
    return found;
}

/* Shows those columns that matter most and have room, and gives the room that is left. */
static size_t table_choose(const struct table *table, struct space *spaces, size_t columns)
{
    const size_t first = table_next_weight(table, UCHAR_MAX + 1);
    size_t room = columns;

    spaces[first].width = spaces[first].least < columns ? spaces[first].least : columns;
    room -= spaces[first].width;
    for (size_t i = table_next_weight(table, table->column[first].weight); i < table->count;
         i = table_next_weight(table, table->column[i].weight)) {
        if (spaces[i].least < room) { /* and a space before it */
            spaces[i].width = spaces[i].least;
            room -= spaces[i].least + 1;
        }
    }
    return room;
}

/* Gives the room to those that want more, equally. */
static void table_spread(struct space *spaces, size_t count, size_t room)
{
    bool grown = true;

    while (grown) {
        grown = false;
        for (size_t i = 0; i < count && room > 0; i++) {
            if (spaces[i].width > 0 && spaces[i].width < spaces[i].wanted) {
                spaces[i].width++;
                room--;
                grown = true;
            }
        }
    }
}

/* The lines of a cell, for libsmartcols. */
static size_t table_chunk_size(const struct libscols_column *column, const char *data, void *user)
{
    (void) column;
    (void) user;
    return width_of(data);
}

static char *table_next_chunk(const struct libscols_column *column, char *data, void *user)
{
    char *end = data ? strchr(data, '\n') : NULL;

    (void) column;
    (void) user;
    if (!end) {
        return NULL;
    }
    *end = '\0';
    return end + 1;
}

static void table_narrow_column(struct table *table, size_t number, size_t width)
{
    static char *(*const ways[TABLE_OPEN + 1])(const char *, size_t) = {
        [TABLE_CUT] = width_cut, [TABLE_SHORTEN] = width_shorten, [TABLE_WRAP] = width_wrap};
    struct libscols_column *column = scols_table_get_column(table->lines, number);
    const enum table_narrow narrow = table->column[number].narrow;
    struct libscols_iter *lines = NULL;
    struct libscols_line *line = NULL;
    const char *cell = NULL;

    if (!ways[narrow]) {
        return;
    }
    lines = table_iterate();
    while ((cell = table_next_cell(&line, table, lines, column)) != NULL) {
        if (scols_line_refer_column_data(line, column, ways[narrow](cell, width)) != 0) {
            say_no_memory();
        }
    }
    scols_free_iter(lines);
    if (narrow == TABLE_WRAP) {
        scols_column_set_flags(column, scols_column_get_flags(column) | SCOLS_FL_WRAP);
        scols_column_set_wrapfunc(column, table_chunk_size, table_next_chunk, NULL);
    }
}

static void table_fit(struct table *table, size_t columns)
{
    struct space spaces[COLUMNS_MAX] = {{0}};

    for (size_t i = 0; i < table->count; i++) {
        spaces[i] = table_measure(table, i);
    }
    table_spread(spaces, table->count, table_choose(table, spaces, columns));
    for (size_t i = 0; i < table->count; i++) {
        struct libscols_column *column = scols_table_get_column(table->lines, i);
        if (spaces[i].width == 0) {
            scols_column_set_flags(column, scols_column_get_flags(column) | SCOLS_FL_HIDDEN);
        } else if (spaces[i].width < spaces[i].wanted) {
            table_narrow_column(table, i, spaces[i].width);
        }
    }
    (void) scols_table_set_termforce(table->lines, SCOLS_TERMFORCE_ALWAYS);
    (void) scols_table_set_termwidth(table->lines, columns);
}

void table_print(struct table *table)
{
    const size_t columns = output_width();

    if (columns > 0) {
        table_fit(table, columns);
    }
    if (scols_print_table(table->lines) != 0) {
        say_no_memory();
    }
    table_free(table);
}

char *table_text(struct table *table, size_t columns)
{
    char *text = NULL;

    if (columns > 0) {
        table_fit(table, columns);
    }
    if (scols_print_table_to_string(table->lines, &text) != 0) {
        say_no_memory();
    }
    table_free(table);
    return text;
}
