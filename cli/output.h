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

/* A table for people; a column whose title begins with '>' is aligned right, with '~' is cut to
 * the width of a terminal. */
struct libscols_table *output_table(const char *const *titles, size_t count);
void output_row(struct libscols_table *table, const char *const *cells, size_t count);
/* A table of names and values without titles, and a row of it. */
struct libscols_table *output_pairs(void);
void output_pair(struct libscols_table *table, const char *name, const char *value);

/* Prints and frees it. */
void output_table_print(struct libscols_table *table);
void output_table_free(struct libscols_table *table);

/* The bytes as a C string of the same length, NUL bytes shown as '?'; tables escape the rest. */
void output_printable(char *out, const void *bytes, size_t size);

/* A time in milliseconds since 1970 as "2026-01-31T07:00:00Z". */
void output_time(char *text, size_t size, int64_t at_ms);

/* Writes all bytes to standard output past its buffer.  false: errno says why. */
bool output_write(const void *bytes, size_t size);

/* Was all that was printed written?  Says it when not. */
enum exit_code output_finish(void);

#endif
