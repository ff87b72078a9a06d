/* command.c - building commands.
 *
 * Thread: any, one at a time for a command. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "redis/redis.h"

enum { MAX_ELEMENTS_DEFAULT = 64 };

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
    free(command->args.offsets);
    memset(&command->args, 0, sizeof(command->args));
}

void redis_command_clear(struct redis_command *command)
{
    buf_clear(&command->args.bytes);
    command->args.count = 0;
}

void redis_arg(struct redis_command *command, const void *data, size_t len)
{
    struct redis_args *args = &command->args;

    if (args->count == args->size) {
        args->size = args->size == 0 ? 16 : args->size * 2;
        args->offsets = memory_grow(args->offsets, args->size, sizeof(*args->offsets));
    }
    buf_add(&args->bytes, data, len);
    args->offsets[args->count++] = args->bytes.len;
}

void redis_arg_string(struct redis_command *command, const char *string)
{
    redis_arg(command, string, strlen(string));
}

void redis_arg_int(struct redis_command *command, int64_t value)
{
    char text[24];
    int len = snprintf(text, sizeof(text), "%" PRId64, value);

    redis_arg(command, text, (size_t) len);
}
