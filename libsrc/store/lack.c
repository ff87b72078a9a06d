/* lack.c - what a script could not publish, or not ask for: a status at the end of its reply,
 * "COMMAND CHANNEL ERROR".
 *
 * Thread: smq:io. */
#include <stdio.h>
#include <string.h>

#include "store/call.h"

/* What is lost by each command. */
static const struct {
    const char *command, *right, *follows;
} lacks[] = {
    {"SPUBLISH", "+spublish",
     "who sleeps is not woken, and messages are handled late, when their owner looks by itself"},
    {"PUBSUB", "+pubsub|shardnumsub",
     "nothing is pushed to owners that sleep, and each of their messages costs one script more"},
};

/* The command that failed; NULL: none did. */
static redisReply *lack_find(const redisReply *reply)
{
    redisReply *last = reply->type == REDIS_REPLY_ARRAY && reply->elements > 0
                           ? reply->element[reply->elements - 1]
                           : NULL;

    return last != NULL && last->type == REDIS_REPLY_STATUS ? last : NULL;
}

size_t reply_elements(const redisReply *reply)
{
    return reply->elements - (lack_find(reply) != NULL ? 1 : 0);
}

void call_report_lack(const struct store_call *call, const redisReply *reply)
{
    const redisReply *failed = lack_find(reply);
    char right[SLOT_KEY_MAX + 2];
    const char *channel = failed != NULL ? strchr(failed->str, ' ') : NULL;
    char *error = channel != NULL ? strchr(channel + 1, ' ') : NULL;

    if (error == NULL) {
        return;
    }
    channel++;
    error++;
    slot_channels_right(right, channel, (size_t) (error - 1 - channel));
    for (size_t i = 0; i < sizeof(lacks) / sizeof(lacks[0]); i++) {
        struct redis_lack lack = {
            .error = {.type = REDIS_REPLY_ERROR, .str = error, .len = strlen(error)},
            .command_right = lacks[i].right,
            .channel_right = right,
            .follows = lacks[i].follows,
        };

        if (strncmp(failed->str, lacks[i].command, strlen(lacks[i].command)) == 0) {
            redis_report_lack(call->publishes, &call->command, &lack);
        }
    }
}
