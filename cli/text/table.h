/* table.h - tables for people, on standard output.
 *
 * In a pipe or a file a table has all columns and all bytes.  On a terminal it is as wide as that:
 * the columns that matter most are shown, as many as fit, and what may be narrower than its content
 * shares the room that is left. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* What a column does where a terminal has not enough room for all of it. */
enum table_narrow {
    TABLE_WHOLE,   /* nothing: it is whole, or left out */
    TABLE_CUT,     /* it is cut at the end: bodies, reasons */
    TABLE_SHORTEN, /* it is cut in the middle: names, whose ends tell them apart */
    TABLE_WRAP,    /* it has several lines */
    TABLE_OPEN     /* nothing: the terminal breaks its lines, and what is copied there is whole */
};

/* Invariant: the weights of the columns of one table are all different, and the column of the
 * largest is never left out. */
struct table_column {
    const char *title; /* "" in all columns: there is no line of titles */
    enum table_narrow narrow;
    bool right;           /* it is aligned right */
    unsigned char weight; /* how much it matters */
    unsigned char least;  /* columns of the terminal that it has at least, unless TABLE_WHOLE */
};

struct table;

/* The titles are borrowed. */
struct table *table_new(const struct table_column *columns, size_t count);
void table_free(struct table *table);

/* What does not print is shown as printable.h says. */
void table_row(struct table *table, const char *const *cells, size_t count);
struct table_cell {
    const void *bytes;
    size_t size;
};
void table_row_bytes(struct table *table, const struct table_cell *cells, size_t count);

/* What needs a person, in a cell of the newest row; only where colors can be used. */
enum table_emphasis { TABLE_WARNING, TABLE_ERROR };
void table_emphasise(struct table *table, size_t column, enum table_emphasis emphasis);

/* A table of names and values without titles, and a row of it. */
struct table *table_pairs(void);
void table_pair(struct table *table, const char *name, const char *value);

bool table_is_empty(const struct table *table);

/* Prints and frees it. */
void table_print(struct table *table);

/* What is printed on a terminal of that width, 0: in a pipe; to be freed.  Frees the table. */
char *table_text(struct table *table, size_t columns);

#endif
