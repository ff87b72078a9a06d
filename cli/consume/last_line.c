/* last_line.c - the last line that a program wrote, bounded and cleaned.
 *
 * Pure. */
#include "cli/consume/last_line.h"

#include <string.h>

enum { ESCAPE = 0x1b };

/* The length of a sequence of a terminal at the beginning of these bytes; 0: there is none. */
static size_t last_line_sequence(const char *bytes, size_t size)
{
    size_t at = 2;

    if (size == 0 || bytes[0] != ESCAPE) {
        return 0;
    }
    if (size < 2 || bytes[1] != '[') {
        return size < 2 ? 1 : 2;
    }
    while (at < size && (bytes[at] < 0x40 || bytes[at] > 0x7e)) {
        at++;
    }
    return at < size ? at + 1 : size;
}

/* Copies what is to be seen of a line; gives its length. */
static size_t last_line_clean(char *out, const char *bytes, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < size;) {
        const size_t skip = last_line_sequence(bytes + i, size - i);
        const char byte = (char) (bytes[i] == '\t' ? ' ' : bytes[i]);

        if (skip == 0 && (byte != ' ' || used > 0)) {
            out[used++] = byte;
        }
        i += skip > 0 ? skip : 1;
    }
    while (used > 0 && out[used - 1] == ' ') {
        used--;
    }
    return used;
}

static void last_line_end(struct last_line *line)
{
    char clean[SMQ_REASON_MAX];
    const size_t size = last_line_clean(clean, line->now, line->now_size);

    if (size > 0) {
        memcpy(line->last, clean, size);
        line->last_size = size;
    }
    line->now_size = 0;
}

void last_line_add(struct last_line *line, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\n' || bytes[i] == '\r') {
            last_line_end(line);
        } else if (line->now_size < sizeof(line->now)) {
            line->now[line->now_size++] = bytes[i];
        }
    }
}

void last_line_text(char out[PRINTABLE_ROOM(SMQ_REASON_MAX)], const struct last_line *line)
{
    struct last_line ended = *line;

    last_line_end(&ended);
    (void) printable_text(out, ended.last, ended.last_size, false);
}
