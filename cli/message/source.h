/* source.h - where the lines of a send come from: a file or standard input.
 *
 * A line is held in memory as a whole, but never more than a bound of it.
 *
 * Thread: main. */
#ifndef CLI_SOURCE_H
#define CLI_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/text/exit.h"

enum { SOURCE_WHOLE = -1 };

/* Bytes from `start` to before `end` were read and not given out yet. */
struct source {
    int fd;
    int delimiter;    /* the byte that ends a line; SOURCE_WHOLE: all is one line */
    const char *name; /* for errors */
    uint64_t taken;   /* bytes of the lines given out, and of their delimiters */
    uint64_t size;    /* of the file; 0: not known */
    char *buffer;     /* owned */
    size_t start, end, room;
    bool ended; /* nothing follows the buffer */
};

enum source_result {
    SOURCE_LINE,
    SOURCE_END,
    SOURCE_TOO_LONG,    /* the line has more bytes than wanted */
    SOURCE_INTERRUPTED, /* a signal came (signals.h) */
    SOURCE_FAILED       /* errno says why; the bytes before the failure are no line */
};

/* NULL and "-" are standard input; lines end with a newline until `delimiter` is set.  On any other
 * result than EXIT_DONE the error has been printed.
 */
enum exit_code source_open(struct source *source, const char *path);
void source_close(struct source *source);

/* The next line without its delimiter, of at most `limit` bytes; it lives until the next call.  The
 * last one may lack its delimiter. */
enum source_result source_line(struct source *source, size_t limit, const char **line,
                               size_t *size);

#endif
