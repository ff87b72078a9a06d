/* resp.h - making replies of text, for tests. */
#ifndef TEST_REDIS_RESP_H
#define TEST_REDIS_RESP_H

#include <hiredis/hiredis.h>

/* The reply that these bytes are; NULL when they are none, or more than `max_elements` allows.
 * Dies with resp_free(). */
static redisReply *resp(const char *bytes, size_t len, size_t max_elements);
static void resp_free(void);

#include "redis/reply.h"

static struct reply_room resp_room;

static void resp_free(void)
{
    reply_room_fini(&resp_room);
}

static redisReply *resp(const char *bytes, size_t len, size_t max_elements)
{
    redisReader *reader = reply_reader_new(&resp_room);
    void *reply = NULL;

    reply_room_clear(&resp_room);
    resp_room.max_elements = max_elements;
    if (redisReaderFeed(reader, bytes, len) != REDIS_OK ||
        redisReaderGetReply(reader, &reply) != REDIS_OK) {
        reply = NULL;
    }
    redisReaderFree(reader);
    return reply;
}

#endif
