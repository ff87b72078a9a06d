/* resp.h - making replies of text, for tests. */
#ifndef TEST_REDIS_RESP_H
#define TEST_REDIS_RESP_H

#include <hiredis/hiredis.h>

/* The reply that these bytes are; NULL when they are none, or more than `max_elements` allows. */
static redisReply *resp(const char *bytes, size_t len, size_t max_elements);

#include "redis/reply.h"

static redisReply *resp(const char *bytes, size_t len, size_t max_elements)
{
    struct reply_limits limits = {.max_elements = max_elements};
    redisReader *reader = reply_reader_new(&limits);
    void *reply = NULL;

    if (redisReaderFeed(reader, bytes, len) != REDIS_OK ||
        redisReaderGetReply(reader, &reply) != REDIS_OK) {
        reply = NULL;
    }
    redisReaderFree(reader);
    return reply;
}

#endif
