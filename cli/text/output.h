/* output.h - results on standard output: JSON, whole lines; and what its terminal can show. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include <slotmq/slotmq.h>

#include "cli/text/exit.h"

/* Sets `name` to the bytes if they are UTF-8, else `name`_base64 to their base64 form. */
void output_set_bytes(json_t *object, const char *name, const void *bytes, size_t size);

/* A text of a server, whatever its bytes are: what is no UTF-8 is escaped.  NULL is "". */
json_t *output_text(const char *text);

/* Fails as a whole for lack of memory only, which ends the command. */
void output_set(json_t *object, const char *name, json_t *value);
void output_append(json_t *array, json_t *value);

/* Prints and frees a document as one line. */
void output_json(json_t *document);

/* The same text, to be freed; *size does not count the NUL. */
char *output_json_text(size_t *size, json_t *document);

/* May colors be used on standard output?  It is a terminal, and NO_COLOR is not set. */
bool output_has_colors(void);

/* --delimiter: the byte behind each message; NULL is a newline.  On any other result than EXIT_DONE
 * the error has been printed. */
enum exit_code output_delimiter(int *out, const char *text);

/* Columns of the terminal: those of COLUMNS, else those that standard output has, else 80. */
size_t output_columns(void);

/* The same; 0: standard output is no terminal. */
size_t output_width(void);

/* A time in milliseconds since 1970 as "2026-01-31T07:00:00Z". */
void output_time(char *text, size_t size, int64_t at_ms);

/* The same, and milliseconds where the time has some: "2026-01-31T07:00:00.250Z". */
void output_time_exact(char *text, size_t size, int64_t at_ms);

/* Writes all bytes to standard output past its buffer.  false: errno says why. */
bool output_write(const void *bytes, size_t size);

/* EXIT_DONE when all output was written, or when the reader of a pipe has closed it, as head does
 * when it has seen enough.  Else it prints the error, once. */
enum exit_code output_finish(void);

/* Has the reader closed the pipe, so that nothing need be written any more? */
bool output_is_unread(void);

#endif
