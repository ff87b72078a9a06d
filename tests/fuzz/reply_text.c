/* reply_text.c - replies from a text of one line an element: of RESP, a change of one byte makes
 * another length, and nothing of the rest is read.
 *
 * Pure. */
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "fuzz/fuzz.h"
#include "redis/reply.h"

enum { DEPTH_MAX = 6, ELEMENTS_MAX = 512 };

struct lines {
    const char *at, *end;
};

/* The next line without its end.  false: there is none. */
static bool lines_next(const char **line, size_t *len, struct lines *lines)
{
    const char *end;

    if (lines->at >= lines->end) {
        return false;
    }
    end = memchr(lines->at, '\n', (size_t) (lines->end - lines->at));
    end = end == NULL ? lines->end : end;
    *line = lines->at;
    *len = (size_t) (end - lines->at);
    lines->at = end + 1;
    return true;
}

/* Add one element; false: it is none. */
static bool add_plain(struct buf *out, const char *line, size_t len)
{
    switch (line[0]) {
    case '$':
        buf_printf(out, "$%zu\r\n", len - 1);
        buf_add(out, line + 1, len - 1);
        break;
    case '+':
    case '-':
    case ':':
        buf_add(out, line, len);
        break;
    case '_':
        buf_printf(out, "$-1");
        break;
    default:
        return false;
    }
    buf_add(out, "\r\n", 2);
    return true;
}

/* Add the elements up to ")" or the end; how many they are. */
static size_t add_elements(struct buf *out, struct lines *lines, int depth)
{
    const char *line;
    size_t count = 0, len;

    while (count < ELEMENTS_MAX && lines_next(&line, &len, lines) && (len == 0 || line[0] != ')')) {
        if (len > 0 && line[0] == '(' && depth < DEPTH_MAX) {
            struct buf inner = {0};
            size_t within = add_elements(&inner, lines, depth + 1);

            buf_printf(out, "*%zu\r\n", within);
            buf_add(out, inner.len > 0 ? inner.data : "", inner.len);
            buf_fini(&inner);
            count++;
        } else if (len > 0 && add_plain(out, line, len)) {
            count++;
        }
    }
    return count;
}

void fuzz_reply(const uint8_t *data, size_t size, fuzz_reply_fn *read, void *user)
{
    struct lines lines = {.at = (const char *) data, .end = (const char *) data + size};
    struct reply_room room = {.max_elements = ELEMENTS_MAX};
    redisReader *reader = reply_reader_new(&room);
    struct buf bytes = {0};
    void *reply = NULL;

    FUZZ_CHECK(reader != NULL);
    if (add_elements(&bytes, &lines, 0) > 0 &&
        redisReaderFeed(reader, bytes.data, bytes.len) == REDIS_OK &&
        redisReaderGetReply(reader, &reply) == REDIS_OK && reply != NULL) {
        read(reply, user);
    }
    redisReaderFree(reader);
    reply_room_fini(&room);
    buf_fini(&bytes);
}
