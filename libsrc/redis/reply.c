/* reply.c - reading replies that are not trusted.
 *
 * Thread: smq:io. */
#include "redis/reply.h"

#include <stdlib.h>
#include <string.h>

static int nesting(const redisReadTask *task)
{
    int depth = 0;

    for (; task->parent != NULL; task = task->parent) {
        depth++;
    }
    return depth;
}

/* Hang `reply` into its parent; freed with it by freeReplyObject(). */
static void *attach(const redisReadTask *task, redisReply *reply)
{
    if (reply != NULL && task->parent != NULL) {
        redisReply *parent = task->parent->obj;
        parent->element[task->idx] = reply;
    }
    return reply;
}

static redisReply *reply_new(int type)
{
    redisReply *reply = calloc(1, sizeof(*reply));

    if (reply != NULL) {
        reply->type = type;
    }
    return reply;
}

static void *create_string(const redisReadTask *task, char *text, size_t len)
{
    struct reply_limits *limits = task->privdata;
    redisReply *reply = NULL;

    limits->bytes += len;
    if (limits->bytes <= REPLY_UNREAD_MAX) {
        reply = reply_new(task->type);
    }
    if (reply == NULL) {
        return NULL;
    }
    reply->str = malloc(len + 1);
    if (reply->str == NULL) {
        free(reply);
        return NULL;
    }
    memcpy(reply->str, text, len);
    reply->str[len] = '\0';
    reply->len = len;
    return attach(task, reply);
}

static void *create_some_array(const redisReadTask *task, size_t count)
{
    struct reply_limits *limits = task->privdata;

    if (count > limits->max_elements || nesting(task) >= REPLY_NESTING_MAX) {
        return NULL;
    }
    limits->elements += count;
    if (limits->elements > REPLY_ARRAYS_MAX * limits->max_elements) {
        return NULL;
    }
    redisReply *reply = reply_new(REDIS_REPLY_ARRAY);
    if (reply == NULL) {
        return NULL;
    }
    reply->element = calloc(count > 0 ? count : 1, sizeof(*reply->element));
    if (reply->element == NULL) {
        free(reply);
        return NULL;
    }
    reply->elements = count;
    return attach(task, reply);
}

#if HIREDIS_MAJOR >= 1
static void *create_array(const redisReadTask *task, size_t count)
{
    return create_some_array(task, count);
}
#else
static void *create_array(const redisReadTask *task, int count)
{
    return count < 0 ? NULL : create_some_array(task, (size_t) count);
}
#endif

static void *create_integer(const redisReadTask *task, long long value)
{
    redisReply *reply = reply_new(REDIS_REPLY_INTEGER);

    if (reply != NULL) {
        reply->integer = value;
    }
    return attach(task, reply);
}

static void *create_nil(const redisReadTask *task)
{
    return attach(task, reply_new(REDIS_REPLY_NIL));
}

static redisReplyObjectFunctions functions = {
    .createString = create_string,
    .createArray = create_array,
    .createInteger = create_integer,
    .createNil = create_nil,
    .freeObject = freeReplyObject,
};

redisReader *reply_reader_new(struct reply_limits *limits)
{
    redisReader *reader = redisReaderCreateWithFunctions(&functions);

    if (reader != NULL) {
        reader->privdata = limits;
    }
    return reader;
}

bool reply_is(const redisReply *reply, const char *text)
{
    size_t len = strlen(text);

    return (reply->type == REDIS_REPLY_STATUS || reply->type == REDIS_REPLY_STRING) &&
           (size_t) reply->len == len && memcmp(reply->str, text, len) == 0;
}
