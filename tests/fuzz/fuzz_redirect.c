/* fuzz_redirect.c - what error replies mean, and the replies to AUTH and INFO. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "redis/greeting.h"
#include "redis/redirect.h"

static void follow(const redisReply *reply, bool script)
{
    struct step step = redirect_next(reply, script);

    if (step.kind == STEP_MOVED || step.kind == STEP_ASK) {
        FUZZ_CHECK(step.hash_slot >= 0 && step.hash_slot < 16384);
        FUZZ_CHECK(step.to.port >= 1 && step.to.port <= 65535);
        FUZZ_CHECK(memchr(step.to.host, '\0', sizeof(step.to.host)) != NULL);
    }
}

FUZZ_TARGET(redirect)
{
    char *text = malloc(size + 1);
    redisReply reply = {.str = text, .len = size};
    char why[256];

    FUZZ_CHECK(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    reply.type = REDIS_REPLY_ERROR;
    follow(&reply, true);
    follow(&reply, false);
    (void) redirect_without_scripts(&reply);
    (void) redirect_denial(&reply);
    (void) greeting_check_auth(why, sizeof(why), &reply);
    (void) greeting_check_info(why, sizeof(why), &reply);
    reply.type = REDIS_REPLY_STRING;
    (void) greeting_check_info(why, sizeof(why), &reply);
    FUZZ_CHECK(greeting_replicas(&reply) >= -1);
    free(text);
}
