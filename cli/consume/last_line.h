/* last_line.h - the last line that a program wrote, bounded and cleaned.
 *
 * Pure. */
#ifndef CLI_LAST_LINE_H
#define CLI_LAST_LINE_H

#include <stddef.h>

#include <slotmq/core.h>

#include "cli/text/printable.h"

/* Zeroed: nothing was written.  Of a longer line the beginning is kept. */
struct last_line {
    char now[SMQ_REASON_MAX], last[SMQ_REASON_MAX];
    size_t now_size, last_size;
};

/* It has written these bytes.  A line ends at a newline or a carriage return; one that is empty or
 * blank does not count. */
void last_line_add(struct last_line *line, const char *bytes, size_t size);

/* The last line, also one that did not end, without the sequences that color a terminal and without
 * blanks at its ends; "": there was none. */
void last_line_text(char out[PRINTABLE_ROOM(SMQ_REASON_MAX)], const struct last_line *line);

#endif
