/* width.h - texts, and the columns of a terminal that they take.  Pure.
 *
 * Characters are those of the locale; wide ones take two columns.  Each function gives a text of
 * its own, to be freed by the caller. */
#ifndef CLI_WIDTH_H
#define CLI_WIDTH_H

#include <stddef.h>

/* The columns of a text, of its longest line if it has several. */
size_t width_of(const char *text);

/* A text that is wider loses its end, or its middle, for an ellipsis. */
char *width_cut(const char *text, size_t columns);
char *width_shorten(const char *text, size_t columns);

/* A text that is wider has newlines: in place of spaces, behind commas, and inside of words that
 * are wider than a line. */
char *width_wrap(const char *text, size_t columns);

#endif
