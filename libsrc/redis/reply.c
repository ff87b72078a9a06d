/* reply.c - reading replies that are not trusted.
 *
 * Thread: smq:io. */
#include "redis/reply.h"

#include <string.h>

static int reply_nesting(const redisReadTask *task)
{
    int depth = 0;

    for (; task->parent != NULL; task = task->parent) {
        depth++;
    }
    return depth;
}

/* A reply with space for `extra` bytes after it, linked to its parent; NULL: out of memory. */
static redisReply *reply_new(const redisReadTask *task, int type, size_t extra)
{
    struct reply_room *room = task->privdata;
    redisReply *reply = arena_alloc(&room->arena, sizeof(*reply) + extra);

    if (reply == NULL) {
        return NULL;
    }
    memset(reply, 0, sizeof(*reply));
    reply->type = type;
    if (task->parent != NULL) {
        redisReply *parent = task->parent->obj;
        parent->element[task->idx] = reply;
    }
    return reply;
}

/* Is this type one of RESP2?  Readers of replies expect no other, so any other is refused. */
static bool reply_is_wanted(const redisReadTask *task)
{
    return task->type >= REDIS_REPLY_STRING && task->type <= REDIS_REPLY_ERROR;
}

static void *reply_create_string(const redisReadTask *task, char *text, size_t len)
{
    struct reply_room *room = task->privdata;

    room->bytes += len;
    if (room->bytes > REPLY_UNREAD_MAX || !reply_is_wanted(task)) {
        return NULL;
    }
    redisReply *reply = reply_new(task, task->type, len + 1);
    if (reply == NULL) {
        return NULL;
    }
    reply->str = (char *) (reply + 1);
    memcpy(reply->str, text, len);
    reply->str[len] = '\0';
    reply->len = len;
    return reply;
}

static void *reply_create_some_array(const redisReadTask *task, size_t count)
{
    struct reply_room *room = task->privdata;

    if (count > room->max_elements || reply_nesting(task) >= REPLY_NESTING_MAX ||
        !reply_is_wanted(task)) {
        return NULL;
    }
    room->elements += count;
    if (room->elements > REPLY_ARRAYS_MAX * room->max_elements) {
        return NULL;
    }
    redisReply *reply = reply_new(task, REDIS_REPLY_ARRAY, count * sizeof(*reply->element));
    if (reply == NULL) {
        return NULL;
    }
    reply->element = (redisReply **) (reply + 1);
    memset(reply->element, 0, count * sizeof(*reply->element));
    reply->elements = count;
    return reply;
}

#if HIREDIS_MAJOR >= 1
static void *reply_create_array(const redisReadTask *task, size_t count)
{
    return reply_create_some_array(task, count);
}
#else
static void *reply_create_array(const redisReadTask *task, int count)
{
    return count < 0 ? NULL : reply_create_some_array(task, (size_t) count);
}
#endif

static void *reply_create_integer(const redisReadTask *task, long long value)
{
    redisReply *reply = reply_new(task, REDIS_REPLY_INTEGER, 0);

    if (reply != NULL) {
        reply->integer = value;
    }
    return reply;
}

static void *reply_create_nil(const redisReadTask *task)
{
    return reply_new(task, REDIS_REPLY_NIL, 0);
}

#if HIREDIS_MAJOR >= 1
static void *reply_create_double(const redisReadTask *task, double value, char *text, size_t len)
{
    (void) task;
    (void) value;
    (void) text;
    (void) len;
    return NULL;
}

static void *reply_create_bool(const redisReadTask *task, int value)
{
    (void) task;
    (void) value;
    return NULL;
}
#endif

/* Replies are freed with their arena, not one by one. */
static void reply_leave(void *reply)
{
    (void) reply;
}

static redisReplyObjectFunctions functions = {
    .createString = reply_create_string,
    .createArray = reply_create_array,
    .createInteger = reply_create_integer,
    .createNil = reply_create_nil,
#if HIREDIS_MAJOR >= 1
    .createDouble = reply_create_double,
    .createBool = reply_create_bool,
#endif
    .freeObject = reply_leave,
};

redisReader *reply_reader_new(struct reply_room *room)
{
    redisReader *reader = redisReaderCreateWithFunctions(&functions);

    if (reader != NULL) {
        reader->privdata = room;
    }
    return reader;
}

void reply_room_clear(struct reply_room *room)
{
    room->elements = room->bytes = 0;
    arena_clear(&room->arena);
}

void reply_room_fini(struct reply_room *room)
{
    arena_fini(&room->arena);
}

bool reply_is(const redisReply *reply, const char *text)
{
    size_t len = strlen(text);

    return (reply->type == REDIS_REPLY_STATUS || reply->type == REDIS_REPLY_STRING) &&
           (size_t) reply->len == len && memcmp(reply->str, text, len) == 0;
}
