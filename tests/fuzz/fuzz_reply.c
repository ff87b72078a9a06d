/* fuzz_reply.c - bytes of a connection as replies: at once, and byte by byte, which must come to
 * the same. */
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "fuzz/fuzz.h"
#include "redis/reply.h"

enum { ELEMENTS_MAX = 64 };

/* Every byte of it is read. */
static void add_reply(struct buf *out, const redisReply *reply)
{
    buf_printf(out, "%d ", reply->type);
    switch (reply->type) {
    case REDIS_REPLY_ARRAY:
        FUZZ_CHECK(reply->elements <= ELEMENTS_MAX);
        for (size_t i = 0; i < reply->elements; i++) {
            add_reply(out, reply->element[i]);
        }
        break;
    case REDIS_REPLY_INTEGER:
        buf_printf(out, "%lld ", reply->integer);
        break;
    case REDIS_REPLY_NIL:
        break;
    default:
        FUZZ_CHECK(reply->str[reply->len] == '\0');
        buf_add(out, reply->str, (size_t) reply->len);
        break;
    }
}

/* Write what is read to `out`, given `step` bytes at a time. */
static void read_all(struct buf *out, const char *data, size_t size, size_t step)
{
    struct reply_room room = {.max_elements = ELEMENTS_MAX};
    redisReader *reader = reply_reader_new(&room);
    bool good = true;

    FUZZ_CHECK(reader != NULL);
    buf_add(out, "", 0);
    for (size_t at = 0; good && at < size; at += step) {
        void *reply = NULL;
        size_t len = size - at < step ? size - at : step;

        good = redisReaderFeed(reader, data + at, len) == REDIS_OK;
        while (good && (good = redisReaderGetReply(reader, &reply) == REDIS_OK) && reply != NULL) {
            add_reply(out, reply);
            reply_room_clear(&room);
        }
    }
    redisReaderFree(reader);
    reply_room_fini(&room);
}

FUZZ_TARGET(reply)
{
    struct buf whole = {0}, pieces = {0};

    read_all(&whole, (const char *) data, size, size);
    read_all(&pieces, (const char *) data, size, 1);
    FUZZ_CHECK(whole.len == pieces.len && memcmp(whole.data, pieces.data, whole.len) == 0);
    buf_fini(&whole);
    buf_fini(&pieces);
}
