/* source.c - where the lines of a send come from: a file or standard input. */
#include "cli/message/source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/text/say.h"
#include "cli/text/signals.h"

/* The first room of a buffer, and the least that is read at once. */
#define ROOM_FIRST ((size_t) 65536)

enum exit_code source_open(struct source *source, const char *path)
{
    struct stat facts;

    *source = (struct source){.fd = STDIN_FILENO, .delimiter = '\n', .name = "standard input"};
    if (path && strcmp(path, "-") != 0) {
        source->name = path;
        source->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (source->fd < 0) {
            return say_error(EXIT_NO_INPUT, "cannot read %s: %s", path, strerror(errno));
        }
    }
    if (fstat(source->fd, &facts) == 0 && S_ISREG(facts.st_mode)) {
        source->size = (uint64_t) facts.st_size;
    }
    return EXIT_DONE;
}

void source_close(struct source *source)
{
    free(source->buffer);
    source->buffer = NULL;
    if (source->fd > STDIN_FILENO) {
        (void) close(source->fd);
    }
}

/* Room behind what the buffer holds; false: there is no memory. */
static bool source_make_room(struct source *source)
{
    const size_t held = source->end - source->start;
    const size_t wanted = source->room > 0 ? 2 * source->room : ROOM_FIRST;

    if (source->start > 0) {
        memmove(source->buffer, source->buffer + source->start, held);
        source->start = 0;
        source->end = held;
    }
    if (source->room - source->end >= ROOM_FIRST / 2) {
        return true;
    }
    char *grown = realloc(source->buffer, wanted);
    if (!grown) {
        errno = ENOMEM;
        return false;
    }
    source->buffer = grown;
    source->room = wanted;
    return true;
}

/* Reads more; LINE: there may be one now. */
static enum source_result source_read_more(struct source *source)
{
    if (!source_make_room(source)) {
        return SOURCE_FAILED;
    }
    if (!signals_await_input(source->fd, -1)) {
        return SOURCE_INTERRUPTED;
    }
    const ssize_t got = read(source->fd, source->buffer + source->end, source->room - source->end);
    if (got < 0 && errno != EINTR && errno != EAGAIN) {
        return SOURCE_FAILED;
    }
    source->ended = got == 0;
    source->end += got > 0 ? (size_t) got : 0;
    return SOURCE_LINE;
}

/* The end of the line that begins at `from`, looking behind the first `looked` of its bytes; NULL:
 * none was read yet. */
static const char *source_find_end(const struct source *source, const char *from, size_t looked)
{
    const size_t held = source->end - source->start;

    if (source->delimiter == SOURCE_WHOLE || held <= looked) {
        return NULL;
    }
    return memchr(from + looked, source->delimiter, held - looked);
}

enum source_result source_line(struct source *source, size_t limit, const char **line, size_t *size)
{
    size_t looked = 0; /* the first bytes, which hold no delimiter */

    for (;;) {
        const size_t held = source->end - source->start;
        const char *from = source->buffer + source->start;
        const char *delimiter = source_find_end(source, from, looked);
        const size_t length = delimiter ? (size_t) (delimiter - from) : held;
        if (length > limit) {
            return SOURCE_TOO_LONG;
        }
        if (delimiter || (source->ended && held > 0)) {
            *line = from;
            *size = length;
            source->start += length + (delimiter ? 1 : 0);
            source->taken += length + (delimiter ? 1 : 0);
            return SOURCE_LINE;
        }
        if (source->ended) {
            return SOURCE_END;
        }
        looked = held;
        const enum source_result more = source_read_more(source);
        if (more != SOURCE_LINE) {
            return more;
        }
    }
}
