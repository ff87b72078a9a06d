/* say.h - words for people: every line on standard error goes through here.
 *
 * Thread: any; a line is written in one piece. */
#ifndef CLI_SAY_H
#define CLI_SAY_H

#include <stddef.h>

#include "cli/text/exit.h"

/* Writes "slotmq: ..." as one line whatever the text holds, and gives `code` back. */
enum exit_code say_error(enum exit_code code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What errors begin with from now on, as "FILE:LINE: "; "": nothing.  Thread: main. */
void say_where(const char *where);

/* What the library refused, in its words, and where a right that is missing is described; the code
 * is that of err->status. */
enum exit_code say_failure(const smq_error *err);

/* The text of an error, or of its status. */
const char *say_text(const smq_error *err);

/* A line that is no error. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* calloc() that ends the command when there is no memory. */
void *say_alloc(size_t count, size_t size) __attribute__((returns_nonnull));

/* A copy of the text, NULL as "", to be freed; and `array` with room for one more element than
 * `count`.  Both end the command when there is no memory. */
char *say_copy(const char *text) __attribute__((returns_nonnull));
void *say_grow(void *array, size_t count, size_t size) __attribute__((returns_nonnull));

/* Ends the command: no memory for what it was about to do. */
void say_no_memory(void) __attribute__((noreturn));

#endif
