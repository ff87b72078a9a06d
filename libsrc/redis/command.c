/* command.c - building commands, which are rendered as they are built.
 *
 * The head of a command, which counts the arguments, is written last, into room in front of them.
 *
 * Thread: any, one at a time for a command. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "redis/redis.h"

enum {
    MAX_ELEMENTS_DEFAULT = 64,
    NUMBER_MAX = 20,            /* digits of 64 bits, or a sign and digits */
    FRAME_MAX = NUMBER_MAX + 5, /* "$12", CR, LF before an argument, and CR, LF after it */
    HEAD_ROOM = 128             /* "*12", CR, LF; EVALSHA, a hash, and the number of keys */
};

/* The functions command_put_...() write something so that it ends at `end`, and return its
 * begin. */

static char *command_put_digits(char *end, uint64_t number)
{
    do {
        *--end = (char) ('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return end;
}

static char *command_put_bytes(char *end, const char *bytes, size_t len)
{
    memcpy(end - len, bytes, len);
    return end - len;
}

/* "$12", CR, LF */
static char *command_put_count(char *end, char kind, size_t count)
{
    end = command_put_digits(command_put_bytes(end, "\r\n", 2), count);
    *--end = kind;
    return end;
}

static char *command_put_arg(char *end, const char *arg, size_t len)
{
    end = command_put_bytes(command_put_bytes(end, "\r\n", 2), arg, len);
    return command_put_count(end, '$', len);
}

void redis_command_init(struct redis_command *command, const struct script *script,
                        int32_t hash_slot, redis_done_fn *done, void *user)
{
    memset(command, 0, sizeof(*command));
    command->script = script;
    command->keys = script != NULL ? script->keys : 0;
    command->hash_slot = hash_slot;
    command->max_elements = MAX_ELEMENTS_DEFAULT;
    command->done = done;
    command->user = user;
}

void redis_command_fini(struct redis_command *command)
{
    buf_fini(&command->args.bytes);
    memset(&command->args, 0, sizeof(command->args));
}

void redis_command_clear(struct redis_command *command)
{
    buf_clear(&command->args.bytes);
    command->args.count = 0;
}

static char *command_add_bytes(char *at, const void *bytes, size_t len)
{
    if (len > 0) {
        memcpy(at, bytes, len);
    }
    return at + len;
}

void redis_arg(struct redis_command *command, const void *data, size_t len)
{
    struct buf *bytes = &command->args.bytes;
    char frame[FRAME_MAX];
    char *end = frame + sizeof(frame), *begin = command_put_count(end, '$', len);

    if (command->args.count++ == 0) {
        (void) buf_room(bytes, HEAD_ROOM);
        bytes->len = HEAD_ROOM;
    }
    char *at = buf_room(bytes, len + FRAME_MAX);
    at = command_add_bytes(at, begin, (size_t) (end - begin));
    at = command_add_bytes(command_add_bytes(at, data, len), "\r\n", 2);
    bytes->len = (size_t) (at - bytes->data);
}

void redis_arg_string(struct redis_command *command, const char *string)
{
    redis_arg(command, string, strlen(string));
}

void redis_arg_int(struct redis_command *command, int64_t value)
{
    char text[NUMBER_MAX];
    char *end = text + sizeof(text);
    char *begin = command_put_digits(end, value < 0 ? -(uint64_t) value : (uint64_t) value);

    if (value < 0) {
        *--begin = '-';
    }
    redis_arg(command, begin, (size_t) (end - begin));
}

const char *redis_command_render(const struct redis_command *command, size_t *len)
{
    const struct script *script = command->script;
    const struct buf *bytes = &command->args.bytes;
    size_t count = command->args.count;
    char *begin = bytes->data + HEAD_ROOM;

    assert(count > 0);
    if (script != NULL) {
        char keys[NUMBER_MAX];
        char *end = keys + sizeof(keys),
             *digits = command_put_digits(end, (uint64_t) command->keys);
        begin = command_put_arg(begin, digits, (size_t) (end - digits));
        begin = command_put_arg(begin, script->sha1, strlen(script->sha1));
        begin = command_put_arg(begin, "EVALSHA", 7);
        count += 3;
    }
    begin = command_put_count(begin, '*', count);
    *len = (size_t) (bytes->data + bytes->len - begin);
    return begin;
}
