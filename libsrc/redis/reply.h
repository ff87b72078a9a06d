/* reply.h - reading replies that are not trusted.
 *
 * hiredis believes an array's header and allocates for it before one element has come; these reply
 * functions refuse more elements than a request can return, and deep nesting.  A reply and its
 * elements are in one arena.
 *
 * Thread: smq:io. */
#ifndef REDIS_REPLY_H
#define REDIS_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#include <hiredis/hiredis.h>

#include "base/arena.h"

enum { REPLY_NESTING_MAX = 4, REPLY_ARRAYS_MAX = 32, REPLY_UNREAD_MAX = 256 * 1024 * 1024 };

/* The limits of a reply, and its memory.  Arrays at any level have at most `max_elements`, and all
 * together REPLY_ARRAYS_MAX times that; all strings together have at most REPLY_UNREAD_MAX bytes.
 * `elements` and `bytes` count those of the reply that is being read. */
struct reply_room {
    size_t max_elements;
    size_t elements, bytes;
    struct arena arena;
};

/* Free the reply that was read last; call it before the next one is read. */
void reply_room_clear(struct reply_room *room);
void reply_room_fini(struct reply_room *room);

/* A reader whose replies obey the limits and are in the memory of `room`, which must outlive it;
 * the replies must not be freed one by one. Free it with redisReaderFree(). */
redisReader *reply_reader_new(struct reply_room *room);

/* Is `reply` a status or string that equals `text`? */
bool reply_is(const redisReply *reply, const char *text);

#endif
