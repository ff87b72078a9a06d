/* sleepers.c - reading which processes sleep in a slot of a shared topic, and what a publication
 * tells one of them (lua/lib/idle.lua writes both).
 *
 * Thread: smq:io. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/number.h"
#include "store/call.h"
#include "store/consume.h"

#define SLEEPERS_NEVER INT64_C(9007199254740992)

void store_sleepers(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                    int64_t timeout_ms)
{
    call_begin(call, NULL, slot->keys.hash_slot);
    call->command.alone = false;
    redis_arg_string(&call->command, "HGET");
    redis_arg_string(&call->command, slot->keys.slot);
    redis_arg_string(&call->command, "parked");
    call_submit(call, redis, 1, timeout_ms);
}

/* Of a list "NAME NAME@AT ...": the last AT of another one than the caller that is not behind
 * `due`; -1: there is none. */
static int64_t sleepers_last_look(const char *idle, const char *caller, int64_t due)
{
    int64_t last = -1;

    for (const char *at = strchr(idle, '@'); at != NULL; at = strchr(at + 1, '@')) {
        const char *name = at;
        int64_t look = strtoll(at + 1, NULL, 10);

        while (name > idle && name[-1] != ' ') {
            name--;
        }
        bool own = strlen(caller) == (size_t) (at - name) &&
                   memcmp(name, caller, (size_t) (at - name)) == 0;
        last = !own && look <= due && look > last ? look : last;
    }
    return last;
}

/* Behind each name is a space. */
static uint64_t sleepers_count(const char *idle)
{
    uint64_t count = 0;

    for (const char *space = strchr(idle, ' '); space != NULL; space = strchr(space + 1, ' ')) {
        count++;
    }
    return count;
}

/* "DUE WOKEN NAME|IDLE". */
bool store_sleepers_read(struct store_sleepers *out, const struct store_result *result,
                         const char *caller)
{
    const redisReply *reply = result->reply;
    const char *idle = reply->type == REDIS_REPLY_STRING ? strchr(reply->str, '|') : NULL;
    char *end = NULL;

    if (idle == NULL) {
        return false;
    }
    out->due_ms = strtoll(reply->str, &end, 10);
    if (end == reply->str || *end != ' ' || out->due_ms < 0) {
        return false;
    }
    out->woken = strtoll(end, NULL, 10) > 0;
    out->listed = strstr(idle, caller) != NULL;
    out->look_ms = sleepers_last_look(idle + 1, caller, out->due_ms);
    out->asleep = sleepers_count(idle + 1);
    if (out->due_ms >= SLEEPERS_NEVER) {
        out->due_ms = -1;
    }
    return true;
}

void store_caller_channel(char *out, const struct slot_keys *keys, const char *caller)
{
    (void) snprintf(out, STORE_CALLER_CHANNEL_MAX, "%s:%s", keys->wake, caller);
}

/* "!MS" or "?MS". */
bool store_told_read(struct store_told *out, const char *data, size_t len)
{
    if (len < 2 || (data[0] != '!' && data[0] != '?') ||
        !number_parse(&out->in_ms, data + 1, len - 1, SLEEPERS_NEVER)) {
        return false;
    }
    out->backup = data[0] == '?';
    return true;
}
