/* output.h - results on standard output: JSON, tables, whole lines. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include <slotmq/slotmq.h>

#include "exit.h"

struct libscols_table;

/* Sets `name` to the bytes if they are UTF-8, else `name`_base64 to their base64 form. */
void output_set_bytes(json_t *object, const char *name, const void *bytes, size_t size);

/* Fails as a whole for lack of memory only, which ends the command. */
void output_set(json_t *object, const char *name, json_t *value);

/* Prints and frees a document as one line. */
void output_json(json_t *document);

/* The same text, to be freed; *size does not count the NUL. */
char *output_json_text(size_t *size, json_t *document);

/* A table for people; a column whose title begins with '>' is aligned right; with '~' it is cut,
 * and with '=' wrapped, where a terminal is not wide enough. */
struct libscols_table *output_table(const char *const *titles, size_t count);
void output_row(struct libscols_table *table, const char *const *cells, size_t count);

/* A row of bytes: what does not print is shown as printable.h says. */
struct output_cell {
    const void *bytes;
    size_t size;
};
void output_row_bytes(struct libscols_table *table, const struct output_cell *cells, size_t count);

/* A table of names and values without titles, and a row of it. */
struct libscols_table *output_pairs(void);
void output_pair(struct libscols_table *table, const char *name, const char *value);
void output_pair_bytes(struct libscols_table *table, const char *name, const void *bytes,
                       size_t size);

bool output_table_is_empty(const struct libscols_table *table);

/* Prints and frees it. */
void output_table_print(struct libscols_table *table);

/* On a terminal that is not wide enough a table is printed in parts, one below the other, each
 * with the first `keys` columns, which say what a row is about, and as many others as fit;
 * `most`: no more parts than that. */
size_t output_table_parts(struct libscols_table *table, size_t keys);
void output_table_print_parts(struct libscols_table *table, size_t keys, size_t most);

/* Leaves out the columns that matter least until the others fit into `columns`: `weights` has a
 * number for each, the largest for those that stay.  The first column stays in any case, and is cut
 * where it has half of the width. */
void output_table_fit(struct libscols_table *table, const unsigned char *weights, size_t columns);

/* Gives a cell of row `row` a color, an escape sequence that outlives the table. */
void output_cell_color(struct libscols_table *table, size_t row, size_t column, const char *color);

/* May colors be used on standard output?  It is a terminal, and NO_COLOR is not set. */
bool output_has_colors(void);

/* --delimiter: the byte behind each message; NULL is a newline.  On any other result than EXIT_DONE
 * the error has been printed. */
enum exit_code output_delimiter(int *out, const char *text);

/* Columns of the terminal: those of COLUMNS, else those that standard output has, else 80. */
size_t output_columns(void);

/* The same; 0: standard output is no terminal. */
size_t output_width(void);
void output_table_free(struct libscols_table *table);

/* A time in milliseconds since 1970 as "2026-01-31T07:00:00Z". */
void output_time(char *text, size_t size, int64_t at_ms);

/* Writes all bytes to standard output past its buffer.  false: errno says why. */
bool output_write(const void *bytes, size_t size);

/* EXIT_DONE when all output was written.  Else it prints the error, unless the reader of a pipe
 * has closed it. */
enum exit_code output_finish(void);

#endif
