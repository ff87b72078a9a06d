/* reply.h - reading replies that are not trusted.
 *
 * hiredis believes an array's header and allocates for it before one element has come; these reply
 * functions refuse more elements than a request can return, and deep nesting.
 *
 * Thread: smq:io. */
#ifndef REDIS_REPLY_H
#define REDIS_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#include <hiredis/hiredis.h>

enum { REPLY_NESTING_MAX = 4, REPLY_ARRAYS_MAX = 32, REPLY_UNREAD_MAX = 256 * 1024 * 1024 };

/* Arrays at any level have at most `max_elements`, and all together REPLY_ARRAYS_MAX times that;
 * all strings together at most REPLY_UNREAD_MAX bytes.  `elements` and `bytes` count what the reply
 * that is being read has; set them to 0 after each. */
struct reply_limits {
    size_t max_elements;
    size_t elements, bytes;
};

/* A reader that obeys `limits`, which must outlive it.  Free with redisReaderFree(). */
redisReader *reply_reader_new(struct reply_limits *limits);

/* Is `reply` a status or string that equals `text`? */
bool reply_is(const redisReply *reply, const char *text);

#endif
